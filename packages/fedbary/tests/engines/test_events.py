"""Distances so far are those that the result will show, in every protocol; a run that stops says so."""

import json
from itertools import pairwise

import pytest

import fedbary as fb
from fedbary.engines.events import Event

PROTOCOLS = {
    "sketch": fb.Sketch(),
    "interpolation": fb.Interpolation(rounds=2),
    "cards": fb.Cards(),
    "cards without a reference": fb.Cards(),
    "interpolation without a reference": fb.Interpolation(rounds=2),
}


@pytest.fixture(scope="module")
def setting(digits):
    parts = fb.partitions.by_size(digits, [60, 60, 60, 1, 200], seed=0).clients
    *clients, reference = parts.values()
    return dict(zip(["a", "b", "c", "tiny"], clients, strict=True)), reference


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_last_distances_so_far_are_those_of_the_result(setting, name):
    clients, reference = setting
    events: list[Event] = []
    target = None if "without" in name else reference
    result = fb.value(clients, target, protocol=PROTOCOLS[name], seed=0, progress=events.append)
    told = [event.values for event in events if event.kind == "distances"]
    assert told
    assert all(before != now for before, now in pairwise(told))
    shown = result.clients.set_index("client")["distance"].dropna()
    assert told[-1] == pytest.approx(shown.to_dict(), rel=1e-5)
    failed = {event.client: event.code for event in events if event.kind == "client-failed"}
    assert {name: result.outcomes[name].notes[0].code for name in result.failed}.items() <= failed.items()


def test_a_client_whose_answer_the_server_refuses_is_told_as_failed(setting, monkeypatch):
    clients, reference = setting
    from fedbary.protocols.sketch.client import SketchClient

    answer = SketchClient.answer

    def absurd(self, message):
        reply = answer(self, message)
        if reply.scalars["rows"] == 60 and not hasattr(absurd, "who"):
            absurd.who = self
            reply.scalars["cost"] = float("nan")
        return reply

    monkeypatch.setattr(SketchClient, "answer", absurd)
    events: list[Event] = []
    engine = fb.LocalEngine(workers=1)
    result = fb.value(clients, reference, protocol="sketch", seed=0, engine=engine, progress=events.append)
    told = {event.client: event.code for event in events if event.kind == "client-failed"}
    assert "a" in result.failed
    assert told["a"] == "protocols.number-unfit" == result.outcomes["a"].notes[0].code


def test_a_run_that_is_interrupted_says_so_in_its_log(setting, tmp_path):
    clients, reference = setting

    def interrupt(event):
        if event.kind == "client-replied":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fb.value(clients, reference, seed=0, engine=fb.LocalEngine(folder=tmp_path), progress=interrupt)
    last = json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])
    assert (last["kind"], last["detail"]) == ("run-stopped", "interrupted")
