"""The ledger: nothing beyond the budget, nothing lost in a crash, nothing spent twice, nothing cut unnoticed."""

import json
import multiprocessing
import os
import stat
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import coded
from fedbary.errors import DataError, PrivacyError, SettingsError
from fedbary.guard import ledger as ledger_module
from fedbary.guard.ledger import Account, Entry, Ledger


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "home" / "ledger.jsonl")


def entry(**changes):
    return Entry(**{"kind": "sketch", "protocol": "sketch", "data": "d", "bytes": 10, "scalars": ("rows",), **changes})


def asked(ledger, epsilon=0.0, budget=None, most=None, **changes):
    return ledger.open_question(entry(epsilon=epsilon, **changes), budget=budget, most=most)


# --- what it counts -----------------------------------------------------------------------------------

costs = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.3, 1.0]) | st.floats(1e-4, 2.0), max_size=8)


@given(costs=costs, budget=st.sampled_from([0.0, 0.3, 1.0, 2.5]), resets=st.sets(st.integers(0, 7), max_size=2))
def test_the_budget_holds_under_every_sequence_and_is_used_up_to_its_end(costs, budget, resets, tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.jsonl")
    spent = Decimal(0)
    for place, cost in enumerate(costs):
        if place in resets:
            ledger.reset("new rows")
            spent = Decimal(0)
        wanted = spent + Decimal(repr(cost))
        if cost == 0 or wanted <= Decimal(repr(budget)):
            assert asked(ledger, cost, budget).left == float(Decimal(repr(budget)) - wanted)
            spent = wanted
        else:
            with pytest.raises(PrivacyError, check=coded("guard.budget-spent")):
                asked(ledger, cost, budget)
        assert ledger.spent() == Ledger(ledger.path).spent() == float(spent) <= budget


def test_three_tenths_fit_a_budget_of_three_tenths(ledger):
    for _ in range(3):
        asked(ledger, 0.1, 0.3)
    with pytest.raises(PrivacyError):
        asked(ledger, 0.1, 0.3)


def test_a_refusal_writes_nothing_and_says_no_number_to_the_server(ledger):
    asked(ledger, 1.0, 1.5)
    before = ledger.path.read_bytes()
    with pytest.raises(PrivacyError) as caught:
        asked(ledger, 1.0, 1.5)
    assert ledger.path.read_bytes() == before
    assert caught.value.private == {"spent": 1.0, "budget": 1.5, "cost": 1.0}
    assert caught.value.public == {}


def test_a_changed_table_shares_the_budget_until_the_owner_resets_it(ledger):
    asked(ledger, 1.0, 1.5, data="old")
    with pytest.raises(PrivacyError):
        asked(ledger, 1.0, 1.5, data="new")
    with pytest.raises(SettingsError, check=coded("guard.decision-without-reason")):
        ledger.reset(" ")
    ledger.reset("all patients of last year are gone")
    assert asked(ledger, 1.0, 1.5, data="new").left == 0.5
    assert len(ledger.read().entries) == 3


def test_questions_are_counted_for_each_protocol_and_never_by_a_server_s_names(ledger):
    for run in ("may", "may"):
        asked(ledger, most=2, run=run)
    with pytest.raises(PrivacyError, check=coded("guard.no-further-question")):
        asked(ledger, most=2, run="may")
    assert asked(ledger, most=1, protocol="interpolation").question == 3
    ledger.allow("sketch", 1, 0.0, "one more for June")
    assert asked(ledger, most=2, run="june").question == 4
    with pytest.raises(PrivacyError, check=coded("guard.no-further-question")) as caught:
        asked(ledger, most=2)
    assert (caught.value.public, caught.value.private) == ({"protocol": "sketch"}, {"asked": 3})
    ledger.reset("enough")
    assert asked(ledger, most=1).question == 5


def test_epsilon_that_the_owner_allows_is_added_to_the_budget(ledger):
    asked(ledger, 1.0, 1.0)
    ledger.allow("sketch", 0, 0.5, "for June")
    assert asked(ledger, 0.5, 1.0).left == 0.0


def test_what_a_run_asked_and_did_not_get_is_found_again(ledger):
    asked(ledger, run="may", asked="a")
    assert ledger.read().unanswered("may", "a") == 1
    assert ledger.read().unanswered("may", "b") is None
    assert ledger.read().unanswered("june", "a") is None
    assert ledger.read().answered("a") is None
    ledger.record(entry(question=1))
    assert ledger.read().unanswered("may", "a") is None
    assert ledger.read().answered("a") == "may"
    ledger.allow("sketch", 1, 0.0, "rows were corrected")
    assert ledger.read().answered("a") is None


def test_a_line_is_read_back_as_it_was_written(ledger):
    written = ledger.record(entry(arrays={"gamma": (3, 2), "empty": ()}, run="mäy\n\x1b", epsilon=0.25, note="n"))
    assert ledger.read().entries == (written,)
    assert written.time.endswith("Z")
    assert len(ledger.path.read_bytes().splitlines()) == 1


def test_only_the_owner_can_read_it(ledger):
    ledger.record(entry())
    for file in (ledger.path, ledger.head_path):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ledger.path.chmod(0o644)
    ledger.record(entry())
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_refusals_without_end_do_not_fill_the_disk(ledger, monkeypatch):
    monkeypatch.setattr(ledger_module, "_MOST_REFUSALS", 3)
    for _ in range(10):
        ledger.record(entry(what="refusal"))
    assert len(ledger.read().entries) == 4
    ledger.record(entry())
    ledger.allow("sketch", 1, 0.0, "again")
    assert ledger.record(entry(what="refusal")) is not None
    assert len(ledger.read().entries) == 7


@pytest.mark.parametrize("what", ["failure", "free", "refusal"])
def test_what_costs_no_question_does_not_fill_the_disk(ledger, monkeypatch, what):
    """A failure leaves again for the same question, in any run that a server names."""
    monkeypatch.setattr(ledger_module, "_MOST_REFUSALS", 3)
    for _ in range(10):
        ledger.record(entry(what=what, question=0))
    assert len(ledger.read().entries) == 4
    assert ledger.record(entry(what="failure", question=7)) is not None


# --- crashes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [1, 30, 200, None])
def test_a_last_line_without_its_end_was_never_sent_and_the_rest_goes_on(ledger, left):
    first = asked(ledger, 0.5)
    with ledger.path.open("ab") as file:
        file.write(entry(epsilon=0.5, previous=ledger.read().head).to_json().encode()[:left])
    assert ledger.read() == Account((first,), ledger.read().head, torn=(2,))
    asked(ledger, 0.25)
    assert ledger.read().torn == (2,)
    assert [line.what for line in ledger.read().entries] == ["question", "torn", "question"]
    assert ledger.spent() == 0.75


def test_a_crash_before_the_head_was_written_is_harmless(ledger):
    asked(ledger, 0.5)
    head = ledger.head_path.read_bytes()
    asked(ledger, 0.5)
    ledger.head_path.write_bytes(head)
    assert ledger.spent() == 1.0
    asked(ledger, 0.5)
    assert ledger.spent() == 1.5


def test_a_full_disk_sends_nothing_and_leaves_the_file_whole(ledger, monkeypatch):
    asked(ledger, 0.5)
    before, write = ledger.path.read_bytes(), os.write

    def half(file, content):
        if os.fstat(file).st_size > len(before):
            raise OSError(28, "No space left on device")
        return write(file, content[:20])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(PrivacyError, check=coded("guard.ledger-unwritable")) as caught:
        asked(ledger, 0.5)
    monkeypatch.undo()
    assert ledger.path.read_bytes() == before
    assert caught.value.public == {}


# --- tampering ----------------------------------------------------------------------------------------


@pytest.fixture
def four(ledger):
    """A ledger of four questions that used up its budget."""
    for number in range(4):
        asked(ledger, 0.5, 2.0, run=f"s{number}")
    return ledger


def edited_line(four):
    lines = four.path.read_text().splitlines()
    four.path.write_text("\n".join([lines[0], lines[1].replace('"epsilon": 0.5', '"epsilon": 0.0'), *lines[2:], ""]))


def dropped_line(four):
    lines = four.path.read_text().splitlines()
    four.path.write_text("\n".join([lines[0], *lines[2:], ""]))


def damaged_lines(four):
    """Every line damaged, all ends in their places: this once emptied the account."""
    four.path.write_bytes(four.path.read_bytes().replace(b'"what"', b'"wh\x00t"'))


def last_line_cut(four):
    four.path.write_text("".join(line + "\n" for line in four.path.read_text().splitlines()[:-1]))


def last_byte_cut(four):
    four.path.write_bytes(four.path.read_bytes()[:-1])


def emptied(four):
    four.path.write_bytes(b"")


def removed(four):
    four.path.unlink()


def head_removed(four):
    four.head_path.unlink()


def head_of_another(four):
    four.head_path.write_text("0" * 64)


DAMAGE = {
    edited_line: "guard.ledger-damaged",
    dropped_line: "guard.ledger-damaged",
    damaged_lines: "guard.ledger-damaged",
    last_line_cut: "guard.ledger-cut",
    last_byte_cut: "guard.ledger-cut",
    emptied: "guard.ledger-cut",
    removed: "guard.ledger-cut",
    head_removed: "guard.ledger-cut",
    head_of_another: "guard.ledger-cut",
}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_ledger_that_was_cut_or_edited_answers_nothing_until_the_owner_decides(four, damage):
    damage(four)
    ways = [
        lambda: four.read(head_needed=True),
        lambda: asked(four, 2.0, 2.0),
        lambda: four.record(entry()),
        lambda: four.reset("a reason"),
    ]
    for way in ways:
        with pytest.raises(DataError, check=coded(DAMAGE[damage])) as caught:
            way()
        assert caught.value.public == {}
    before = four.path.read_bytes() if four.path.exists() else b""
    with pytest.raises(SettingsError, check=coded("guard.decision-without-reason")):
        four.accept("")
    four.accept("the disk was restored from last week's copy")
    assert four.path.read_bytes().startswith(before)
    assert four.read(head_needed=True).entries[-1].what == "accept"
    asked(four)
    assert Ledger(four.path).read(head_needed=True).entries[-1].what == "question"


def test_what_can_be_read_of_an_accepted_ledger_still_counts(four):
    lines = four.path.read_text().splitlines()
    four.path.write_text("\n".join([lines[0], "{}", *lines[2:], ""]))
    four.accept("line 2 was lost")
    assert four.spent() == 1.5
    assert four.read().damaged == (2, 3)  # line 3 was chained to the one that is gone
    four.path.write_text(four.path.read_text().replace("s0", "s9"))
    with pytest.raises(DataError, check=coded("guard.ledger-damaged")):
        four.read()


def test_a_whole_ledger_has_nothing_to_accept(four):
    with pytest.raises(SettingsError, check=coded("guard.nothing-to-accept")):
        four.accept("to be safe")


@pytest.mark.parametrize("text", ["age,label\n53,ill\n", "age", "\n"])
def test_a_file_of_something_else_is_neither_a_ledger_nor_made_one(ledger, text):
    ledger.path.parent.mkdir(parents=True, exist_ok=True)
    ledger.path.write_text(text)
    for way in (ledger.read, lambda: asked(ledger), lambda: ledger.reset("why")):
        with pytest.raises(DataError, check=coded("guard.ledger-damaged")) as caught:
            way()
        assert caught.value.private["line"] == 1
    with pytest.raises(DataError, check=coded("guard.not-a-ledger")):
        ledger.accept("why")
    assert ledger.path.read_text() == text


def test_a_copy_without_its_head_can_be_looked_at(four, tmp_path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(four.path.read_bytes())
    assert Ledger(copy).read() == four.read()
    with pytest.raises(DataError, check=coded("guard.ledger-cut")):
        asked(Ledger(copy))


@pytest.mark.parametrize("cost", [-0.1, float("nan"), float("inf")])
def test_an_absurd_cost_is_a_bug(ledger, cost):
    with pytest.raises(ValueError, match="epsilon"):
        asked(ledger, cost, 1.0)


# --- several processes --------------------------------------------------------------------------------


def spend(path, gate):
    """Spend until nothing is left, with a pause between looking at the account and writing to it."""
    afford = Account.afford

    def slow(*arguments, **more):
        found = afford(*arguments, **more)
        time.sleep(0.002)
        return found

    Account.afford = slow
    gate.wait()
    ledger = Ledger(path)
    for _ in range(20):
        try:
            asked(ledger, 0.1, 1.5, run=str(os.getpid()))
        except PrivacyError:
            return


def test_two_processes_neither_mix_lines_nor_spend_the_same_epsilon(tmp_path):
    context = multiprocessing.get_context("fork")
    gate = context.Event()
    path = tmp_path / "ledger.jsonl"
    workers = [context.Process(target=spend, args=(path, gate)) for _ in range(2)]
    for worker in workers:
        worker.start()
    gate.set()
    for worker in workers:
        worker.join(300)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 15
    assert Ledger(path).spent() == 1.5
    assert [line["left"] for line in lines] == [round(1.5 - 0.1 * n, 1) for n in range(1, 16)]


def test_lines_from_before_delta_was_counted_are_read():
    line = json.loads(Entry(protocol="sketch", epsilon=0.5).to_json())
    del line["delta"], line["more_delta"]
    assert Entry.from_json(json.dumps(line)) == Entry(protocol="sketch", epsilon=0.5)
