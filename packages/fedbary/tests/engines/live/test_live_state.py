"""A run folded from its events, and a log that grows, breaks and is begun anew under a reader's eyes."""

import json
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbary.engines.events import Event, EventLog
from fedbary.engines.live import Follower, Logged, RunProgress, Watched, after, logged
from fedbary.errors import DataError

HOSTILE = ("<script>alert(1)</script>", "[/oops]", "مستشفى 🏥", "=1+1", 'a"\'<a href="x">', "x" * 300)


def folded(*events):
    run = RunProgress()
    for second, event in enumerate(events):
        run = after(run, Logged(float(second), event))
    return run


def states(run):
    return {name: client.state for name, client in run.clients.items()}


def test_a_run_from_its_first_event_to_its_last():
    begun = [
        Event("nodes-joined", total=3, done=2),
        Event("server-busy", detail="sketching the reference"),
        Event("run-started", total=2),
        Event("round-started", 1, "start", total=2, clients=("a", "b")),
    ]
    run = folded(*begun)
    assert (run.standing, run.phase, run.joined, run.wanted) == ("running", "starting the clients", 2, 3)
    assert states(run) == {"a": "waiting", "b": "waiting"}
    begun += [
        Event("client-replied", 1, "start", "a", 1, 2),
        Event("client-failed", 1, "start", "b", 2, 2, "no label"),
        Event("round-finished", 1, "start", total=2),
        Event("distances", 1, values={"a": 2.5}),
        Event("round-started", 2, "step", total=1, clients=("a",)),
    ]
    run = folded(*begun)
    assert (run.phase, run.exchange, run.answered, run.asked) == ("round 1", 2, 0, 1)
    assert states(run) == {"a": "waiting", "b": "failed"}
    assert run.clients["a"].distance == 2.5
    assert run.failed == {"b": "no label"}
    run = folded(*begun, Event("run-finished", total=2))
    assert (run.standing, run.started, run.last, run.ended) == ("finished", 0.0, 9.0, True)


def test_a_stopped_run_that_is_resumed_remembers_who_failed_and_a_new_run_forgets():
    failed = [Event("run-started", total=1), Event("client-failed", 1, "start", "b", 1, 1, "no label")]
    stopped = folded(*failed, Event("run-stopped", detail="interrupted"))
    assert (stopped.standing, stopped.phase) == ("stopped", "stopped: interrupted")
    resumed = after(stopped, Logged(9.0, Event("run-started", total=1)))
    assert (resumed.standing, resumed.failed) == ("running", {"b": "no label"})
    another = folded(*failed, Event("run-finished"), Event("run-started", total=1))
    assert (another.standing, another.failed) == ("running", {})


def test_the_nearest_come_first_and_the_failed_last():
    events = [Event("client-failed", client="c", detail="?"), Event("distances", values={"a": 3.0, "b": 1.0})]
    run = folded(*events, Event("client-replied", client="d"))
    assert [name for name, _ in run.ranked()] == ["b", "a", "d", "c"]
    assert [one["client"] for one in run.to_dict()["clients"]] == ["b", "a", "d", "c"]
    json.dumps(run.to_dict(), allow_nan=False)


def kinds(follower):
    return [None if entry is None else entry.event.kind for entry in follower.read()]


def test_a_growing_file_is_read_line_by_line(tmp_path):
    folder = tmp_path / "later"
    follower = Follower(folder)
    assert kinds(follower) == []
    log = EventLog(folder / "events.jsonl", append=False)
    log(Event("run-started", total=2))
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b'{"time": 2, "kind": "round-st')
    assert kinds(follower) == ["run-started"]
    assert kinds(follower) == []
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b'arted"}\nnonsense\n[1]\n{"time": NaN, "kind": "x"}\n\n{"time": 3, "kind": "run-finished"}\n')
    assert kinds(follower) == ["round-started", "run-finished"]
    assert follower.broken == 3


