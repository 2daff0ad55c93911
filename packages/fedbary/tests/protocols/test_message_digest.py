"""Two messages share a digest only if they ask the same: the first-message rule stands on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import coded
from fedbary.errors import PrivacyError
from fedbary.guard.guarded_client import reply_digest
from fedbary.protocols.client import FirstMessage
from fedbary.protocols.messages import Message, Reply

names = st.text(max_size=4)
scalars = st.dictionaries(names, st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0]) | names)
arrays = st.dictionaries(
    names,
    st.tuples(st.sampled_from(["<f8", "<i8", "|u1", "|b1"]), st.sampled_from([(), (0,), (1,), (2, 1), (1, 2)])).map(
        lambda made: np.ones(made[1], dtype=made[0])
    ),
    max_size=3,
)
messages = st.builds(Message, names, st.just(0), scalars, arrays)


def _content(message):
    """All that a digest must tell apart, in plain Python."""
    numbers = {name: (type(value).__name__, repr(value)) for name, value in message.scalars.items()}
    parts = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in message.arrays.items()}
    return message.kind, numbers, parts


@given(messages, messages)
def test_messages_share_a_digest_exactly_if_they_ask_the_same(one, other):
    assert (one.digest == other.digest) == (_content(one) == _content(other))


def test_the_name_of_an_array_cannot_hold_another_array():
    """An attacker hid the second support in a name: 40 questions had one digest, and all were answered."""
    number, size = np.full(1, 2.0), np.full(1, 8, dtype=np.int64)
    hidden = f"b (1,) float64{number.tobytes().decode()}c"
    assert Message("step", 1, {}, {"a": size, hidden: number}).digest != (
        Message("step", 1, {}, {"a": size, "b": number, "c": number}).digest
    )
    assert Message("step", 1, {"a": "x', 'b"}).digest != Message("step", 1, {"a": "x", "b": ""}).digest


def test_a_digest_does_not_depend_on_how_an_array_lies_in_memory():
    rows = np.arange(6.0).reshape(2, 3)
    assert Message("step", 0, {}, {"x": rows}).digest == Message("step", 0, {}, {"x": np.asfortranarray(rows)}).digest


@given(messages, messages)
def test_replies_of_different_content_have_different_digests(one, other):
    first, second = (Reply(0, message.scalars, message.arrays) for message in (one, other))
    assert (reply_digest(first) == reply_digest(second)) == (_content(one)[1:] == _content(other)[1:])


def test_what_was_asked_first_survives_a_kind_with_line_breaks():
    """Kept as lines, a made-up kind could overwrite what was asked before."""
    asked, again = FirstMessage(), FirstMessage()
    asked.check(Message("start", 0, {"schema": "a"}))
    asked.check(Message("x\nstart 0", 0))
    again.from_text(asked.to_text())
    again.check(Message("start", 0, {"schema": "a"}))
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        again.check(Message("start", 0, {"schema": "b"}))
