"""Rows of large tables are told apart many at a time, and as in small tables."""

import numpy as np
import pytest

import fedbary as fb
from fedbary.data.table import PART
from fedbary.space.row_identity import different_rows, known_parts, order_digest, row_keys

ROWS = PART + 500


@pytest.fixture(scope="module", params=["numbers", "texts"])
def columns(request):
    """Two columns with a hole and a zero of both signs, and perhaps one of texts."""
    rng = np.random.default_rng(2)
    found = {"b": rng.normal(size=ROWS), "a": rng.integers(3, size=(ROWS, 2))}
    found["b"][:3] = np.nan, 0.0, -0.0
    found["a"][1:3] = 1
    if request.param == "texts":
        found["c"] = np.array(["x", None], dtype=object)[rng.integers(2, size=ROWS)]
        found["c"][1:3] = "x"
    return found


@pytest.fixture(scope="module")
def labels():
    return np.repeat(["p", "q"], [3, ROWS - 3])


def test_rows_are_told_apart_as_by_their_keys(columns, labels):
    table = fb.Table(columns, labels, ids=np.arange(ROWS))
    assert sum(len(part) for part in known_parts(table)) == ROWS
    assert len(different_rows(table)) == len(np.unique(row_keys(table))) < ROWS
    assert len(different_rows(fb.Table(columns, np.roll(labels, -1)))) == len(different_rows(table)) + 1


def test_a_table_is_known_again_whatever_the_order_of_its_columns(columns, labels):
    known = order_digest(fb.Table(columns, labels))
    assert order_digest(fb.Table(dict(reversed(columns.items())), labels)) == known
    assert order_digest(fb.Table(columns, np.roll(labels, 1))) != known
    assert order_digest(fb.Table(columns, np.where(labels == "p", "r", labels))) != known
    moved = {name: np.roll(values, 1, axis=0) for name, values in columns.items()}
    assert order_digest(fb.Table(moved, labels)) != known
