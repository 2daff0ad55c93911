"""The schema: what is agreed, kept to the bit, and refused."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded, parameter
from fedbary.data.reading import Reading
from fedbary.errors import SchemaError, SettingsError
from fedbary.space.description import Description, describe


def people(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, rows),
            "smoker": rng.random(rows) < 0.5,
            "city": rng.choice(["Rome", "Lima", "Oslo"], rows),
            "label": rng.choice(["ill", "well"], rows),
        }
    )


@pytest.mark.parametrize("labels", ["gaussian", "gaussian-full", "onehot"])
@pytest.mark.parametrize("metric", ["euclidean", "within", "total"])
@pytest.mark.parametrize("projection", ["none", 2])
def test_a_schema_survives_json_to_the_bit(labels, metric, projection):
    table = fb.Table.from_frame(people())
    schema = fb.fit_schema(table, fb.Space(labels=labels, metric=metric, projection=projection))
    again = fb.Schema.from_json(schema.to_json())
    assert again.fingerprint == schema.fingerprint
    assert again.to_json() == schema.to_json()
    cloud = fb.embed(table, schema)
    np.testing.assert_array_equal(fb.embed(table, again).points, cloud.points)
    assert cloud.points.shape[1] == schema.point_width
    assert cloud.feature_width == schema.feature_width


def test_files_keep_the_schema(tmp_path):
    schema = fb.fit_schema(fb.Table.from_frame(people()))
    schema.save(tmp_path / "schema.json")
    assert fb.Schema.load(tmp_path / "schema.json").fingerprint == schema.fingerprint


def test_a_changed_foreign_or_newer_schema_is_refused(tmp_path):
    schema = fb.fit_schema(fb.Table.from_frame(people()))
    content = json.loads(schema.to_json())
    content["columns"][0]["mean"] = [0.0]
    with pytest.raises(SchemaError, check=coded("schema.changed")):
        fb.Schema.from_json(json.dumps(content))
    content["version"] = 99
    with pytest.raises(SchemaError, check=coded("schema.other-version")):
        fb.Schema.from_json(json.dumps(content))
    for text in ("[]", "{}", "not json", '{"version": 5}'):
        with pytest.raises(SchemaError, check=coded("schema.not-a-schema")):
            fb.Schema.from_json(text)
    with pytest.raises(SchemaError, check=coded("schema.no-file")):
        fb.Schema.load(tmp_path / "none.json")
    with pytest.raises(SchemaError, check=coded("schema.other-fingerprint")):
        schema.require("0123456789abcdef")


def test_columns_are_centred_scaled_and_one_hot():
    frame = people()
    table = fb.Table.from_frame(frame)
    schema = fb.fit_schema(table)
    values = fb.embed(table, schema)
    features = values.points[values.point_of_row][:, : schema.feature_width]
    np.testing.assert_allclose(features[:, 0], (frame["age"] - frame["age"].mean()) / frame["age"].std(ddof=0))
    assert schema.columns[1].categories == ("Lima", "Oslo", "Rome")
    np.testing.assert_array_equal(features[:, 1:5].sum(axis=1), 1.0)
    stranger = fb.Table.from_frame(frame.assign(city="Atlantis"))
    np.testing.assert_array_equal(fb.embed(stranger, schema).points[:, 4], 1.0)


def test_a_block_shares_one_scale_and_coordinate_scaling_does_not():
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 10.0, 0.01]
    table = fb.Table.from_arrays(X, np.arange(200) % 2)
    assert len(set(fb.fit_schema(table).columns[0].scale)) == 1
    assert len(set(fb.fit_schema(table, fb.Space(scaling="coordinate")).columns[0].scale)) == 3
    raw = fb.fit_schema(table, fb.Space(scaling="none")).columns[0]
    assert set(raw.mean) == {0.0}
    assert set(raw.scale) == {1.0}


def test_a_constant_column_is_left_out_and_noted_unless_it_is_the_only_one():
    frame = people().assign(height=1.7)
    schema = fb.fit_schema(fb.Table.from_frame(frame))
    assert "height" not in [column.name for column in schema.columns]
    alone = fb.fit_schema(fb.Table.from_frame(frame[["height", "label"]]))
    assert (alone.columns[0].scale, alone.notes) == ((1.0,), ())
    assert ("schema.constant-column", {"column": "height"}) in [(note.code, note.facts) for note in schema.notes]


def test_missing_values_are_refused_with_column_and_count_where_that_is_asked_for():
    frame = people()
    frame.loc[:3, "age"] = np.nan
    frame.loc[0, "city"] = None
    table = fb.Table.from_frame(frame)
    with pytest.raises(fb.FedbaryError, check=coded("data.missing-values")):
        fb.fit_schema(table, fb.Space(missing="refuse"))
    strict = fb.fit_schema(fb.Table.from_frame(people(seed=1)), fb.Space(missing="refuse"))
    assert strict.mark_width == 0
    with pytest.raises(SchemaError, check=coded("schema.missing-values")):
        fb.embed(table, strict)


@pytest.mark.parametrize(
    ("change", "code", "facts"),
    [
        (lambda f: f.drop(columns="age"), "columns-missing", {"missing": ("age",)}),
        (lambda f: f.rename(columns={"age": "Age"}), "columns-missing", {"missing": ("age",), "extra": ("Age",)}),
        (lambda f: f.assign(age="old"), "column-holds-text", {"column": "age", "example": "'old'", "row": "0"}),
        (lambda f: f.assign(label=np.linspace(0, 1, 60)), "label-holds-fractions", {"label": "label"}),
        (lambda f: f.assign(city=[[1.0, 2.0]] * 60), "block-for-categories", {"column": "city", "width": 2}),
    ],
)
def test_tables_that_do_not_fit_are_refused(change, code, facts):
    schema = fb.fit_schema(fb.Table.from_frame(people()))
    with pytest.raises(fb.FedbaryError, check=coded(f"schema.{code}")) as raised:
        fb.embed(fb.Table.from_frame(change(people())).replace(reading=Reading()), schema)
    assert facts.items() <= raised.value.note.facts.items()


def test_unnamed_columns_against_named_ones_tell_the_remedy():
    schema = fb.fit_schema(fb.Table.from_frame(people()))
    with pytest.raises(SchemaError, check=coded("schema.columns-without-names")):
        fb.embed(fb.Table.from_arrays(np.zeros((5, 3)), ["ill"] * 5), schema)


def test_embeddings_of_another_width_are_refused():
    schema = fb.fit_schema(fb.Table.from_arrays(np.eye(4), list("abab")))
    with pytest.raises(SchemaError, check=coded("schema.width")):
        fb.embed(fb.Table.from_arrays(np.eye(5), list("ababa")), schema)


@pytest.mark.parametrize("column", [[f"patient {i}" for i in range(300)], np.full(300, np.nan), [None] * 300])
def test_a_column_of_names_or_without_a_value_is_left_out_of_a_schema(column):
    table = fb.Table({"age": np.arange(300.0), "odd": column}, ["ill", "well"] * 150)
    schema = fb.fit_schema(table)
    assert [one.name for one in schema.columns] == ["age"]
    (note,) = schema.notes
    assert (note.code, note.facts["column"], note.facts["unusable"]) == (
        "schema.column-left-out", "odd", ("the reference",),
    )  # fmt: skip
    assert fb.Schema.from_json(schema.to_json()).notes == (note.redacted(),)
    with pytest.raises(SchemaError, check=coded("schema.no-usable-column")):
        fb.fit_schema(table.replace(columns={"odd": table.columns["odd"]}))


@pytest.mark.parametrize(("rows", "different"), [(400, 400), (2000, 73)])
def test_ambiguous_whole_number_labels_must_be_explained(rows, different):
    table = fb.Table.from_arrays(np.random.default_rng(0).normal(size=(rows, 2)), np.arange(rows) % different)
    with pytest.raises(fb.FedbaryError, check=coded("schema.classes-or-quantity")):
        fb.fit_schema(table)
    assert fb.fit_schema(table, fb.Space(task="regression")).label.kind == "number"


def test_settings_that_make_no_sense_are_refused():
    for wrong in (dict(metric="cosine"), dict(projection=0), dict(shrinkage=2.0), dict(label_weight=-1.0)):
        with pytest.raises(SettingsError, check=parameter(*wrong)):
            fb.Space(**wrong)
    table = fb.Table.from_frame(people())
    with pytest.raises(SettingsError, check=coded("schema.numeric-labels-of-classes")):
        fb.fit_schema(table, fb.Space(labels="numeric"))
    wide = fb.Table.from_arrays(np.random.default_rng(0).normal(size=(50, 100)), np.arange(50) % 2)
    with pytest.raises(SettingsError, check=coded("schema.full-covariance-too-wide")):
        fb.fit_schema(wide, fb.Space(labels="gaussian-full"))


@given(st.integers(1, 6), st.integers(0, 20))
def test_descriptions_never_name_a_group_below_min_group(min_group, seed):
    frame = people(40, seed)
    frame.loc[0, ["city", "label"]] = ["Secret", "rare"]
    description = describe(fb.Table.from_frame(frame), fb.Space(), min_group=min_group)
    for column, named in (("city", description.columns[2].categories), ("label", description.classes)):
        counts = frame[column].value_counts()
        assert set(named) == {name for name, count in counts.items() if count >= min_group}


@pytest.mark.parametrize("rows", [3, 30])
def test_classes_of_one_row_each_do_not_blow_distances_up(rows):
    rng = np.random.default_rng(0)
    table = fb.Table.from_arrays(rng.normal(size=(rows, 4)), [f"c{i}" for i in range(rows)])
    schema = fb.fit_schema(table, fb.Space(metric="within", labels="onehot"))
    assert np.abs(fb.embed(table, schema).points).max() < 100.0


@pytest.mark.parametrize(
    "labels",
    [
        np.repeat(np.arange(30.0), 10),
        np.repeat(np.arange(20.0), 15),
        np.linspace(0, 1, 300),
        np.repeat(np.arange(30), 10),
        np.array(["a", "b"] * 150, dtype=object),
        np.array([True, False] * 150),
    ],
    ids=["many whole floats", "few whole floats", "fractions", "integers", "text", "booleans"],
)
def test_a_table_and_its_schema_agree_on_what_holds_classes(labels):
    table = fb.Table({"x": np.arange(300.0)}, labels)
    assert table.has_classes == (fb.fit_schema(table).label.kind == "classes")


MALFORMED = {
    "deep": lambda text: "[" * 100_000,
    "a list": lambda text: "[1]",
    "rows beyond all": lambda text: text.replace('"rows": 30', '"rows": 1' + "0" * 400),
    "negative rows": lambda text: text.replace('"rows": 30', '"rows": -1'),
    "a name that is a number": lambda text: text.replace('"name": "x"', '"name": 5'),
    "an unknown kind of column": lambda text: text.replace('"kind": "block"', '"kind": "rumour"'),
    "an unknown kind of label": lambda text: text.replace('"label_kind": "classes"', '"label_kind": ["classes"]'),
    "a width that is a text": lambda text: text.replace('"width": 2', '"width": "2"'),
}


@pytest.mark.parametrize("how", MALFORMED)
def test_a_description_that_makes_no_sense_is_refused_and_ends_nobody_else_s_run(how):
    rng = np.random.default_rng(0)
    text = describe(fb.Table.from_arrays(rng.normal(size=(30, 2)), ["a", "b"] * 15), fb.Space()).to_json()
    assert Description.from_json(text).rows == 30
    spoilt = MALFORMED[how](text)
    assert spoilt != text
    with pytest.raises(SchemaError, check=coded("schema.description-unreadable")):
        Description.from_json(spoilt)


def test_a_schema_that_would_fill_the_memory_is_refused_before_anything_is_made(monkeypatch):
    """The row count and the schema decide, so that it tells nothing of the rows."""
    from fedbary.space import encode

    table = fb.Table({"ward": list("ab") * 10}, ["x", "y"] * 10)
    schema = fb.fit_schema(table, fb.Space(labels="onehot"))
    assert fb.embed(table, schema).rows == 20
    monkeypatch.setattr(encode, "_MOST_ADDED", 20 * 6 - 1)  # three coordinates for wards and three for labels
    with pytest.raises(SchemaError, check=coded("schema.too-wide-for-rows")):
        fb.embed(table, schema)
