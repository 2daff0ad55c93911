"""Clients that send their true card and lie about their rows: the card disputes it, and nobody is judged by a lie."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.engines.coordinator import RunConfig
from fedbary.judging.evidence import SHARES
from fedbary.judging.federation import Estimate
from fedbary.protocols.cards.wrong_labels import contradicted
from fedbary.valuation.rows import RowRules
from fedbary.valuation.verdict import DISPUTED, NO_WEIGHT, Advice

ROWS, LIAR = 120, "client_4"


def tables(rate, *, seed=0, labels="classes"):
    """Four clients with 5 % of wrong labels, and one with more; of numbers, one whose labels are drawn apart."""
    rng = np.random.default_rng(seed)
    found = {}
    for place in range(5):
        codes = rng.integers(0, 3, ROWS)
        numbers = rng.normal(size=(ROWS, 4)) + 1.5 * np.eye(3, 4)[codes]
        columns = {f"x{at}": numbers[:, at] for at in range(4)}
        if labels == "numbers":
            told = numbers.sum(axis=1) + 0.3 * rng.normal(size=ROWS)
            told = rng.permutation(told) if place == 4 else told
        else:
            wrong = rng.random(ROWS) < (rate if place == 4 else 0.05)
            told = np.array(["a", "b", "c"])[np.where(wrong, codes + rng.integers(1, 3, ROWS), codes) % 3]
        found[f"client_{place}"] = fb.Table(columns, told)
    return found


def perfect(arrays):
    """No wrong label and no odd row, for sure."""
    counts = {name: np.append(arrays[name].sum(), np.zeros(len(arrays[name]) - 1)) for name in ("labels", "features")}
    return {**arrays, **counts, "likelihood": -1e4 * SHARES}


def zeros(arrays):
    return {name: np.zeros_like(numbers) for name, numbers in arrays.items()}


def result_of(owned, lie=None):
    """The result of a run in which the liar says of its rows what ``lie`` makes of the truth."""
    settings, rules = fb.Cards(), RowRules()
    server = settings.server(list(owned), None, settings.space(None), rules=rules, seed=0)
    halves = {name: settings.client(table, rules=rules, seed=0) for name, table in owned.items()}
    while tasks := server.tasks():
        replies = {name: halves[name].answer(message) for name, message in tasks.items()}
        if lie is not None and "likelihood" in replies[LIAR].arrays:
            replies[LIAR] = replace(replies[LIAR], arrays=lie(replies[LIAR].arrays))
        server.absorb(replies)
    return server.result()


@pytest.mark.parametrize("lie", [perfect, zeros])
@pytest.mark.parametrize("rate", [0.4, 0.8])
def test_who_says_less_than_its_card_is_disputed(lie, rate):
    result = result_of(tables(rate), lie)
    opinion = next(one for one in result.verdict() if one.client == LIAR)
    assert opinion.advice is Advice.LOOK
    facts = next(note.facts for note in opinion.reasons if note.code == DISPUTED)
    assert facts["card"] == pytest.approx(rate, abs=0.12)
    assert facts["says"] < 0.15
    clients = result.clients.set_index("client")
    assert clients["quality"].idxmin() == LIAR
    assert clients["wrong_labels"][LIAR] == pytest.approx(facts["card"], abs=1e-3)
    assert [name for name, outcome in result.outcomes.items() if outcome.has(DISPUTED)] == [LIAR]


def test_disputed_claims_move_nobody_elses_numbers():
    owned = tables(0.4)
    one, other = (result_of(owned, lie).clients.set_index("client").drop(LIAR) for lie in (perfect, zeros))
    numbers = ["quality", "quality_low", "quality_high", "wrong_labels", "odd_features", "blur"]
    np.testing.assert_array_equal(one[numbers], other[numbers])


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4, 0.8])
def test_honest_clients_are_not_disputed(rate):
    assert not any(outcome.has(DISPUTED) for outcome in result_of(tables(rate, seed=1)).outcomes.values())


@pytest.mark.parametrize("lie", [None, perfect])
def test_a_card_without_weight_is_never_included(lie):
    """Labels that are numbers have no share of wrong ones in the card: its weight is all that is known."""
    result = result_of(tables(0.0, labels="numbers"), lie)
    assert result.outcomes[LIAR].has(NO_WEIGHT)
    opinions = {one.client: one for one in result.verdict()}
    assert opinions[LIAR].advice is not Advice.INCLUDE
    assert {str(one.advice) for name, one in opinions.items() if name != LIAR} == {"include"}


ENDS = st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).map(sorted)


@given(ENDS, ENDS, st.floats(0.0, 1.0))
def test_a_claim_is_contradicted_only_by_a_card_that_says_more_for_sure(claim, card, factor):
    said, read = (Estimate(share, low, high) for low, share, high in (claim, card))
    found = contradicted({"one": said}, {"one": read})
    if said.high >= read.low:
        assert not found
    if found:  # whoever claims still less is contradicted, too
        less = Estimate(*(factor * end for end in (said.share, said.low, said.high)))
        assert contradicted({"one": less}, {"one": read})
    assert not contradicted({"one": said}, {})


def test_a_coordinator_may_require_cards():
    owned = tables(0.0)
    with pytest.raises(fb.SettingsError, check=coded("engines.no-card")):
        fb.value(owned, owned["client_0"], protocol="sketch", require_card=True)
    assert RunConfig.of({"protocol": "sketch", "require-card": True}).require_card
    assert not RunConfig.of({}).require_card
