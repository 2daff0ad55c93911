"""Nodes that misbehave are named with a reason, and all others are valued."""

from collections import Counter

import numpy as np
import pytest

import fedbary as fb
from clock import Clock
from codes import coded
from fedbary.engines.coordinator import RunConfig
from fedbary.errors import ProtocolError
from fedbary.notes import Note
from fedbary_flower.client_app import app
from fedbary_flower.server_app import valued
from federations import QUICK, files, local, many, reference_file, simulation
from inprocess import InProcessGrid, raised, silent


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Nobody waits for those who are silent."""
    monkeypatch.setattr("fedbary_flower.engine.time", Clock())


def garbage(change):
    def fault(message, honest):
        reply = honest()
        scalars = dict(reply.content["scalars"])
        change(reply, scalars)
        for key, value in scalars.items():
            reply.content["scalars"][key] = value
        return reply

    return fault


def replayed():
    first = []

    def fault(message, honest):
        reply = honest()
        first.append(reply.content)
        reply.content = first[0]
        return reply

    return fault


def test_bad_nodes_are_named_with_a_reason_and_all_others_are_valued(tmp_path):
    """10 % raise, 5 % are silent, 5 % send garbage."""
    tables, reference = many(100)
    nodes = files(tmp_path, tables)
    names = list(nodes)
    faults = dict.fromkeys(names[:10], raised) | dict.fromkeys(names[10:15], silent)
    faults |= {
        names[15]: garbage(lambda reply, scalars: scalars.update(cost=float("nan"))),
        names[16]: garbage(lambda reply, scalars: scalars.update(rows=-1)),
        names[17]: garbage(lambda reply, scalars: scalars.update(cost=1e300)),
        names[18]: garbage(lambda reply, scalars: reply.content.pop("arrays")),
        names[19]: garbage(lambda reply, scalars: reply.content["fedbary"].update(session="0" * 32)),
    }
    config = RunConfig.of({"protocol": "sketch", "reference": reference_file(tmp_path, reference), "num-nodes": 100,
                           "lower": "triangle", "output": str(tmp_path / "out"), **QUICK})  # fmt: skip
    found = valued(InProcessGrid(app, nodes, faults), config)
    assert len(found.failed) == 20
    healthy = found.clients[~found.clients["client"].isin(list(found.failed))]
    assert len(healthy) == 80
    guarded = fb.Sketch(lower="triangle", policy="coarsen")
    expected = fb.value(tables, reference, protocol=guarded, seed=0).clients.set_index("client")
    np.testing.assert_allclose(healthy["distance"], expected.loc[healthy["client"], "distance"], atol=1e-9)
    codes = Counter(outcome.notes[0].code for outcome in found.outcomes.values() if not outcome.ok)
    assert codes == {
        "engines.app-failed": 10,
        "engines.no-answer": 5,
        "protocols.number-unfit": 3,
        "engines.incomplete": 1,
        "engines.reply-of-another-run": 1,
    }
    assert Counter(outcome.status for outcome in found.outcomes.values()) == {"ok": 80, "failed": 15, "silent": 5}
    assert "secret.parquet" not in " | ".join(found.failed.values())


def test_a_replayed_round_and_a_lost_state_are_noticed(tmp_path):
    nodes, config = simulation(tmp_path, protocol="interpolation", rounds=3)

    def forgetful(message, honest):
        for file in tmp_path.glob("partition-1/runs/*/state.npz"):
            file.unlink()
        return honest()

    found = valued(InProcessGrid(app, nodes, {100: replayed(), 101: forgetful}), RunConfig.of(config))
    assert found.outcomes["client_1"].has("engines.reply-not-asked")
    assert found.outcomes["client_2"].notes == (Note("guard.out-of-step", {"asked": 2, "here": 1}),)
    assert len(found.failed) == 2


def test_a_node_whose_answer_was_lost_is_asked_again_and_says_the_same(tmp_path):
    nodes, config = simulation(tmp_path, protocol="interpolation", rounds=3, **QUICK)
    lost = []

    def unlucky(message, honest):
        reply = honest()
        if len(lost) < 3 and message.metadata.message_type not in lost:
            lost.append(len(lost))
            return None
        return reply

    found = valued(InProcessGrid(app, nodes, {102: unlucky}), RunConfig.of({**config, "timeout": 1.0, "retries": 3}))
    assert not found.failed
    expected = local(config, fb.Interpolation(rounds=3))
    np.testing.assert_allclose(found.clients["distance"], expected.clients["distance"], atol=1e-9)


def test_too_few_nodes_are_said_and_enough_go_on_with_a_note(tmp_path):
    nodes, config = simulation(tmp_path, clients=3)
    grid = InProcessGrid(app, {node: nodes[node] for node in list(nodes)[:2]})
    late = {**config, "join-deadline": 0.01}
    with pytest.raises(ProtocolError, check=coded("engines.too-few-nodes")):
        valued(grid, RunConfig.of(late))
    found = valued(grid, RunConfig.of({**late, "min-nodes": 2}))
    assert Note("engines.absent-nodes", {"count": 1}) in found.notes
    assert len(found.clients) == 2


def test_a_node_without_data_or_with_a_strange_server_answers_with_a_sentence(tmp_path):
    nodes, config = simulation(tmp_path, clients=2)
    nodes[100] = {"state-path": str(tmp_path)}
    found = valued(InProcessGrid(app, nodes), RunConfig.of(config))
    assert found.outcomes["node-100"].has("guard.no-data")
