"""The numbers of seeded runs do not move unless a commit means to move them."""

import json

import pytest
from frozen_runs import NUMBERS, RUNS

FROZEN = json.loads(NUMBERS.read_text())
QUICK = {"sketch mixed columns", "sketch regression", "interpolation exact", "triangle"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else (pytest.mark.slow,)) for name in RUNS]
)
def test_a_seeded_run_gives_its_frozen_numbers(name):
    found = RUNS[name]()
    assert list(found) == list(FROZEN[name])
    for key, expected in FROZEN[name].items():
        assert _known(found[key]) == (
            pytest.approx(_known(expected), rel=1e-9, abs=1e-9) if _numeric(expected) else expected
        )


def test_every_run_is_frozen():
    assert list(FROZEN) == list(RUNS)


def _known(values):
    """NA as a number that equals itself."""
    return [-1e300 if value is None else value for value in values] if _numeric(values) else values


def _numeric(values):
    return isinstance(values, list) and not any(isinstance(value, str) for value in values)
