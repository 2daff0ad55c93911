"""What leaves in a training stands in the owner's ledger before, also that nothing could be trained."""

import json

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, FedbaryError, ProtocolError
from fedbary.guard.ledger import Ledger
from fedbary.guard.node_config import NodeConfig
from fedbary.space.encode import features
from fedbary_flower.local_training import model_shape, trained


@pytest.fixture
def owner(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 10, 40).round(1), "label": ["a"] * 20 + ["b"] * 20})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    return NodeConfig.of({"data-path": str(tmp_path / "mine.csv"), "state-path": str(tmp_path), "train": True}, 1)


def asked(owner, classes=("a", "b")):
    """A schema and a model as a server sends them; it may name any classes."""
    table = fb.read(owner.data, "label")
    schema = fb.fit_schema(fb.Table({"age": table.columns["age"]}, np.where(table.labels == "a", *classes)))
    width = features(table.take([0]), schema).shape[1]
    return np.zeros(model_shape(schema, width)), schema.to_json()


def lines(owner):
    return [json.loads(line)["what"] for line in owner.ledger.path.read_text().splitlines()]


def test_a_training_that_fails_by_the_rows_stands_in_the_ledger(owner):
    """A server that names a class learns whether anybody has it."""
    with pytest.raises(ProtocolError, check=coded("guard.rows-unfit")):
        trained(*asked(owner, ("x", "y")), {}, owner)
    assert lines(owner) == ["failure"]
    trained(*asked(owner), {}, owner)
    assert lines(owner) == ["failure", "reply"]


@pytest.mark.parametrize("classes", [("a", "b"), ("x", "y")])
def test_nothing_of_a_training_leaves_that_the_ledger_cannot_take(owner, monkeypatch, classes):
    def full(*_):
        raise DataError("guard.state-unwritable", path="ledger.jsonl", why="No space left on device")

    monkeypatch.setattr(Ledger, "record", full)
    with pytest.raises(FedbaryError, check=coded("guard.state-unwritable")):
        trained(*asked(owner, classes), {}, owner)
