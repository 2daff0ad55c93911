"""What a schema may contain: everything that fitting makes, and nothing that no table leads to."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.errors import SchemaError

X = np.random.default_rng(0).normal(size=(60, 4)) * [1.0, 10.0, 0.1, 1.0]


def table(**columns):
    return fb.Table({"x": X, "city": np.array(["Rome", "Lima"] * 30, dtype=object), **columns}, ["a", "b", "c"] * 20)


@pytest.mark.parametrize("name", ["digits", "breast-cancer", "diabetes"])
@pytest.mark.parametrize("scaling", ["standard", "coordinate", "none"])
@pytest.mark.parametrize("space", [{}, {"metric": "within"}, {"metric": "total", "shrinkage": 0.0}, {"projection": 5}])
def test_schemas_of_real_tables_are_read(name, scaling, space):
    rows = fb.datasets.load(name).train
    labels = "numeric" if name == "diabetes" else "onehot"
    schema = fb.fit_schema(rows, fb.Space(scaling=scaling, labels=labels, **space))
    assert fb.Schema.from_json(schema.to_json()).fingerprint == schema.fingerprint


@given(
    st.floats(-12, 12),
    st.sampled_from(["standard", "coordinate", "none"]),
    st.sampled_from(["within", "total", "euclidean"]),
    st.sampled_from([0.0, 0.2, 1.0]),
    st.booleans(),
)
def test_schemas_of_odd_units_and_of_columns_that_repeat_or_never_vary_are_read(power, scaling, metric, shrinkage, odd):
    columns = {"same": np.full(60, 7.0), "twice": X[:, 0]} if odd else {}
    rows = table(**columns).replace(columns={**table(**columns).columns, "x": X * 10.0**power})
    schema = fb.fit_schema(rows, fb.Space(scaling=scaling, metric=metric, shrinkage=shrinkage, labels="onehot"))
    assert fb.Schema.from_json(schema.to_json()).fingerprint == schema.fingerprint


def fitted(**space):
    return fb.fit_schema(table(), fb.Space(metric="within", labels="onehot", **space))


def with_column(schema, **changes):
    city, x = schema.columns
    return replace(schema, columns=(city, replace(x, **changes)))


def with_label(schema, **changes):
    return replace(schema, label=replace(schema.label, **changes))


def skewed(size):
    """A metric that turns: no root of a covariance."""
    matrix = np.eye(size)
    matrix[0, 1] = 1.0
    return matrix


BEYOND = {
    "a scale of nothing": lambda s: with_column(s, scale=(1e-101,) * 4),
    "a scale beyond all": lambda s: with_column(s, scale=(1e101,) * 4),
    "a scale below zero": lambda s: with_column(s, scale=(-1.0,) * 4),
    "a mean beyond all": lambda s: with_column(s, mean=(1e101, 0.0, 0.0, 0.0)),
    "a middle beyond all": lambda s: with_column(s, middle=(1e101, 0.0, 0.0, 0.0)),
    "limits beyond all": lambda s: with_column(s, high=(1e101,) * 4),
    "limits the wrong way round": lambda s: with_column(s, low=s.columns[1].high, high=s.columns[1].low),
    "an absence beyond all": lambda s: with_column(s, absence=1e101),
    "an absence below zero": lambda s: with_column(s, absence=-1.0),
    "a heavy label": lambda s: with_label(s, weight=1e101),
    "a label that weighs less than nothing": lambda s: with_label(s, weight=-1.0),
    "a label's scale of nothing": lambda s: with_label(s, scale=0.0),
    "a loud metric": lambda s: replace(s, whitening=1e51 * np.eye(7)),
    "a metric of nothing": lambda s: replace(s, whitening=np.zeros((7, 7))),
    "a metric that hears one direction": lambda s: replace(s, whitening=np.diag([1.0, *[1e-13] * 6])),
    "a singular metric": lambda s: replace(s, whitening=np.ones((7, 7))),
    "a metric that turns": lambda s: replace(s, whitening=skewed(7)),
    "a metric of another width": lambda s: replace(s, whitening=np.eye(6)),
    "directions that amplify": lambda s: replace(s, projection=1e3 * np.eye(6, 7)),
    "directions twice": lambda s: replace(s, projection=np.ones((6, 7)) / np.sqrt(7)),
    "directions of another width": lambda s: replace(s, projection=np.eye(6)),
}
IMPOSSIBLE = {
    "no columns": lambda s: replace(s, columns=()),
    "a column twice": lambda s: replace(s, columns=(*s.columns, s.columns[0])),
    "a kind that does not exist": lambda s: with_column(s, kind="rumour"),
    "numbers and categories": lambda s: with_column(s, categories=("a",)),
    "another width than numbers": lambda s: with_column(s, width=5),
    "a middle of another width": lambda s: with_column(s, middle=(0.0,)),
    "limits of another width": lambda s: with_column(s, low=(0.0,), high=(1.0,)),
    "one limit": lambda s: with_column(s, low=()),
    "perhaps missing cells": lambda s: with_column(s, may_lack=None),
    "a shared mark of another kind": lambda s: replace(s, shared_mark=2),
    "a name that is no text": lambda s: with_column(s, name=5),
    "a class twice": lambda s: with_label(s, classes=("a", "a")),
    "a class of free text": lambda s: with_label(s, classes=("a" * 201,)),
    "coordinates of another kind": lambda s: with_label(s, coordinates="numeric"),
    "classes of a number": lambda s: with_label(s, kind="number", coordinates="numeric"),
    "another way with gaps": lambda s: replace(s, missing="guess"),
}


@pytest.mark.parametrize("how", BEYOND)
def test_numbers_beyond_what_tables_lead_to_are_refused(how):
    with pytest.raises(SchemaError, check=coded("schema.beyond-bounds")):
        fb.Schema.from_json(BEYOND[how](fitted()).to_json())


@pytest.mark.parametrize("how", IMPOSSIBLE)
def test_what_fitting_never_makes_is_refused(how):
    with pytest.raises(SchemaError, check=coded("schema.impossible")):
        fb.Schema.from_json(IMPOSSIBLE[how](fitted()).to_json())


@pytest.mark.parametrize("number", [10**400, float("nan"), float("inf"), True, "1", None, [1.0]])
def test_a_weight_that_is_no_number_is_refused(number):
    content = json.loads(fitted().to_json())
    content["label"]["weight"] = number
    # JSON that is not finite or has too many digits is refused as JSON.
    with pytest.raises(SchemaError, check=coded("schema.beyond-bounds", "schema.not-a-schema")):
        fb.Schema.from_json(json.dumps(content))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "[" * 100_000,
        lambda text: text.replace('"weight":', '"weight":"much","was":'),
        lambda text: text.replace('"width":4', '"width":"4"'),
        lambda text: text.replace('"classes":["a"', '"classes":[["a"]'),
        lambda text: text.replace('"weight":', '"weight":1' + "0" * 400 + ',"was":'),
    ],
)
def test_other_types_are_refused_and_raise_nothing_else(spoil):
    text = fitted().to_json()
    assert spoil(text) != text
    with pytest.raises(SchemaError, check=coded("schema.not-a-schema", "schema.impossible", "schema.beyond-bounds")):
        fb.Schema.from_json(spoil(text))