@pytest.mark.parametrize("how", ["unlinked", "truncated", "longer"])
def test_a_file_that_is_begun_anew_is_read_from_its_start(tmp_path, how):
    file = tmp_path / "events.jsonl"
    file.write_text('{"time": 1, "kind": "run-started"}\n{"time": 2, "kind": "run-finished"}\n')
    watched = Watched(tmp_path)
    assert len(list(watched.look())) == 2
    if how == "unlinked":
        file.unlink()
    lines = '{"time": 7, "kind": "server-busy", "detail": "new"}\n' * (1 if how != "longer" else 50)
    file.write_text(lines)  # keeps the number of the file, if it was not removed
    assert len(list(watched.look())) == lines.count("\n")
    assert (watched.run.standing, watched.run.phase, watched.run.started) == ("running", "new", 7.0)


def test_an_endless_line_is_skipped_without_being_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("fedbary.engines.live._LONGEST_LINE", 1000)
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"x" * 200_000)
    follower = Follower(tmp_path)
    assert kinds(follower) == []
    with file.open("ab") as more:
        more.write(b'x\n{"time": 3, "kind": "run-finished"}\n')
    assert kinds(follower) == ["run-finished"]
    assert follower.broken == 1


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text('{"time": 1, "kind": "run-started"}\n')
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "events.jsonl").symlink_to(tmp_path / "elsewhere")
    assert kinds(Follower(folder)) == []


def test_an_earlier_runs_report_is_not_taken_for_this_ones(tmp_path):
    report = tmp_path / "report.html"
    report.write_text("old")
    watched = Watched(tmp_path)
    assert watched.report is not None  # no run was logged: it is what there is
    log = EventLog(tmp_path / "events.jsonl", append=False)
    log(Event("run-started", total=1))
    list(watched.look())
    assert watched.report is None
    log(Event("run-finished", total=1))
    list(watched.look())
    assert watched.report is not None
    old = time.time() - 60
    os.utime(report, (old, old))
    assert watched.report is None
    assert not watched.is_over(time.time())
    assert watched.is_over(time.time() + 1000)


def test_why_a_run_stopped_is_told_without_data(tmp_path):
    log = EventLog(tmp_path / "events.jsonl", append=False)
    secret = DataError("data.no-such-column", where="/home/ann/ward.csv", role="label", wanted="age", names=("Ann",))
    for error in (secret, ValueError("Ann is 53"), KeyboardInterrupt(), SystemExit(1)):
        with pytest.raises(type(error)), log.until_stopped():
            raise error
    text = (tmp_path / "events.jsonl").read_text()
    assert "Ann" not in text
    assert "ward" not in text
    assert text.count('"run-stopped"') == 4
    assert text.count('"interrupted"') == 2


def test_events_come_back_from_the_file_as_they_were_told(tmp_path):
    event = Event(
        "distances", 3, "step", HOSTILE[0], 1, 2, "\udc80 \u202e", "data.no-rows", HOSTILE, dict.fromkeys(HOSTILE, 0.5)
    )
    EventLog(tmp_path / "events.jsonl", append=False)(event)
    (line,) = (tmp_path / "events.jsonl").read_bytes().splitlines()
    assert logged(line).event == event


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = ("time", "kind", "exchange", "asked", "client", "done", "total", "detail", "clients", "values")
KINDS = st.sampled_from(
    ["nodes-joined", "run-started", "round-started", "client-replied", "client-failed", "distances", "run-finished"]
)
RECORDS = st.fixed_dictionaries(
    {}, optional={name: JSON | (KINDS if name == "kind" else st.integers(0, 9)) for name in NAMES}
)


@given(st.lists(st.binary(max_size=60) | RECORDS.map(lambda record: json.dumps(record).encode()), max_size=20))
def test_no_line_makes_a_reader_fail(lines):
    run = RunProgress()
    for line in lines:
        entry = logged(line)
        if entry is not None:
            run = after(run, entry)
    json.dumps(run.to_dict(), allow_nan=False)
    assert logged(b"[" * 100_000) is None
    assert logged(b'{"time": 1' + b"0" * 5000 + b', "kind": "x"}') is None
