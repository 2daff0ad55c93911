"""The numbers of seeded runs do not move unless a commit means to move them."""

import json

import pytest
from frozen_runs import NUMBERS, RUNS

FROZEN = json.loads(NUMBERS.read_text())
QUICK = ("sketch mixed columns", "triangle")


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_seeded_run_gives_its_frozen_numbers(name):
    check(name)


@pytest.mark.parametrize("name", [name for name in RUNS if name not in QUICK])
def test_a_seeded_run_gives_its_frozen_numbers(name):
    check(name)


def check(name):
    found = RUNS[name]()
    assert list(found) == list(FROZEN[name])
    for key, expected in FROZEN[name].items():
        same = pytest.approx(_known(expected), rel=1e-9, abs=1e-9) if _numeric(expected) else expected
        assert _known(found[key]) == same, key


def test_every_run_is_frozen():
    assert list(FROZEN) == list(RUNS)


def _known(values):
    """NA as a number that equals itself."""
    return [-1e300 if value is None else value for value in values] if _numeric(values) else values


def _numeric(values):
    return isinstance(values, list) and not any(isinstance(value, str) for value in values)
