"""The cards protocol in one process: what leaves, what comes back, and what is said of clients and rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import PrivacyError, ProtocolError, SettingsError
from fedbary.protocols.cards.client import card_of
from fedbary.protocols.host import Host
from fedbary.protocols.messages import Failure, Message
from fedbary.valuation.rows import RowRules
from fedbary.valuation.verdict import Advice


@pytest.fixture(scope="module")
def digits():
    return fb.datasets.load("digits")


@pytest.fixture(scope="module")
def clients(digits):
    """Two clean clients, one with wrong labels, one with noisy features, one in another unit."""
    parts = fb.partitions.by_size(digits.train, [240] * 5, seed=0).clients
    wrong, flipped = fb.corruptions.flip_labels(parts["client_2"], 0.4, seed=1)
    noisy, added = fb.corruptions.add_noise(parts["client_3"], 0.3, seed=1)
    return {**parts, "client_2": wrong, "client_3": noisy}, {"client_2": flipped, "client_3": added}


@pytest.fixture(scope="module")
def result(clients):
    return fb.value(clients[0], seed=0)


def advice(result):
    return {opinion.client: opinion.advice for opinion in result.verdict()}


def test_cards_are_the_default_without_a_reference(result):
    assert result.settings["protocol"] == "cards"
    assert (result.clients["status"] == "ok").all()


def test_the_verdict_is_right_without_a_clean_row(result):
    found = advice(result)
    assert found["client_2"] is Advice.LEAVE
    assert found["client_3"] in (Advice.LOOK, Advice.LEAVE)
    assert {found[name] for name in ("client_1", "client_4", "client_5")} == {Advice.INCLUDE}
    numbers = result.clients.set_index("client")
    assert numbers.loc["client_2", "wrong_labels"] == pytest.approx(0.4, abs=0.07)
    assert numbers.loc["client_3", "odd_features"] == pytest.approx(0.3, abs=0.07)


def test_rows_are_ranked_flagged_and_suspected_without_a_clean_row(result, clients):
    all_flagged, wrongly = 0, 0
    for name, bad in clients[1].items():
        rows = result.rows(name)
        values = rows["value"].to_numpy()
        better = (values[bad][:, None] < values[~bad][None]).mean()
        assert better > 0.98
        flagged, suspect = (rows[column].to_numpy(dtype=bool) for column in ("flag", "suspect"))
        assert flagged.sum() > 0.3 * bad.sum()
        all_flagged, wrongly = all_flagged + flagged.sum(), wrongly + (flagged & ~bad).sum()
        assert not (flagged & suspect).any()
        assert rows["p_value"].between(0.0, 1.0).all()
    for name in ("client_1", "client_4", "client_5"):
        assert result.rows(name)["flag"].to_numpy(dtype=bool).mean() < 0.02
    assert wrongly < 0.25 * all_flagged
    found = result.row_facts("client_2").guarantee
    assert (found.code, found.facts["rate"]) == ("valuation.flags-measured", 0.1)


def test_the_label_score_is_the_odds_that_a_label_is_wrong(result, clients):
    rows, flipped = result.rows("client_2"), clients[1]["client_2"]
    assert np.median(rows["label_score"][flipped]) > 0.0
    assert np.median(rows["label_score"][~flipped]) < -1.0


def test_wrong_labels_get_their_own_class_suggested(result, clients, digits):
    rows = result.rows("client_2")
    original = fb.partitions.by_size(digits.train, [240] * 5, seed=0).clients["client_2"].labels.astype(str)
    flipped = clients[1]["client_2"]
    assert (rows["suggested_label"].to_numpy()[flipped] == original[flipped]).mean() > 0.85


def test_with_a_reference_its_rows_calibrate_flags(clients, digits):
    found = fb.value(clients[0], digits.test.take(np.arange(250)), protocol="cards", seed=0)
    bad, rows = clients[1]["client_2"], found.rows("client_2")
    flagged = rows["flag"].to_numpy(dtype=bool)
    assert flagged.sum() > 0.5 * bad.sum()
    assert bad[flagged].mean() > 0.8
    assert found.row_facts("client_2").guarantee.code == "valuation.flags-measured"
    assert advice(found)["client_2"] is Advice.LEAVE


def test_a_column_in_another_unit_is_named(digits):
    cancer = fb.datasets.load("breast-cancer").train
    parts = fb.partitions.by_size(cancer, [75] * 5, seed=0).clients
    odd = parts["client_4"]
    column = odd.column_names[3]
    parts["client_4"] = odd.replace(columns={**odd.columns, column: odd.columns[column] * 1000})
    found = fb.value(parts, seed=0)
    assert advice(found)["client_4"] is Advice.LOOK
    reason = next(one for one in found.verdict() if one.client == "client_4").reasons[0]
    assert (reason.code, reason.facts["column"]) == ("protocols.card-column-off", column)
    assert found.clients.set_index("client").loc[["client_4"], "wrong_labels"].isna().all()


def test_labels_in_another_coding_are_guessed(digits):
    cancer = fb.datasets.load("breast-cancer").train
    parts = fb.partitions.by_size(cancer, [75] * 5, seed=0).clients
    texts = {name: part.replace(labels=np.where(part.labels == 0, "bad", "good")) for name, part in parts.items()}
    texts["client_4"] = texts["client_4"].replace(labels=np.char.upper(texts["client_4"].labels.astype(str)))
    found = fb.value(texts, seed=0)
    assert found.outcomes["client_4"].has("schema.other-coding")
    assert advice(found)["client_4"] is Advice.LOOK


def test_the_same_card_under_two_names_is_said(clients):
    parts = dict(clients[0])
    parts["client_5"] = parts["client_4"]
    found = fb.value(parts, seed=0)
    assert found.outcomes["client_5"].has("protocols.same-card")
    assert found.outcomes["client_5"].ok


def test_numbers_as_labels():
    diabetes = fb.datasets.load("diabetes")
    parts = fb.partitions.by_size(diabetes.train, [70] * 4, seed=0).clients
    labels = np.asarray(parts["client_2"].labels, dtype=float).copy()
    labels[:20] += 400.0
    parts["client_2"] = parts["client_2"].replace(labels=labels)
    for reference in (None, diabetes.test):
        found = fb.value(parts, reference, protocol="cards", seed=0)
        values = found.rows("client_2")["value"].to_numpy()
        assert (values[:20][:, None] < values[20:][None]).mean() > 0.97
        assert found.clients.set_index("client").loc["client_2", "wrong_labels"] > 0.1
        assert float(found.rows("client_2")["suggested_label"][0]) < 400


def test_order_of_clients_and_workers_change_nothing(clients, result):
    turned = dict(reversed(clients[0].items()))
    again = fb.value(turned, seed=0, engine=fb.LocalEngine(workers=1))
    one = result.clients.set_index("client").select_dtypes("float64")
    two = again.clients.set_index("client").loc[one.index].select_dtypes("float64")
    assert np.allclose(one, two, atol=1e-9, equal_nan=True)


def test_classes_that_others_lack_are_ordinary(digits):
    parts = fb.partitions.by_size(digits.train, [200] * 4, seed=0).clients
    alone = parts["client_1"]
    labels = alone.labels.copy()
    labels[:30] = 77
    parts["client_1"] = alone.replace(labels=labels)
    found = fb.value(parts, seed=0)
    assert found.outcomes["client_1"].ok
    assert found.rows("client_1")["label_score"].isna().sum() == 30


def test_columns_unlike_the_majority_take_one_client_out(clients):
    parts = dict(clients[0])
    parts["client_5"] = fb.Table({"age": np.arange(50.0)}, ["1", "2"] * 25)
    found = fb.value(parts, seed=0)
    assert found.outcomes["client_5"].notes[0].code.startswith("schema.columns")
    assert sum(outcome.ok for outcome in found.outcomes.values()) == 4


def test_a_liar_moves_nobody_far(clients, result):
    shuffled = np.random.default_rng(0).permutation(clients[0]["client_5"].labels)
    parts = {**clients[0], "client_5": clients[0]["client_5"].replace(labels=shuffled)}
    found = fb.value(parts, seed=0)
    for name in ("client_1", "client_4"):
        one, two = (run.clients.set_index("client").loc[name, "wrong_labels"] for run in (result, found))
        assert two == pytest.approx(one, abs=0.02)
    assert advice(found)["client_5"] is Advice.LEAVE


# --- what leaves ---------------------------------------------------------------------------------------


OF_LABELS = {f"label.{name}" for name in ("counts", "judged", "looks", "gain", "numbers")}


def half(settings: fb.Cards, table: fb.Table):
    return settings.client(table, rules=RowRules(), seed=0)


def test_four_kinds_of_messages_and_what_answers_them(clients, result):
    settings = fb.Cards(policy="guarded")
    server = settings.server(list(clients[0]), None, settings.space(None), rules=RowRules(), seed=0)
    halves, told = {name: half(settings, table) for name, table in clients[0].items()}, {}
    while tasks := server.tasks():
        replies = {name: halves[name].answer(message) for name, message in tasks.items()}
        reply = replies["client_1"]
        told[tasks["client_1"].kind] = set(reply.scalars) | set(reply.arrays)
        server.absorb(replies)
    assert told == {
        "card": {"rows", "card", "centre", "counts", "sums", "second"} if "second" in told["card"] else told["card"],
        "model": {"rows", "weights"},
        "evidence": {"likelihood", "labels", "features", "scatter", "seen", *OF_LABELS},
        "flags": set(),
    }
    assert halves["client_2"].row_values().frame["flag"].any()


def test_where_people_carry_files_the_model_is_the_last_message(clients, digits):
    settings = fb.Cards()
    for reference in (None, digits.test):
        server = settings.server(
            list(clients[0]), reference, settings.space(None), rules=RowRules(), seed=0, host=Host(one_answer=True)
        )
        halves = {name: half(settings, table) for name, table in clients[0].items()}
        kinds = []
        while tasks := server.tasks():
            kinds.append(next(iter(tasks.values())).kind)
            server.absorb({name: halves[name].answer(message) for name, message in tasks.items()})
        assert kinds == ["card", "model"]
        numbers = server.result().clients.set_index("client")["wrong_labels"]
        assert numbers["client_2"] == pytest.approx(0.4, abs=0.1)
        assert numbers.drop("client_2").max() < 0.1
        rows = halves["client_2"].row_values().frame
        assert rows["flag"].notna().all() == (reference is not None)


def test_evidence_before_a_model_is_refused(clients):
    for kind in ("evidence", "flags"):
        with pytest.raises(ProtocolError, check=coded("protocols.rows-before-model")):
            half(fb.Cards(), clients[0]["client_1"]).answer(Message(kind, 2, {}, {}))


def test_one_card_leaves_and_the_same_again(clients):
    client = half(fb.Cards(), clients[0]["client_1"])
    reply = client.answer(Message("card", 0, {"task": "auto"}))
    assert set(reply.scalars) == {"rows", "card"}
    assert set(reply.arrays) == {"centre", "counts", "sums", "second"}
    assert card_of(client.answer(Message("card", 0, {"task": "auto"}))).counts.sum() == card_of(reply).counts.sum()
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        client.answer(Message("card", 0, {"task": "classification"}))


def test_a_guarded_client_of_few_rows_tells_no_products(clients):
    few = clients[0]["client_1"].take(np.arange(100))
    reply = half(fb.Cards(policy="guarded"), few).answer(Message("card", 0, {"task": "auto"}))
    assert "squares" in reply.arrays
    assert "second" not in reply.arrays


def test_with_epsilon_nothing_leaves_but_the_card(clients, digits):
    pytest.importorskip("dp_accounting")
    settings = fb.Cards(epsilon=2.0, coordinates=8)
    server = settings.server(list(clients[0]), digits.test, settings.space(None), rules=RowRules(), seed=0)
    halves = {name: half(settings, table) for name, table in clients[0].items()}
    kinds = []
    while tasks := server.tasks():
        kinds.append(next(iter(tasks.values())).kind)
        replies = {name: halves[name].answer(message) for name, message in tasks.items()}
        if kinds[-1] != "card":
            assert all(set(reply.scalars) == {"rows"} and not reply.arrays for reply in replies.values())
        server.absorb(replies)
    assert kinds == ["card", "model"]
    assert server.result().clients["wrong_labels"].notna().all()


def test_epsilon_needs_public_coordinates(clients):
    with pytest.raises(SettingsError, check=coded("protocols.cards-without-schema")):
        fb.value(clients[0], protocol=fb.Cards(epsilon=1.0), seed=0)
    with pytest.raises(PrivacyError, check=coded("protocols.card-needs-schema")):
        half(fb.Cards(epsilon=1.0), clients[0]["client_1"]).answer(Message("card", 0, {"task": "auto"}))


def test_owners_who_share_no_numbers_are_judged_by_their_cards(clients):
    found = fb.value(clients[0], protocol=fb.Cards(numbers=False), seed=0)
    numbers = found.clients.set_index("client")
    assert numbers["odd_features"].isna().all()
    assert numbers.loc["client_2", "wrong_labels"] == pytest.approx(0.4, abs=0.12)
    assert numbers.loc[["client_1", "client_4", "client_5"], "wrong_labels_low"].max() < 0.05
    assert any(note.code == "protocols.shares-by-cards" for note in found.notes)


def test_two_guarded_clients_get_no_model_of_each_other(clients):
    parts = {name: clients[0][name] for name in ("client_1", "client_2")}
    found = fb.value(parts, protocol=fb.Cards(policy="guarded"), seed=0)
    assert all(outcome.has("protocols.card-no-model") for outcome in found.outcomes.values())
    assert not any(note.code == "protocols.shares-by-cards" for note in found.notes), "there are no shares"
    shared = fb.value(parts, protocol=fb.Cards(policy="guarded", shared=True), seed=0)
    assert not any(outcome.has("protocols.card-no-model") for outcome in shared.outcomes.values())


# --- answers that make no sense -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil",
    [
        lambda reply: replace(reply, scalars={**reply.scalars, "card": "{}"}),
        lambda reply: replace(reply, arrays={**reply.arrays, "sums": reply.arrays["sums"][:-1]}),
        lambda reply: replace(reply, arrays={**reply.arrays, "second": np.full_like(reply.arrays["second"], np.nan)}),
        lambda reply: replace(reply, arrays={**reply.arrays, "second": -reply.arrays["second"]}),
        lambda reply: replace(reply, arrays={**reply.arrays, "counts": reply.arrays["counts"] * 1000}),
        lambda reply: Failure.of(ProtocolError("protocols.no-answer")),
    ],
)
def test_a_card_that_makes_no_sense_takes_its_client_out_and_nobody_else(clients, spoil):
    class Spoilt(fb.LocalEngine):
        def exchange(self, tasks, observer):
            answers = super().exchange(tasks, observer)
            if next(iter(tasks.values())).kind == "card":
                answers["client_5"] = spoil(answers["client_5"])
            return answers

    found = fb.value(clients[0], seed=0, engine=Spoilt())
    assert not found.outcomes["client_5"].ok
    assert all(found.outcomes[name].ok for name in clients[0] if name != "client_5")
    without = {name: table for name, table in clients[0].items() if name != "client_5"}
    expected = fb.value(without, seed=0).clients.set_index("client")["wrong_labels"]
    assert np.allclose(found.clients.set_index("client")["wrong_labels"].drop("client_5"), expected)


def test_a_client_that_is_silent_later_is_judged_by_its_card(clients):
    class Silent(fb.LocalEngine):
        def exchange(self, tasks, observer):
            answers = super().exchange(tasks, observer)
            if next(iter(tasks.values())).kind != "card":
                answers["client_2"] = Failure.of(ProtocolError("protocols.no-answer"))
            return answers

    found = fb.value(clients[0], seed=0, engine=Silent())
    assert found.outcomes["client_2"].ok
    assert found.clients.set_index("client").loc["client_2", "wrong_labels"] > 0.25


def test_a_run_goes_on_after_every_round_to_the_same_numbers(clients, result):
    settings = fb.Cards()

    def server():
        return settings.server(list(clients[0]), None, settings.space(None), rules=RowRules(), seed=0)

    halves = {name: half(settings, table) for name, table in clients[0].items()}
    one = server()
    while tasks := one.tasks():
        again = server()
        again.restore(one.state())
        assert {name: message.digest for name, message in again.tasks().items()} == {
            name: message.digest for name, message in tasks.items()
        }
        restored = {}
        for name, client in halves.items():
            restored[name] = half(settings, clients[0][name])
            restored[name].restore(client.state())
        halves = restored
        one = again
        one.absorb({name: halves[name].answer(message) for name, message in tasks.items()})
    found = one.result().clients.select_dtypes("float64")
    assert np.allclose(found, result.clients.select_dtypes("float64"), equal_nan=True)
    assert halves["client_1"].row_values().frame["value"].equals(result.rows("client_1")["value"])


def test_row_values_before_the_model_say_what_is_missing(clients):
    with pytest.raises(ProtocolError, check=coded("protocols.rows-before-model")):
        half(fb.Cards(), clients[0]["client_1"]).row_values()


def test_a_result_before_the_cards_is_refused(clients):
    settings = fb.Cards()
    with pytest.raises(ProtocolError, check=coded("protocols.not-finished")):
        settings.server(list(clients[0]), None, settings.space(None), rules=RowRules(), seed=0).result()


def test_nobody_answers():
    class Nobody(fb.LocalEngine):
        def exchange(self, tasks, observer):
            return {}

    rows = fb.Table({"n": np.arange(20.0)}, ["a", "b"] * 10)
    found = fb.value({"one": rows, "two": rows}, seed=0, engine=Nobody())
    assert not any(outcome.ok for outcome in found.outcomes.values())
