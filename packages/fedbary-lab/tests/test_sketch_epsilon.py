"""The game of the experiment on ε, in small: what is released keeps its ε, and an ε that is not kept is found."""

import random
from dataclasses import replace

import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import SchemaError
from fedbary.privacy.noise import GRID
from fedbary.protocols.messages import Message
from fedbary.protocols.sketch.answer import released_sums, units_per_row
from fedbary.valuation.rows import RowRules
from fedbary_lab.experiments.empirical_epsilon import measured_epsilon, neighbour, rounding_trap


@pytest.fixture
def seeded_noise(monkeypatch):
    """The same noise in every run of a statistical test."""
    monkeypatch.setattr("fedbary.privacy.noise.secrets.randbelow", random.Random(0).randrange)


@pytest.mark.parametrize("classes", range(1, 11))
def test_the_rounding_of_others_tells_nothing(classes, seeded_noise):
    from threadpoolctl import threadpool_limits

    schema, sketch = rounding_trap(classes)
    for rows, threads in ((50, 1), (301, 2)):
        with threadpool_limits(threads):
            one, two = (
                released_sums(neighbour(rows, classes, person=person), schema, sketch) for person in (False, True)
            )
        assert abs(one.nearest - two.nearest) <= GRID
        assert abs(one.transport - two.transport) <= GRID * units_per_row(rows)
        for epsilon in (0.1, 1.0):
            assert measured_epsilon(one, two, sketch, rows=rows, epsilon=epsilon, trials=200) <= epsilon


def test_the_game_finds_an_epsilon_that_is_not_kept(seeded_noise):
    schema, sketch = rounding_trap(3)
    one = released_sums(neighbour(100, 3, person=False), schema, sketch)
    many = replace(one, nearest=one.nearest + 100 * GRID)
    assert measured_epsilon(one, many, sketch, rows=100, epsilon=0.1, trials=200) > 0.5


def test_a_schema_like_the_trap_s_is_refused():
    schema, sketch = rounding_trap(1)
    client = fb.Sketch(epsilon=0.1).client(neighbour(50, 1, person=True), rules=RowRules(), seed=0)
    with pytest.raises(SchemaError, check=coded("schema.beyond-bounds")):
        client.answer(message(schema, sketch))


def message(schema, sketch):
    scalars = {"schema": schema.to_json(), "fingerprint": schema.fingerprint, "cap": sketch.cap}
    return Message(
        "sketch", 0, scalars, {"points": sketch.points, "weights": sketch.weights, "variances": sketch.variances}
    )
