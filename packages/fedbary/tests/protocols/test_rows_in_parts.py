"""Rows of a large table come in parts: what is said of them is what one part would say."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.data.table import Table
from fedbary.errors import SchemaError
from fedbary.judging import judge as judging
from fedbary.judging.model import JudgingModel
from fedbary.protocols.client import judge_of
from fedbary.space.points import CloudFold, StoredPoints
from fedbary.space.walk import walk
from fedbary.valuation.rows import RowRules


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


def judged(table, schema, message):
    model = JudgingModel.from_arrays(message.arrays, width=schema.encoded_width)
    return judge_of(table, schema, model, projected=False)


@pytest.fixture
def in_parts(monkeypatch):
    return lambda rows: monkeypatch.setattr(Table.batches, "__defaults__", (rows,))


def test_the_model_says_the_same_of_rows_in_parts(in_parts):
    reference, table = people(200, 0), people(300, 1)
    message = question(fb.Sketch(support=20), reference)
    schema = fb.Schema.from_json(message.scalars["schema"])
    whole = judged(table, schema, message)
    in_parts(64)
    parts = judged(table, schema, message)
    weights = whole.own_weights()
    np.testing.assert_allclose(parts._seen[0].array(), whole._seen[0].array(), atol=1e-9)
    np.testing.assert_allclose(parts.judged(weights).features, whole.judged(weights).features, atol=1e-9)
    assert len(list(parts._seen[0].parts())) == 6
    odd = np.flatnonzero(whole.judged(weights).features > 3.0)
    names, edges = ["age", "scan", "city"], np.array([0, 1, 5])
    assert parts.odd_columns(odd, names, edges) == whole.odd_columns(odd, names, edges)


@pytest.mark.parametrize("task", ["classes", "number"])
@pytest.mark.parametrize("policy", ["trusted", "coarsen"])
def test_a_client_answers_and_values_its_rows_the_same_in_parts(in_parts, task, policy):
    settings = fb.Sketch(support=20, policy=policy, lower="triangle")
    message = question(settings, people(200, 0, task=task))
    table = people(300, 1, task=task)
    found = []
    for rows in (1000, 64):
        in_parts(rows)
        client = settings.client(table, rules=RowRules(), seed=0)
        found.append((client.answer(message), client.row_values()))
    (one, whole), (other, parts) = found
    assert other.scalars == pytest.approx(one.scalars, rel=1e-7)
    assert other.notes == one.notes
    # A plan with ties has several potentials, and points in parts stand in another order.
    one, other = (scored.frame.drop(columns="calibrated_gradient") for scored in (whole, parts))
    pd.testing.assert_frame_equal(one, other, rtol=1e-6)


@pytest.mark.parametrize("labels", ["onehot", "gaussian", "gaussian-full"])
def test_points_in_parts_are_the_points(in_parts, labels):
    table = people(300, 1)
    schema = fb.fit_schema(people(200, 0), fb.Space(labels=labels))
    whole = fb.embed(table, schema)
    in_parts(64)
    fold = CloudFold(schema)
    walk(table, schema, fold)
    stored = fold.done()
    assert isinstance(stored, StoredPoints)
    assert (stored.rows, stored.distinct) == (whole.rows, whole.distinct) == (375, 300)
    points = np.concatenate(list(stored.chunks()))
    np.testing.assert_allclose(points[stored.point_of_row], whole.points[whole.point_of_row], atol=1e-7)  # roots
    np.testing.assert_allclose(stored.weights[stored.point_of_row], whole.weights[whole.point_of_row])


def test_what_a_part_refuses_is_said_of_all_rows(in_parts):
    whole = Table({"age": np.arange(100.0)}, ["a", "b"] * 50)
    schema = fb.fit_schema(whole, fb.Space(missing="refuse"))
    lacking = whole.replace(columns={"age": np.where(np.arange(100) % 10 == 9, np.nan, np.arange(100.0))})
    in_parts(30)
    with pytest.raises(SchemaError, check=coded("schema.missing-values")) as caught:
        walk(lacking, schema)
    facts = {**caught.value.private, **caught.value.public}
    assert (facts["count"], facts["rows"]) == (10, 100)


def test_single_precision_moves_scores_by_next_to_nothing(monkeypatch):
    message, table = question(fb.Sketch(support=20), people(200, 0)), people(300, 1)
    schema = fb.Schema.from_json(message.scalars["schema"])
    double = judged(table, schema, message)
    monkeypatch.setattr(judging, "_MANY_ROWS", 0)
    single = judged(table, schema, message)
    weights = double.own_weights()
    here, there = double.judged(weights), single.judged(weights)
    assert single._seen[0].array().dtype == np.float32
    np.testing.assert_allclose(there.labels.right, here.labels.right, atol=1e-3)
    np.testing.assert_allclose(there.features, here.features, atol=1e-2)


@pytest.mark.parametrize("size", [1e6, 1e60])
def test_one_broken_cell_makes_its_own_row_odd_and_no_other(size):
    message, table = question(fb.Sketch(support=20), people(200, 0)), people(300, 1)
    schema = fb.Schema.from_json(message.scalars["schema"])
    broken = np.where(np.arange(375) == 7, size, table.columns["age"])
    whole = judged(table, schema, message)
    found = judged(table.replace(columns={**table.columns, "age": broken}), schema, message)
    weights, usual = whole.own_weights(), np.arange(375) != 7
    assert np.argmax(found.judged(weights).features) == 7
    right, there = (judge.judged(weights).labels.right[usual] for judge in (whole, found))
    assert np.median(np.abs(right - there)) < 0.05
