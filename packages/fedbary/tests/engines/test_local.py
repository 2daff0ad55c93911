"""The local engine: failures stay with their client, workers change nothing, runs can be resumed."""

import json

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.data.atomic import read_arrays, write_arrays
from fedbary.engines.local import one_thread
from fedbary.engines.session import CHECKPOINT
from fedbary.errors import ProtocolError, SettingsError


@pytest.fixture(scope="module")
def setting(digits):
    parts = fb.partitions.by_size(digits, [60, 60, 60, 200], seed=0).clients
    return {name: parts[name] for name in ("client_1", "client_2", "client_3")}, parts["client_4"]


def test_workers_do_not_change_a_bit(setting):
    clients, reference = setting
    alone = fb.value(clients, reference, seed=0, protocol="interpolation", engine=fb.LocalEngine(workers=1))
    together = fb.value(clients, reference, seed=0, protocol="interpolation", engine=fb.LocalEngine(workers=2))
    pd.testing.assert_frame_equal(alone.clients, together.clients, check_exact=True)
    pd.testing.assert_frame_equal(alone.rows("client_2"), together.rows("client_2"), check_exact=True)


def test_workers_compute_with_one_thread():
    engine = fb.LocalEngine(workers=2)
    with one_thread():  # as a run does
        assert list(engine.map(_threads, range(4))) == [1, 1, 1, 1]


def _threads(_):
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return max(pool["num_threads"] for pool in threadpool_info())


def test_a_client_that_raises_is_a_failure_and_the_others_finish(setting, monkeypatch):
    from fedbary.protocols.interpolation.client import InterpolationClient

    clients, reference = setting
    healthy = InterpolationClient.answer

    def answer(self, message):
        if self._table is clients["client_2"] and message.round == 3:
            raise ZeroDivisionError("secret /home/alice/rows.csv")
        return healthy(self, message)

    monkeypatch.setattr(InterpolationClient, "answer", answer)
    result = fb.value(clients, reference, seed=0, protocol="interpolation")
    assert result.clients["status"].tolist() == ["ok", "failed", "ok"]
    (note,) = result.outcomes["client_2"].notes
    assert (note.code, note.public["kind"]) == ("internal.error", "ZeroDivisionError")
    assert result.clients["share"].sum() == pytest.approx(1)


def test_events_are_told_and_written(setting, tmp_path):
    clients, reference = setting
    events = []
    fb.value(
        {**clients, "tiny": clients["client_1"].take([0])},
        reference,
        seed=0,
        protocol="interpolation",
        engine=fb.LocalEngine(folder=tmp_path),
        progress=events.append,
    )
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert len(lines) == len(events)
    assert [line["kind"] for line in lines] == [event.kind for event in events]
    assert events[0].kind == "run-started"
    assert events[-1].kind == "run-finished"
    assert {event.client for event in events if event.kind == "client-failed"} == {"tiny"}
    assert all("time" in line for line in lines)
    assert not (tmp_path / CHECKPOINT).exists()


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_killed_run_resumes_to_the_same_result(setting, tmp_path, after):
    clients, reference = setting
    whole = fb.value(clients, reference, seed=0, protocol="interpolation")

    def stop(event):
        if event.kind == "round-finished" and event.exchange == after + 1:
            raise Interrupted

    with pytest.raises(Interrupted):
        fb.value(
            clients, reference, seed=0, protocol="interpolation", engine=fb.LocalEngine(folder=tmp_path), progress=stop
        )
    assert (tmp_path / CHECKPOINT).is_file()
    asked = []
    again = fb.value(
        clients,
        reference,
        seed=0,
        protocol="interpolation",
        engine=fb.LocalEngine(folder=tmp_path, resume=True),
        progress=asked.append,
    )
    pd.testing.assert_frame_equal(again.clients, whole.clients, check_exact=True)
    pd.testing.assert_frame_equal(again.history, whole.history, check_exact=True)
    for name in clients:
        pd.testing.assert_frame_equal(again.rows(name), whole.rows(name), check_exact=True)
    rounds = sum(event.kind == "round-started" and event.asked != "rows" for event in asked)
    assert rounds == 11 - after


def test_a_checkpoint_of_another_run_or_a_broken_one_is_refused(setting, tmp_path):
    clients, reference = setting

    def stop(event):
        if event.kind == "round-finished" and event.exchange == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        fb.value(
            clients, reference, seed=0, protocol="interpolation", engine=fb.LocalEngine(folder=tmp_path), progress=stop
        )
    with pytest.raises(ProtocolError, check=coded("engines.checkpoint-of-another-run")):
        fb.value(
            clients, reference, seed=1, protocol="interpolation", engine=fb.LocalEngine(folder=tmp_path, resume=True)
        )
    for other in ("sketch", "cards"):  # whose clients could not read these states
        with pytest.raises(ProtocolError, check=coded("engines.checkpoint-of-another-run")):
            fb.value(clients, reference, protocol=other, seed=1, engine=fb.LocalEngine(folder=tmp_path, resume=True))
    arrays = read_arrays(tmp_path / CHECKPOINT)
    write_arrays(tmp_path / "less.npz", {name: arrays[name] for name in list(arrays)[1:]})
    for broken in ((tmp_path / "less.npz").read_bytes(), b"not a checkpoint"):
        (tmp_path / CHECKPOINT).write_bytes(broken)
        with pytest.raises(ProtocolError, check=coded("engines.checkpoint-damaged")):
            fb.value(
                clients,
                reference,
                seed=0,
                protocol="interpolation",
                engine=fb.LocalEngine(folder=tmp_path, resume=True),
            )


def test_resume_without_a_checkpoint_just_runs(setting, tmp_path):
    clients, reference = setting
    result = fb.value(
        clients, reference, seed=0, protocol="interpolation", engine=fb.LocalEngine(folder=tmp_path, resume=True)
    )
    assert not result.failed


def test_engine_settings_are_checked():
    with pytest.raises(SettingsError, check=parameter("workers")):
        fb.LocalEngine(workers=0)
    with pytest.raises(SettingsError, check=coded("engines.resume-without-folder")):
        fb.LocalEngine(resume=True)


def test_what_all_clients_were_sent_is_in_the_checkpoint_once(setting):
    """A thousand clients of one model must not make a thousand copies of it."""
    clients, reference = setting
    engine = fb.LocalEngine(workers=1)
    fb.value(clients, reference, protocol="sketch", seed=0, engine=engine)
    kept = [name for name in engine.state() if name.endswith("/array.points")]
    assert kept == ["0/array.points"]
