"""One party under several names: cards that say the same count once, and nobody's card is read by subtraction."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from fedbary.protocols.cards.client import card_of, card_reply
from fedbary.protocols.cards.exact_card import exact_card
from fedbary.protocols.cards.findings import counted_as
from fedbary.valuation.rows import RowRules

CLOSED = fb.Cards(policy="guarded")


def people(rows, seed, *, shift=0.0):
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    values = rng.normal(size=(4, rows)) + 1.5 * ill + shift
    return fb.Table(dict(zip("uvwx", values, strict=True)), np.where(ill, "ill", "well"))


def scaled(card, times):
    return replace(
        card, rows=times * card.rows, **{name: times * getattr(card, name) for name in ("counts", "sums", "second")}
    )


def run(tables, settings=CLOSED, reference=None, *, times=None, state=False):
    """All messages of a run and its result; some clients send their card as if it were of more rows."""
    server = settings.server(list(tables), reference, settings.space(None), rules=RowRules(), seed=0)
    halves = {name: settings.client(table, rules=RowRules(), seed=0) for name, table in tables.items()}
    messages = {}
    while tasks := server.tasks():
        replies = {name: halves[name].answer(message) for name, message in tasks.items()}
        for name, message in tasks.items():
            messages[name, message.kind] = message
            if message.kind == "card" and name in (times or {}):
                replies[name] = card_reply(scaled(card_of(replies[name]), times[name]))
        server.absorb(replies)
        if state:
            kept = server.state()
            server = settings.server(list(tables), reference, settings.space(None), rules=RowRules(), seed=0)
            server.restore(kept)
    return messages, server.result()


def random_labels(table, seed):
    return table.replace(labels=np.random.default_rng(seed).permutation(table.labels))


def verdicts(result, names):
    return {opinion.client: opinion.advice for opinion in result.verdict() if opinion.client in names}


# --- copies count once ----------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 7])
def test_copies_of_a_liars_card_change_no_number_of_the_honest(times):
    honest = {name: people(150, seed) for seed, name in enumerate("abcd")}
    liar = random_labels(people(150, 9), 9)
    _, alone = run({**honest, "liar": liar}, fb.Cards())
    more = {"liar2": times, "liar3": times**2}
    _, found = run({**honest, "liar": liar, **dict.fromkeys(more, liar)}, fb.Cards(), times=more)
    assert verdicts(found, honest) == verdicts(alone, honest)
    numbers = [one.clients.set_index("client").loc[list(honest)] for one in (alone, found)]
    for column in ("wrong_labels", "odd_features", "quality", "distance", "shift", "blur"):
        assert np.allclose(numbers[0][column], numbers[1][column], rtol=1e-9, equal_nan=True), column
    copies = found.clients.set_index("client").loc[["liar", "liar2", "liar3"]]
    assert (copies["wrong_labels"] > 0.3).all(), "copies have verdicts of their own"
    assert all(found.outcomes[name].has("protocols.same-card") for name in copies.index)


def test_copies_count_once_after_a_restart():
    tables = {name: people(80, seed) for seed, name in enumerate("abcd")}
    tables |= dict.fromkeys(("liar", "liar2", "liar3"), random_labels(people(80, 9), 9))
    straight, again = run(tables, fb.Cards()), run(tables, fb.Cards(), state=True)
    for key, message in straight[0].items():
        for name, array in message.arrays.items():
            assert np.array_equal(array, again[0][key].arrays[name]), (key, name)


@given(
    seed=st.integers(0, 99),
    times=st.integers(1, 1000),
    moved=st.floats(-1e3, 1e3),
    far=st.sampled_from([0.0, 1.0, 1e5]),
)
def test_cards_are_the_same_whatever_they_are_about_and_however_many_rows_they_claim(seed, times, moved, far):
    card, other = (exact_card(people(30, one, shift=far)) for one in (seed, seed + 100))
    again = scaled(card, times).about(card.centre + moved)
    assert counted_as({"x": card, "y": other, "z": again}) == {"x": "x", "y": "y", "z": "x"}


# --- no model of one client's card ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_second_registration_gets_no_model_of_the_one_other_client(seed):
    own = people(120, seed + 50)
    few = own.take(np.concatenate([np.flatnonzero(own.labels == name)[:6] for name in ("ill", "well")]))
    tables = {"A": people(120, seed, shift=0.3), "B": own, "C": few}
    messages, result = run(tables)
    assert not any(kind == "model" for _, kind in messages)
    assert all(outcome.has("protocols.card-no-model") for outcome in result.outcomes.values())
    assert result.clients["status"].tolist() == ["ok"] * 3
    assert len(result.verdict()) == 3


def test_a_copy_is_no_third_holder():
    tables = {"A": people(120, 0), "B": people(120, 1), "C": people(120, 2), "C2": people(120, 2)}
    messages, _ = run(tables)
    assert ("B", "model") not in messages
    assert ("B", "model") in run({**tables, "C2": people(120, 3)})[0]


def test_with_a_reference_the_others_who_do_not_share_are_left_out_of_the_model():
    """B is judged by the reference alone, whose coordinates tell nothing of A."""
    reference, own = people(200, 5), people(120, 1)
    models = []
    for seed in (0, 7):
        messages, result = run({"A": people(120, seed), "B": own}, reference=reference)
        models.append(messages["B", "model"])
        assert result.clients["wrong_labels"].notna().all()
    for name, array in models[0].arrays.items():
        assert np.array_equal(array, models[1].arrays[name]), name
    assert models[0].scalars["schema"] == models[1].scalars["schema"]
