"""What is sent fits its form on both sides, and nothing else is taken."""

import json

import numpy as np
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import ProtocolError
from fedbary.forms import Number, Numbers, Record, Text
from fedbary.guard.node import Envelope, Question, answer
from fedbary.guard.node_config import NodeConfig
from fedbary.protocols.forms import check_message
from fedbary.protocols.messages import Message, Reply
from fedbary.protocols.registry import PROTOCOLS, exchanges_of
from fedbary.valuation.rows import RowRules
from talks import TALKS, talk


@pytest.mark.parametrize("kind", ["classes", "number"])
@pytest.mark.parametrize("name", TALKS)
def test_honest_messages_and_replies_fit_their_forms(name, kind):
    heard = []
    talk(name, heard=heard, kind=kind, clients=3)
    protocol = TALKS[name][0].name
    for message, reply in heard:
        check_message(exchanges_of(protocol), protocol, message)
        assert isinstance(reply, Reply), reply
        assert exchanges_of(protocol)[message.kind].reply.misfit(reply.scalars, reply.arrays) is None


def test_the_sketch_of_a_wide_table_fits_its_form():
    """Beyond 128 coordinates a class is modelled in 64 directions and what these leave out."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 400)
    pixels = rng.normal(size=(400, 130)) * np.where(codes, 1.0, 3.0)[:, None] + codes[:, None]
    reference = fb.Table({"pixels": pixels}, np.array(["no", "yes"])[codes])
    asked = fb.Sketch()
    message = asked.server(["me"], reference, asked.space(None), rules=RowRules(), seed=0).tasks()["me"]
    assert message.arrays["model.class.directions"].shape == (130, 64)
    check_message(exchanges_of("sketch"), "sketch", message)


def test_every_protocol_has_forms():
    assert all(exchanges_of(name) for name in PROTOCOLS)


FORM = Record(
    {
        "rows": Number(1, 100, whole=True),
        "cost": Number(),
        "name": Text(5, optional=True),
        "points": Numbers(("points", "width")),
        "weights": Numbers(("points",), 0.0, 1.0),
    },
    {"width": 2, "points": range(1, 5)},
)
GOOD = {"rows": 3, "cost": 1.5}, {"points": np.zeros((3, 2)), "weights": np.ones(3)}


@pytest.mark.parametrize(
    ("scalars", "arrays", "code"),
    [
        ({}, {}, None),
        ({"name": "north"}, {}, None),
        ({"cost": np.float64(2)}, {}, None),
        ({"rows": np.int64(2)}, {}, None),
        ({"more": 1}, {}, "unknown-field"),
        ({}, {"more": np.zeros(1)}, "unknown-field"),
        ({"rows": True}, {}, "number-unfit"),
        ({"rows": 3.0}, {}, "number-unfit"),
        ({"rows": 0}, {}, "number-unfit"),
        ({"rows": 10**5000}, {}, "number-unfit"),
        ({"cost": float("nan")}, {}, "number-unfit"),
        ({"cost": float("inf")}, {}, "number-unfit"),
        ({"cost": "1"}, {}, "number-unfit"),
        ({"cost": None}, {}, "number-unfit"),
        ({"name": "longer"}, {}, "text-unfit"),
        ({"name": "\ud800"}, {}, "text-unfit"),
        ({"name": "\x1b[2J"}, {}, "text-unfit"),
        ({"name": "\u202egnp"}, {}, "text-unfit"),
        ({"name": 5}, {}, "text-unfit"),
        ({}, {"points": np.zeros((3, 3))}, "array-shape"),
        ({}, {"points": np.zeros((4, 2))}, "array-shape"),
        ({}, {"points": np.zeros((9, 2)), "weights": np.ones(9)}, "array-shape"),
        ({}, {"points": np.zeros((0, 2)), "weights": np.ones(0)}, "array-shape"),
        ({}, {"points": np.zeros((3, 2), dtype=int)}, "array-shape"),
        ({}, {"points": np.zeros((3, 2), dtype=np.float32)}, "array-shape"),
        ({}, {"points": np.full((3, 2), "x")}, "array-shape"),
        ({}, {"points": np.zeros(())}, "array-shape"),
        ({}, {"points": np.full((3, 2), np.nan)}, "array-not-finite"),
        ({}, {"points": np.full((3, 2), -np.inf)}, "array-not-finite"),
        ({}, {"points": np.full((3, 2), 1e101)}, "array-bounds"),
        ({}, {"weights": -np.ones(3)}, "array-bounds"),
        ({}, {"weights": None}, "lacks-array"),
    ],
)
def test_what_does_not_fit_is_named(scalars, arrays, code):
    arrays = {name: array for name, array in {**GOOD[1], **arrays}.items() if array is not None}
    error = FORM.misfit({**GOOD[0], **scalars}, arrays)
    assert (None if error is None else error.code) == (None if code is None else f"protocols.{code}")
    assert error is None or str(error)


@pytest.mark.parametrize(
    ("value", "got"), [(0, "0"), (np.int64(-5), "-5"), pytest.param(10**5000, "int", id="long"), (True, "bool")]
)
def test_a_number_that_does_not_fit_is_written_if_it_can_be(value, got):
    error = FORM.misfit({**GOOD[0], "rows": value}, GOOD[1])
    assert error is not None
    assert error.private["got"] == got


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (Message("gossip", 0), "protocols.unknown-message"),
        (Message("sketch", 0), "protocols.message-unfit"),
        (Message("sketch", 0, {"schema": "\ud800", "fingerprint": "", "cap": 1.0}), "protocols.message-unfit"),
        (Message("finish", 0, {}, {"more": np.zeros(1)}), "protocols.message-unfit"),
    ],
)
def test_a_node_looks_at_the_form_before_anything_else(message, code, tmp_path):
    """The node has no rows at all, and yet it is the message that is refused."""
    config = NodeConfig.of({"data-path": str(tmp_path / "none.csv"), "state-path": str(tmp_path)}, 1)
    settings = Question(fb.Sketch(), RowRules(), {}).to_json()
    left, _ = answer(message, Envelope("0" * 32, message.kind, 0, 1, settings=settings), config)
    assert left.note.code == code


@pytest.mark.parametrize("text", ["[" * 10_000, "{}", "[]", "1e999", '{"protocol": "sketch"}', '{"protocol": ["x"]}'])
def test_settings_that_make_no_sense_are_refused(text):
    with pytest.raises(ProtocolError, check=coded("guard.settings-unknown")):
        Question.from_json(text)
    options = {"protocol": "sketch", "options": {"unknown": 1}, "rules": {}, "simulation": {}}
    with pytest.raises(ProtocolError, check=coded("guard.settings-unknown")):
        Question.from_json(json.dumps(options))


def test_a_form_with_sizes_is_the_same_for_every_reply():
    """Sizes that one reply had are not expected of the next."""
    form = Record({"points": Numbers(("points",))})
    assert all(form.misfit({}, {"points": np.zeros(size)}) is None for size in (3, 5))
