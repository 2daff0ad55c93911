"""The egress ledger: nothing beyond the budget, nothing lost in a crash, nothing spent twice."""

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
from fedbary.guard.ledger import DECLINED, REFUSAL, Entry, Ledger


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "home" / "ledger.jsonl")


def entry(**changes):
    return Entry(**{"kind": "sketch", "session": "s", "data": "d", "bytes": 10, "scalars": ("rows",), **changes})


costs = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.3, 1.0]) | st.floats(0.0, 2.0), max_size=12)


@given(costs=costs, budget=st.sampled_from([0.0, 0.3, 1.0, 2.5]), resets=st.sets(st.integers(0, 11), max_size=2))
def test_the_budget_holds_under_every_sequence_and_is_used_up_to_its_end(costs, budget, resets, tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.jsonl")
    spent = Decimal(0)
    for place, cost in enumerate(costs):
        if place in resets:
            ledger.reset("new rows")
            spent = Decimal(0)
        wanted = spent + Decimal(repr(cost))
        if cost == 0 or wanted <= Decimal(repr(budget)):
            assert ledger.charge(entry(epsilon=cost), budget=budget).left == float(Decimal(repr(budget)) - wanted)
            spent = wanted
        else:
            with pytest.raises(PrivacyError, check=coded("guard.budget-spent")):
                ledger.charge(entry(epsilon=cost), budget=budget)
        assert ledger.spent() == Ledger(ledger.path).spent() == float(spent) <= budget


def test_three_tenths_fit_a_budget_of_three_tenths(ledger):
    for _ in range(3):
        ledger.charge(entry(epsilon=0.1), budget=0.3)
    with pytest.raises(PrivacyError):
        ledger.charge(entry(epsilon=0.1), budget=0.3)


def test_a_refusal_writes_nothing_and_says_no_number_to_the_server(ledger):
    ledger.charge(entry(epsilon=1.0), budget=1.5)
    before = ledger.path.read_bytes()
    with pytest.raises(PrivacyError) as caught:
        ledger.charge(entry(epsilon=1.0), budget=1.5)
    assert ledger.path.read_bytes() == before
    assert caught.value.private == {"spent": 1.0, "budget": 1.5, "cost": 1.0}
    assert caught.value.public == {}


def test_a_changed_table_shares_the_budget_until_the_owner_resets_it(ledger):
    ledger.charge(entry(epsilon=1.0, data="old"), budget=1.5)
    assert (ledger.spent("old"), ledger.spent("new"), ledger.spent()) == (1.0, 0.0, 1.0)
    with pytest.raises(PrivacyError):
        ledger.charge(entry(epsilon=1.0, data="new"), budget=1.5)
    with pytest.raises(SettingsError, check=coded("guard.reset-without-reason")):
        ledger.reset(" ")
    ledger.reset("all patients of last year are gone")
    assert ledger.charge(entry(epsilon=1.0, data="new"), budget=1.5).left == 0.5
    assert len(ledger.read().entries) == 3


def test_runs_are_counted_by_the_owner_s_sessions_not_by_the_server_s_names(ledger):
    for session in ("a", "b", "a"):
        ledger.charge(entry(run="may", session=session), max_runs=2)
    with pytest.raises(PrivacyError, check=coded("guard.no-further-run")):
        ledger.charge(entry(run="may", session="c"), max_runs=2)
    ledger.charge(entry(what=DECLINED, session="c"), max_runs=2)
    ledger.reset("enough")
    ledger.charge(entry(what=REFUSAL, session="c"), max_runs=1)
    with pytest.raises(PrivacyError, check=coded("guard.no-further-run")):
        ledger.charge(entry(session="d"), max_runs=1)


def test_a_line_is_read_back_as_it_was_written(ledger):
    written = ledger.charge(entry(arrays={"gamma": (3, 2), "empty": ()}, run="mäy\n\x1b", epsilon=0.25, note="n"))
    assert ledger.read().entries == (written,)
    assert written.time.endswith("Z")
    assert len(ledger.path.read_bytes().splitlines()) == 1


def test_only_the_owner_can_read_it(ledger):
    ledger.charge(entry())
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    ledger.path.chmod(0o644)
    ledger.charge(entry())
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("cut", [1, 2, 30, 150])
def test_a_line_that_a_crash_cut_off_is_reported_and_the_rest_goes_on(ledger, cut):
    for _ in range(2):
        ledger.charge(entry(epsilon=0.5))
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole[:-cut])
    lost = cut > 1  # without its end a line is still whole
    account = ledger.read()
    assert (len(account.entries), account.torn) == ((1, (2,)) if lost else (2, ()))
    ledger.charge(entry(epsilon=0.25))
    ledger.charge(entry(epsilon=0.25))
    assert ledger.read().torn == account.torn
    assert ledger.spent() == (1.0 if lost else 1.5)


def test_a_crash_while_mending_is_mended_too(ledger):
    ledger.charge(entry(epsilon=0.5))
    with ledger.path.open("ab") as file:
        file.write(b'{"what": "rep\n{"wh')
    ledger.charge(entry(epsilon=0.5))
    assert ledger.read().torn == (2, 3)
    assert ledger.spent() == 1.0


def test_a_damaged_line_in_the_middle_stops_everything(ledger):
    for _ in range(3):
        ledger.charge(entry(epsilon=0.5))
    lines = ledger.path.read_text().splitlines()
    ledger.path.write_text("\n".join([lines[0], lines[1].replace("0.5", "-0.5"), lines[2], ""]))
    with pytest.raises(DataError, check=coded("guard.ledger-damaged")):
        ledger.read()
    with pytest.raises(DataError, check=coded("guard.ledger-damaged")):
        ledger.charge(entry())


def test_a_file_of_something_else_is_not_taken_for_lines_that_a_crash_cut_off(ledger):
    ledger.path.parent.mkdir(parents=True, exist_ok=True)
    ledger.path.write_text("age,label\n53,ill\n")
    with pytest.raises(DataError, check=coded("guard.ledger-damaged")) as caught:
        ledger.read()
    assert caught.value.private["line"] == 1


def test_a_full_disk_sends_nothing_and_leaves_the_file_whole(ledger, monkeypatch):
    ledger.charge(entry(epsilon=0.5))
    before, write = ledger.path.read_bytes(), os.write

    def half(file, content):
        if os.fstat(file).st_size > len(before):
            raise OSError(28, "No space left on device")
        return write(file, content[:20])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(PrivacyError, check=coded("guard.ledger-unwritable")) as caught:
        ledger.charge(entry(epsilon=0.5))
    monkeypatch.undo()
    assert ledger.path.read_bytes() == before
    assert caught.value.public == {}


@pytest.mark.parametrize("cost", [-0.1, float("nan"), float("inf")])
def test_an_absurd_cost_is_a_bug(ledger, cost):
    with pytest.raises(ValueError, match="epsilon"):
        ledger.charge(entry(epsilon=cost), budget=1.0)


def spend(path, gate):
    """Spend until nothing is left, with a pause between looking at the account and writing to it."""
    afford = ledger_module._afford

    def slow(*arguments):
        found = afford(*arguments)
        time.sleep(0.002)
        return found

    ledger_module._afford = slow
    gate.wait()
    ledger = Ledger(path)
    for _ in range(20):
        try:
            ledger.charge(entry(epsilon=0.1, session=str(os.getpid())), budget=1.5)
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
        worker.join(20)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 15
    assert Ledger(path).spent() == 1.5
    assert [line["left"] for line in lines] == [round(1.5 - 0.1 * n, 1) for n in range(1, 16)]
