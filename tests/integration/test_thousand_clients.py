"""A thousand clients, two hundred of them malicious in ten ways: nobody else's numbers move by a bit."""

from dataclasses import replace

import numpy as np
import pytest

import fedbary as fb
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Reply
from fedbary.valuation.verdict import Advice
from talks import table


def saying(**numbers):
    return lambda reply: replace(reply, scalars={**reply.scalars, **numbers})


WAYS = {
    "fails": lambda reply: Failure(Note("internal.error", {"kind": "MemoryError"})),
    "is silent": lambda reply: None,
    "not a number": saying(cost=float("nan")),
    "absurd count": saying(rows=10**15),
    "made-up fields": lambda reply: replace(
        reply, scalars={**reply.scalars, "\ud800": "\x1b[2J"}, arrays={"x": np.full((3, 3), np.inf)}
    ),
    "another round": lambda reply: replace(reply, round=2**40),
    "error too small": saying(error=0.0),
    "ends contradict": saying(lower=1e20),
    "perfect": saying(cost=0.0, lower=0.0, relaxed=0.0),
    "infinitely far": saying(cost=9e29, lower=8e29, rows=10**9),
}
BELIEVED = {"perfect", "infinitely far"}


class Hostile(fb.LocalEngine):
    """An engine over which every fifth client lies."""

    def exchange(self, tasks, observer):
        answers = super().exchange(tasks, observer)
        for name in list(answers):
            if name in LIARS and isinstance(answers[name], Reply):
                said = WAYS[LIARS[name]](answers.pop(name))
                if said is not None:
                    answers[name] = said
        return answers


LIARS = {f"c{i}": list(WAYS)[i // 5 % 10] for i in range(0, 1000, 5)}


@pytest.fixture(scope="module")
def results():
    tables = {f"c{i}": table(i, 9 + i % 4) for i in range(1000)}
    honest = {name: rows for name, rows in tables.items() if name not in LIARS}
    reference, protocol = table(2000, 80), fb.Sketch(support=8, lower="triangle")
    with_liars = fb.value(tables, reference, protocol=protocol, seed=0, engine=Hostile(workers=2))
    return with_liars, fb.value(honest, reference, protocol=protocol, seed=0, engine=fb.LocalEngine(workers=2))


def test_the_others_numbers_are_bit_equal(results):
    found, expected = (result.clients.set_index("client") for result in results)
    columns = ["rows", "distance", "low", "high", "excess", "quality"]
    np.testing.assert_array_equal(found.loc[expected.index, columns].to_numpy(float), expected[columns].to_numpy(float))
    assert expected["distance"].notna().all()
    assert len(expected) == 800


def test_the_others_row_values_are_bit_equal(results):
    found, expected = results
    for name in expected.clients["client"]:
        assert found.rows(name).equals(expected.rows(name))


def test_liars_are_named_each_with_its_reason(results):
    result = results[0]
    assert set(result.failed) == {name for name, way in LIARS.items() if way not in BELIEVED}
    codes = {way: {result.outcomes[name].notes[-1].code for name in LIARS if LIARS[name] == way} for way in WAYS}
    assert codes == {
        "fails": {"internal.error"},
        "is silent": {"protocols.no-answer"},
        "not a number": {"protocols.number-unfit"},
        "absurd count": {"protocols.number-unfit"},
        "made-up fields": {"protocols.unknown-field"},
        "another round": {"protocols.other-round"},
        "error too small": {"protocols.claim-error"},
        "ends contradict": {"protocols.claim-ends"},
        "perfect": {"protocols.too-good"},
    } | {"infinitely far": codes["infinitely far"]}


def test_liars_that_are_believed_take_little_and_are_looked_at(results):
    result = results[0]
    clients = result.clients.set_index("client")
    assert clients["share"].sum() == pytest.approx(1.0)
    perfect = [name for name, way in LIARS.items() if way == "perfect"]
    honest = clients["share"].drop(list(LIARS))
    assert clients.loc[perfect, "share"].max() <= 20 * honest.min()
    assert honest.sum() > 0.6
    far = [name for name, way in LIARS.items() if way == "infinitely far"]
    assert clients.loc[far, "share"].sum() < 1e-10
    advice = {opinion.client: opinion.advice for opinion in result.verdict()}
    assert {advice[name] for name in perfect} <= {Advice.LOOK, Advice.LEAVE}
