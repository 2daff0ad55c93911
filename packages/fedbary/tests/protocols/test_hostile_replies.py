"""Whatever a client says, a run ends with a result, and the other clients' numbers are what they would have been."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbary.protocols.messages import Reply
from mutations import damaged_array, damaged_mapping, pick
from talks import TALKS, talk

# Here a client is compared with the reference alone, so that nobody can move another one's numbers.
ALONE = ("sketch", "sketch coarsen", "interpolation")
# Here clients describe themselves first, to agree on a schema.
AGREED = "interpolation without reference"
NUMBERS = ["distance", "low", "high", "excess", "quality"]


def described(change):
    """A change of what a client describes; ``change`` returns a text, or changes the content."""

    def said(message, reply):
        if message.kind != "describe":
            return reply
        content = json.loads(reply.scalars["description"])
        text = change(content)
        return Reply(0, {"description": text if isinstance(text, str) else json.dumps(content)})

    return said


def scaled(name, number):
    """An array of nothing but a huge number."""

    def said(_, reply):
        if name not in reply.arrays:
            return reply
        return Reply(reply.round, reply.scalars, {**reply.arrays, name: np.full_like(reply.arrays[name], number)})

    return said


ENDED_THE_RUN = {
    "deep JSON": (AGREED, described(lambda c: "[" * 200_000)),
    "label mean null": (AGREED, described(lambda c: c.update(label_mean=None))),
    "unknown label kind": (AGREED, described(lambda c: c.update(label_kind="x"))),
    "label kind a list": (AGREED, described(lambda c: c.update(label_kind=[]))),
    "column name a number": (AGREED, described(lambda c: c["columns"][0].update(name=5))),
    "column name a list": (AGREED, described(lambda c: c["columns"][0].update(name=[]))),
    "column named twice": (
        "interpolation without reference",
        described(lambda c: c["columns"].append(c["columns"][0])),
    ),
    "width a text": (AGREED, described(lambda c: c["columns"][0].update(width="1"))),
    "width true": (AGREED, described(lambda c: c["columns"][0].update(width=True))),
    "huge mean": (
        "interpolation without reference",
        described(lambda c: [col.update(mean=[1e300]) for col in c["columns"]]),
    ),
    "negative variance": (
        "interpolation without reference",
        described(lambda c: c["columns"][0].update(variance=[-1.0])),
    ),
    "half a character": (AGREED, described(lambda c: c.update(classes=["\ud800", "c0"]))),
    "control characters": (AGREED, described(lambda c: c.update(label_name="\x1b[2J"))),
    "interpolation 1e308": ("interpolation", scaled("gamma", 1e308)),
    "interpolation 1e100": ("interpolation", scaled("gamma", 1e100)),
    "a share without its interval": (
        "cards",
        lambda m, r: Reply(r.round, {k: v for k, v in r.scalars.items() if k != "wrong_labels_high"}, r.arrays),
    ),
    "a share outside of its interval": (
        "cards",
        lambda m, r: Reply(r.round, {**r.scalars, "odd_features": 1.0} if m.kind == "model" else r.scalars, r.arrays),
    ),
    "notes as a number": ("sketch", lambda m, r: Reply(r.round, {**r.scalars, "notes": "\ud800"}, r.arrays)),
}


@pytest.mark.parametrize("case", ENDED_THE_RUN)
def test_replies_that_ended_the_whole_run_take_out_their_client_at_most(case):
    name, said = ENDED_THE_RUN[case]
    result = talk(name, said)[0].result()
    assert set(result.failed) <= {"c0"}
    assert np.isfinite(result.clients["distance"][1:]).all()


@pytest.mark.parametrize("name", TALKS)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32))
def test_no_reply_ends_a_run(name, seed):
    if name == "cards dp":
        pytest.importorskip("dp_accounting")
    rng = np.random.default_rng(seed)
    spoilt = int(rng.integers(3))

    def said(message, reply):
        if int(rng.integers(3)) != spoilt or not isinstance(reply, Reply):
            return reply
        scalars, arrays = dict(reply.scalars), dict(reply.arrays)
        if scalars and rng.random() < 0.5:
            scalars = damaged_mapping(rng, scalars)
        elif arrays:
            which = pick(rng, arrays)
            arrays[which] = damaged_array(rng, arrays[which])
        return Reply(reply.round, scalars, arrays, reply.notes)

    server, _ = talk(name, said)
    result = server.result()
    assert list(result.clients["client"]) == ["c0", "c1", "c2", "c3"]
    assert result.verdict()
    assert set(result.failed) <= {"c0"}
    assert np.isfinite(result.clients["share"].dropna()).all()


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("seed", range(4))
def test_a_liar_moves_nobody_elses_numbers(name, seed):
    rng = np.random.default_rng(seed)

    def said(_, reply):
        arrays = {key: damaged_array(rng, array) for key, array in reply.arrays.items()}
        return Reply(reply.round, damaged_mapping(rng, reply.scalars), arrays)

    lied, honest = (talk(name, change)[0].result().clients for change in (said, None))
    np.testing.assert_array_equal(lied[NUMBERS][1:].to_numpy(float), honest[NUMBERS][1:].to_numpy(float))
