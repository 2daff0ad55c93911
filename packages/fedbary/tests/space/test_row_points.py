"""Points row by row: those of `embed` for rows that fit, a public place for other cells, nothing from others."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.data.files import read_any_cells
from fedbary.data.reading import Reading
from fedbary.errors import SchemaError
from fedbary.space.columns import CategorySpec
from fedbary.space.encode import FARTHEST, row_points
from fedbary.space.labels import LabelSpec
from fedbary.space.schema import Schema


def people(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, rows),
            "smoker": rng.random(rows) < 0.5,
            "city": rng.choice(["Rome", "Lima", "Oslo"], rows),
            "grade": rng.integers(1, 4, rows).astype(str),
            "label": rng.choice(["ill", "well"], rows),
        }
    )


@pytest.mark.parametrize("metric", ["euclidean", "within"])
@pytest.mark.parametrize("projection", ["none", 3])
@pytest.mark.parametrize("label", ["classes", "number"])
@pytest.mark.parametrize("holes", [(), ("age", "city", "grade")], ids=["complete", "holes"])
def test_rows_that_fit_lie_where_embed_places_them(metric, projection, label, holes):
    rng = np.random.default_rng(2)
    frame = people()
    for name in holes:
        frame[name] = frame[name].astype(object).where(rng.random(len(frame)) > 0.3, None)
    frame = frame.astype({"age": float})
    if label == "number":
        frame["label"] = np.random.default_rng(1).normal(size=len(frame))
    table = fb.Table.from_frame(frame, options=fb.ReadOptions(categories=("grade",)))
    labels = "onehot" if label == "classes" else "numeric"
    schema = fb.fit_schema(table, fb.Space(metric=metric, projection=projection, labels=labels))
    cloud = fb.embed(table, schema)
    np.testing.assert_allclose(row_points(table, schema).T, cloud.points[cloud.point_of_row], atol=1e-9)


def schema_of(frame, **space):
    table = fb.Table.from_frame(frame, options=fb.ReadOptions(categories=tuple({"grade"} & set(frame))))
    return fb.fit_schema(table, fb.Space(labels="onehot", label_weight=2.0, **space))


def texts(*cells):
    return np.array(cells, dtype=object)


def test_cells_that_do_not_fit_have_a_public_place():
    schema = schema_of(people())
    strange = fb.Table(
        {
            "age": texts("31", " 31.0 ", "unknown", None, "-1e300", "inf"),
            "smoker": texts("True", "1", "0", "maybe", None, "False"),
            "city": texts("Rome", "Atlantis", None, " Rome", "rome", "Oslo"),
            "grade": np.array([1.0, 2.0, 9.5, np.nan, 3.0, 1.0]),
        },
        texts("ill", "well", "unheard of", " ill", "ILL", "ill"),
    )
    found = row_points(strange, schema)
    age, *_, smoker = schema.columns
    at = {"age": found[0], "smoker": found[9]}
    standard, middle = ((value - age.mean[0]) / age.scale[0] for value in (31, age.middle[0]))
    np.testing.assert_array_equal(at["age"], [standard, standard, middle, middle, -FARTHEST, FARTHEST])
    yes, no, middle = ((value - smoker.mean[0]) / smoker.scale[0] for value in (1.0, 0.0, smoker.middle[0]))
    np.testing.assert_array_equal(at["smoker"], [yes, yes, no, middle, middle, no])
    known = [0, 1, 3, 4, 5]
    assert found[1:5, known].argmax(axis=0).tolist() == [2, 3, 2, 3, 1]  # Lima, Oslo, Rome, other
    np.testing.assert_array_equal(found[1:5, 2], [1 / 3, 1 / 3, 1 / 3, 0.0])  # none of them
    known = [0, 1, 2, 4, 5]
    assert found[5:9, known].argmax(axis=0).tolist() == [0, 1, 3, 2, 0]  # 1, 2, 3, other
    np.testing.assert_array_equal(found[5:9, 3], [1 / 3, 1 / 3, 1 / 3, 0.0])
    np.testing.assert_array_equal(found[10] > 0, [False, False, True, True, True, False])  # something is missing
    assert found[11:].argmax(axis=0).tolist() == [0, 1, 2, 0, 2, 0]  # ill, well, other


@pytest.mark.parametrize(
    ("labels", "places"),
    [
        (np.array([1, 2, 7]), [0, 1, 2]),
        (np.array([1.0, 2.0, 1.5]), [0, 1, 2]),
        (np.array([True, False, True]), [0, 2, 0]),
        (np.array(["1", "2.0", "x"], dtype=object), [0, 1, 2]),
    ],
    ids=["integers", "floats", "booleans", "text"],
)
def test_a_label_has_one_place_whatever_the_type_of_its_column(labels, places):
    schema = fb.fit_schema(fb.Table({"x": np.arange(4.0)}, [1, 2, 1, 2]), fb.Space(labels="onehot", label_weight=2.0))
    assert row_points(fb.Table({"x": np.arange(3.0)}, labels), schema)[2:].argmax(axis=0).tolist() == places


@pytest.mark.parametrize(
    ("cells", "ordinary", "odd"),
    [
        (["true", "FALSE", "True"], "false", "maybe"),
        (["1", "0", "1"], "1", "99999999999999999999999"),
        (["9223372036854775809", "3", "4"], "5", "-5"),
        (["9223372036854775809", "3", "4"], "5", "5.5"),
    ],
    ids=["booleans", "endless", "unsigned", "unsigned-float"],
)
def test_one_cell_of_a_file_moves_no_other_row(tmp_path, cells, ordinary, odd):
    """A reader decides by all of its cells what a column holds."""
    names = ("1", "0", "9223372036854775808")
    column = CategorySpec("cell", categories=names)
    schema = Schema((column,), LabelSpec("label", "classes", "onehot", names))
    file, found = tmp_path / "mine.csv", []
    for last in (ordinary, odd):
        file.write_text("\n".join(["cell,label", *(f"{cell},{cell}" for cell in [*cells, last])]))
        table = read_any_cells(file, "label", reading=schema.whole_reading)
        found.append(row_points(table, schema)[:, :-1])
    np.testing.assert_array_equal(*found)


def test_a_number_to_predict_that_is_no_number_lies_at_the_mean():
    table = fb.Table({"x": np.arange(50.0)}, np.linspace(0.5, 9.7, 50))
    schema = fb.fit_schema(table, fb.Space(labels="numeric", label_weight=1.0))
    text = fb.Table({"x": np.zeros(3)}, np.array(["5.1", "much", "1e400"], dtype=object))
    expected = (5.1 - schema.label.mean) / schema.label.scale
    np.testing.assert_array_equal(row_points(text, schema)[-1], [expected, 0.0, FARTHEST])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda f: f.drop(columns="age"), "columns-missing"),
        (lambda f: f.assign(age=[[1.0, 2.0]] * 60), "width"),
        (lambda f: f.assign(city=[[1.0, 2.0]] * 60), "block-for-categories"),
    ],
)
def test_only_columns_and_their_widths_are_refused(change, code):
    with pytest.raises(SchemaError, check=coded(f"schema.{code}")):
        row_points(fb.Table.from_frame(change(people())).replace(reading=Reading()), schema_of(people()))


CELLS = st.one_of(
    st.none(),
    st.floats(-1e9, 1e9),
    st.sampled_from(["Rome", "", "nan", "1", "1e999", "٣", "1_0", "\ud800", "x" * 5000]),
)


def csv_column(cells):
    """As a file is read: numbers where all cells are, else text."""
    if any(isinstance(cell, str) for cell in cells):
        return np.array([None if cell is None else str(cell) for cell in cells], dtype=object)
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=float)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12), st.integers(0, 1000))
def test_a_row_lies_where_it_lies_alone(rows, seed):
    """Whatever stands beside it, in whatever order: also where another cell turns its column into text."""
    rng = np.random.default_rng(seed)
    frame = people(40, seed)[["age", "city", "label"]]
    schema = schema_of(frame, metric="within", projection=int(rng.integers(1, 4)))

    def table(chosen):
        age, city, label = (csv_column([row[k] for row in chosen]) for k in range(3))
        return fb.Table({"age": age, "city": city}, [str(cell) for cell in label])

    together = row_points(table(rows), schema)
    assert np.isfinite(together).all()
    order = rng.permutation(len(rows))
    np.testing.assert_array_equal(row_points(table([rows[i] for i in order]), schema), together[:, order])
    for place, row in enumerate(rows):
        np.testing.assert_array_equal(row_points(table([row]), schema)[:, 0], together[:, place])
