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
        assert found[key] == (expected if _is_text(expected) else pytest.approx(expected, rel=1e-9, abs=1e-9)), key


def test_every_run_is_frozen():
    assert list(FROZEN) == list(RUNS)


def _is_text(value):
    return isinstance(value, dict) or any(isinstance(part, str) for part in value)
