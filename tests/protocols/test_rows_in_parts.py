"""Rows of a large table come in parts: what is said of them is what one part would say."""

import numpy as np
import pytest

import fedbary as fb
from fedbary.data.table import Table
from fedbary.protocols.sketch.scoring import judged_rows
from fedbary.valuation.rules import RowRules


def people(rows, seed, *, task="classes"):
    """Mixed columns with holes, odd rows, wrong labels and copies."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, rows)
    age = rng.normal(40.0 + 8.0 * kind, 5.0)
    age[rng.random(rows) < 0.1] = np.nan
    scan = rng.normal(size=(rows, 4)) + kind[:, None]
    scan[::37] *= 8.0
    city = np.array(["Rome", "Oslo", None], dtype=object)[rng.integers(0, 3, rows)]
    labels = np.array(["a", "b", "c"], dtype=object)[np.where(rng.random(rows) < 0.08, (kind + 1) % 3, kind)]
    if task == "number":
        labels = 2.0 * scan[:, 0] + rng.normal(size=rows)
    table = Table({"age": age, "scan": scan, "city": city}, labels)
    return table.take(np.append(np.arange(rows), np.arange(rows // 4)))


def question(settings, reference):
    return settings.server(["a"], reference, settings.space(None), rules=RowRules(), seed=0).tasks()["a"]


@pytest.fixture
def in_parts(monkeypatch):
    return lambda rows: monkeypatch.setattr(Table.batches, "__defaults__", (rows,))


def test_the_model_says_the_same_of_rows_in_parts(in_parts):
    reference, table = people(200, 0), people(300, 1)
    message = question(fb.Sketch(support=20), reference)
    schema = fb.Schema.from_json(message.scalars["schema"])
    whole = judged_rows(table, schema, message.arrays).rows
    in_parts(64)
    parts = judged_rows(table, schema, message.arrays).rows
    np.testing.assert_allclose(parts.log_probabilities.array(), whole.log_probabilities.array(), atol=1e-9)
    np.testing.assert_allclose(parts.feature_scores, whole.feature_scores, atol=1e-9)
    np.testing.assert_allclose(parts.whitened.array(), whole.whitened.array(), atol=1e-9)
    assert len(list(parts.whitened.parts())) == 6
    odd = np.flatnonzero(whole.feature_scores > 3.0)
    assert parts.columns(odd) == whole.columns(odd)
