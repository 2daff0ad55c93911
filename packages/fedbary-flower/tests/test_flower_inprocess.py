"""Every protocol over a Flower grid in this process gives the numbers of the local engine."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.engines.coordinator import RunConfig
from fedbary.engines.packed import packed_reply, require_answer_to, unpacked_reply
from fedbary.errors import PrivacyError, ProtocolError, SettingsError
from fedbary.guard.node import Envelope
from fedbary.notes import Note
from fedbary.protocols.messages import Reply
from fedbary_flower.client_app import app
from fedbary_flower.codec import pack, unpack
from fedbary_flower.engine import FlowerEngine
from fedbary_flower.server_app import valued
from federations import files, local, many, reference_file, simulation
from inprocess import InProcessGrid


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        (fb.Sketch(), {}),
        (fb.Sketch(policy="coarsen"), {"policy": "coarsen"}),
        (fb.Cards(), {}),
        (fb.Cards(policy="guarded"), {"policy": "guarded"}),
        (fb.Cards(worth=True), {"worth": True}),
        (fb.Interpolation(rounds=3), {"rounds": 3}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_every_protocol_gives_the_numbers_of_the_local_engine(tmp_path, protocol, options):
    nodes, config = simulation(tmp_path, **{"protocol": protocol.name, **options})
    expected = local(config, protocol, reference=protocol.name != "cards" or protocol.worth)
    found = valued(InProcessGrid(app, nodes), RunConfig.of(config))
    assert found.clients["client"].tolist() == expected.clients["client"].tolist()
    for column in ("rows", "distance", "low", "high", "share", "excess", "quality"):
        np.testing.assert_allclose(
            found.clients[column].astype(float), expected.clients[column].astype(float), atol=1e-9, rtol=0
        )
    if expected.scores is not None:
        np.testing.assert_allclose(found.scores.values, expected.scores.values, atol=1e-9)
    with pytest.raises(PrivacyError, check=coded("valuation.rows-at-their-owner")):
        found.rows("client_1")
    (file,) = tmp_path.glob("partition-0/results/*/rows.parquet")
    own = expected.rows("client_1")
    np.testing.assert_allclose(pd.read_parquet(file)["value"], own["value"], atol=1e-9)


def test_value_takes_any_engine(tmp_path):
    nodes, config = simulation(tmp_path, protocol="sketch")
    run = RunConfig.of(config)
    engine = FlowerEngine(InProcessGrid(app, nodes), run.attendance, folder=tmp_path / "out", simulation=run.simulation)
    found = fb.value(None, fb.datasets.load("digits").test, protocol="sketch", engine=engine, seed=config["seed"])
    expected = local(config, fb.Sketch())
    np.testing.assert_allclose(found.clients["distance"], expected.clients["distance"], atol=1e-9, rtol=0)
    with pytest.raises(SettingsError, check=coded("engines.rows-are-at-the-nodes")):
        fb.value({"a": ([[1.0]], [0])}, fb.datasets.load("digits").test, engine=engine)


@pytest.mark.parametrize("count", [10, 100, pytest.param(1000, marks=pytest.mark.federation)])
def test_many_nodes_with_files_of_their_own(tmp_path, count):
    tables, reference = many(count)
    nodes = files(tmp_path, tables)
    config = RunConfig.of({"protocol": "sketch", "reference": reference_file(tmp_path, reference), "lower": "triangle",
                           "num-nodes": count, "output": str(tmp_path / "out"), "timeout": 60.0,
                           "poll": 0.001})  # fmt: skip
    found = valued(InProcessGrid(app, nodes), config)
    # An owner without a policy file answers guardedly, whatever the server asks for.
    expected = fb.value(tables, reference, protocol=fb.Sketch(lower="triangle", policy="coarsen"), seed=0)
    assert found.clients["client"].tolist() == list(tables)
    for column in ("distance", "share", "quality"):
        np.testing.assert_allclose(found.clients[column], expected.clients[column], atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("config", "code", "named"),
    [
        ({"protocol": "magic"}, "settings.no-protocol", {"name": "magic"}),
        ({"protocol": "sketch", "rounds": 3}, "engines.unknown-run-config", {"key": "rounds"}),
        ({"space-colour": "red"}, "engines.unknown-run-config", {"key": "space-colour"}),
    ],
)
def test_a_wrong_run_config_gets_one_sentence(config, code, named):
    with pytest.raises(SettingsError, check=coded(code)) as caught:
        RunConfig.of(config)
    assert caught.value.note.facts.items() >= named.items()


def test_replies_survive_the_records_and_strangers_do_not():
    notes = (Note("schema.ignores-columns", {"count": 2}),)
    arrays = {"m": np.arange(6.0).reshape(2, 3), "i": np.arange(3)}
    reply = Reply(3, {"a": 1, "b": 2.5, "c": "x", "d": True}, arrays, notes)
    envelope = Envelope("f" * 32, "step", 3, 2, name="north")
    again, head = unpacked_reply(unpack(pack(packed_reply(reply, envelope))))
    assert (again.scalars, again.notes) == (reply.scalars, notes)
    assert head.name == "north"
    for name, array in reply.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
        assert again.arrays[name].dtype == array.dtype
    with pytest.raises(ProtocolError, check=coded("engines.node-lost-its-state")):
        require_answer_to(replace(envelope, step=5), head, again)
