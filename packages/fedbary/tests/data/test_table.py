"""A table accepts what people have and refuses, with a remedy, what cannot be valued."""

import time

import numpy as np
import pandas as pd
import pytest

from codes import coded
from fedbary.columns.arrays import kind_of
from fedbary.data.objects import as_table
from fedbary.data.table import Table, concat
from fedbary.errors import DataError


def small(**changes):
    return Table({"age": [31.0, 45.0, np.nan], "job": ["nurse", None, "cook"]}, [0, 1, 0]).replace(**changes)


@pytest.mark.parametrize(
    ("series", "kind", "expected"),
    [
        (pd.Series([1, 2]), "number", [1.0, 2.0]),
        (pd.Series([1, None], dtype="Int64"), "number", [1.0, np.nan]),
        (pd.Series([0.5, None], dtype="Float64"), "number", [0.5, np.nan]),
        (pd.Series([1, 2.5], dtype=object), "number", [1.0, 2.5]),
        (pd.Series([True, False]), "bool", [True, False]),
        (pd.Series([True, False], dtype="boolean"), "bool", [True, False]),
        (pd.Series([True, None], dtype="boolean"), "number", [1.0, np.nan]),
        (pd.Series([True, None], dtype=object), "number", [1.0, np.nan]),
        (pd.Series(["a", None]), "text", ["a", None]),
        (pd.Series(["a", None], dtype="string[pyarrow]"), "text", ["a", None]),
        (pd.Series(["a", np.nan], dtype=object), "text", ["a", None]),
        (pd.Series(["a", None], dtype="category"), "text", ["a", None]),
        (pd.Series([3, 4], dtype="category"), "text", ["3", "4"]),
        (pd.Series([None, None], dtype=object), "text", [None, None]),
        (pd.Series([[1, 2], (3, 4)]), "block", [[1.0, 2.0], [3.0, 4.0]]),
        (pd.Series([np.array([1.0, 2.0]), None]), "block", [[1.0, 2.0], [np.nan, np.nan]]),
        (pd.Series(["01", "02"]), "text", ["01", "02"]),
    ],
)
def test_every_pandas_dtype_becomes_one_of_four_kinds(series, kind, expected):
    column = Table.from_frame(pd.DataFrame({"c": series, "label": [0, 1]})).columns["c"]
    assert kind_of(column) == kind
    np.testing.assert_array_equal(column, np.array(expected, dtype=column.dtype))


def test_float32_vectors_stay_float32():
    frame = pd.DataFrame({"e": [np.zeros(4, np.float32)] * 3, "label": [0, 1, 1]})
    assert Table.from_frame(frame).columns["e"].dtype == np.float32


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 1], np.array([3, 1])),
        (pd.array([3, 1], dtype="Int64"), np.array([3, 1])),
        (pd.Categorical([3, 1]), np.array([3, 1])),
        (pd.Categorical(["b", "a"]), np.array(["b", "a"], dtype=object)),
        ([0.5, 1.5], np.array([0.5, 1.5])),
        ([True, False], np.array([True, False])),
        (np.array(["b", "a"]), np.array(["b", "a"], dtype=object)),
        (np.array([[3], [1]]), np.array([3, 1])),
        (np.array([3, 1], dtype=object), np.array([3, 1])),
    ],
)
def test_labels_keep_their_kind(labels, expected):
    from_arrays = Table.from_arrays([[1.0], [2.0]], labels).labels
    assert from_arrays.dtype == expected.dtype
    assert from_arrays.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("columns", "code", "facts"),
    [
        ({"age": [1] * 12 + ["x"] * 8, "label": 0}, "mixed-column", {"column": "age", "example": "'x'", "row": 12}),
        ({"age": [1, 2, 3], "label": [None, " ", None]}, "labels-missing", {"name": "label", "missing": 3, "rows": 3}),
        ({"age": [1, np.inf, -np.inf]}, "cell-does-not-fit", {"column": "age", "count": 2}),
        ({"age": [1, 2, 3], "label": [0, np.inf, 1]}, "no-finite-number", {"column": "label", "count": 1}),
        ({"e": [[1.0], [np.inf], [2.0]]}, "no-finite-number", {"column": "e", "count": 1}),
        ({"e": [[1, 2], [3], [4, 5]]}, "vectors-differ", {"column": "e", "width": 2, "row": 1, "found": "1 numbers"}),
        ({"e": [[1, 2], 7, [4, 5]]}, "vectors-differ", {"column": "e", "width": 2, "row": 1, "found": "7"}),
        ({"e": [["a"], ["b"], ["c"]]}, "vectors-not-numbers", {"column": "e"}),
        ({"e": [[], [], []]}, "vectors-shape", {"column": "e", "shape": "(0,)"}),
        ({"z": [1j, 2j, 3j]}, "foreign-values", {"column": "z", "kind": "complex"}),
        ({"d": [{}, {}, {}]}, "foreign-values", {"column": "d", "kind": "mixed", "example": "{}"}),
        ({}, "no-features", {}),
        ({"age": [], "label": []}, "header-only", {"columns": 2}),
    ],
)
def test_what_a_frame_may_not_hold(columns, code, facts):
    with pytest.raises(DataError, check=coded(f"data.{code}")) as caught:
        Table.from_frame(pd.DataFrame({"label": [0, 1, 0]} | columns), origin="bank.csv")
    assert (facts | {"where": "bank.csv"}).items() <= caught.value.note.facts.items()
    assert str(caught.value).count("bank.csv") == 1


def test_a_label_column_that_is_not_there_is_guessed():
    with pytest.raises(DataError, check=coded("data.no-such-column")) as caught:
        Table.from_frame(pd.DataFrame({"age": [1], "lable": [0]}), origin="bank.csv")
    assert caught.value.private["names"] == ("age", "lable")
    assert "'lable'" in caught.value.private["guess"]


def test_names_and_ids_must_be_unique():
    twice = pd.DataFrame([[1, 2, 0]], columns=["a", "a", "label"])
    with pytest.raises(DataError, check=coded("data.column-twice")):
        Table.from_frame(twice)
    frame = pd.DataFrame({"id": ["p", "q", "p", "p"], "a": range(4), "label": 0})
    with pytest.raises(DataError, check=coded("data.ids-repeat")):
        Table.from_frame(frame, id="id")
    with pytest.raises(DataError, check=coded("data.no-such-column")):
        Table.from_frame(frame, id="patient")
    with pytest.raises(DataError, check=coded("data.label-is-id")):
        Table.from_frame(frame, id="label")
    with pytest.raises(DataError, check=coded("data.ids-missing")):
        Table.from_frame(frame.assign(id=["p", None, "q", "r"]), id="id")


def test_an_index_can_be_the_id():
    frame = pd.DataFrame({"a": [1, 2], "label": [0, 1]}, index=pd.Index(["p", "q"], name="patient"))
    assert Table.from_frame(frame, id="patient").row_names.tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("X", "y", "code", "facts"),
    [
        (np.zeros(3), [0, 1, 0], "array-shape", {"shape": "(3,)"}),
        (np.array([["a"], [1]], dtype=object), [0, 1], "array-kind", {"kind": "object"}),
        ([[1, 2], [3]], [0, 1], "ragged", {}),
        (np.zeros((3, 2)), [0, 1], "array-lengths-differ", {"rows": 3, "labels": 2}),
        (np.zeros((3, 2)), np.eye(3), "labels-shape", {"shape": "(3, 3)"}),
        (np.zeros((0, 2)), [], "array-without-rows", {}),
        (np.zeros((2, 0)), [0, 1], "array-without-features", {"shape": "(2, 0)"}),
        (np.zeros((2, 1)), ["a", 1], "mixed-column", {"column": "label"}),
        (pd.DataFrame({"label": [1, 2]}), [0, 1], "two-roles", {"column": "label"}),
    ],
)
def test_what_arrays_may_not_be(X, y, code, facts):
    with pytest.raises(DataError, check=coded(f"data.{code}")) as caught:
        Table.from_arrays(X, y)
    assert facts.items() <= caught.value.note.facts.items()
    with pytest.raises(DataError, check=coded(f"data.{code}")) as caught:
        as_table((X, y), name="clinic")
    assert caught.value.private["where"] == "client 'clinic'"


def test_column_names_must_fit_the_array():
    with pytest.raises(DataError, check=coded("data.array-names")):
        Table.from_arrays(np.zeros((2, 2)), [0, 1], columns=["a", "a"])
    table = Table.from_arrays([[1, 2], [3, 4]], [0, 1], columns=["a", "b"], ids=["p", "q"])
    assert table.columns["b"].tolist() == [2.0, 4.0]
    assert table.row_names.tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("uint8", "float32"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
        ("int64", "float64"),
    ],
)
def test_images_become_one_float_block(dtype, kept):
    block = Table.from_arrays(np.ones((2, 4, 4, 3), dtype=dtype), [0, 1]).columns["x"]
    assert block.shape == (2, 48)
    assert block.dtype == kept


def test_as_table_accepts_what_people_have():
    frame = pd.DataFrame({"a": [1, 2], "bought": ["yes", "no"], "label": [0, 1]})
    assert as_table(frame, label="bought").label_name == "bought"
    assert as_table(frame, likely="bought").label_name == "bought"
    assert as_table(frame, likely="no such").label_name == "label"
    pair = as_table((frame[["a"]], frame["bought"]), name="north")
    assert (pair.label_name, pair.origin, pair.column_names) == ("bought", "north", ("a",))
    assert as_table(pair, name="south").origin == "south"
    with pytest.raises(DataError, check=coded("data.frame-without-label")):
        as_table(frame[["a"]], name="north")
    with pytest.raises(DataError, check=coded("data.no-such-column")):
        as_table(frame, label="no such")
    with pytest.raises(DataError, check=coded("data.not-a-table")):
        as_table(np.zeros((3, 3)))
    with pytest.raises(DataError, check=coded("data.no-rows")):
        as_table(pair.take([]), name="north")


def test_the_constructor_checks_lengths_and_kinds():
    with pytest.raises(DataError, check=coded("data.lengths-differ")):
        Table({"a": [1, 2]}, [0, 1, 2])
    with pytest.raises(DataError, check=coded("data.object-array")):
        Table({"a": np.array([1, "b"], dtype=object)}, [0, 1])
    with pytest.raises(DataError, check=coded("data.column-shape")):
        Table({"a": np.zeros((2, 2, 2))}, [0, 1])
    with pytest.raises(DataError, check=coded("data.lengths-differ")):
        Table({"a": [1, 2]}, [0, 1], ids=[7])


def test_take_and_missing_and_summary():
    table = small(ids=np.array([10, 20, 30]))
    assert table.missing() == {"age": 1, "job": 1}
    assert table.take([2, 0]).row_names.tolist() == [30, 10]
    assert table.take(np.array([False, True, False])).labels.tolist() == [1]
    assert len(table.take([])) == 0
    assert small().row_names.tolist() == [0, 1, 2]
    assert table.summary() == {
        "rows": 3,
        "columns": {"age": {"kind": "number", "missing": 1}, "job": {"kind": "text", "missing": 1}},
        "label": {"name": "label", "distinct": 2},
    }
    with pytest.raises(DataError, check=coded("data.mask-does-not-fit")):
        table.take([True, False])
    with pytest.raises(DataError, check=coded("data.ids-repeat")):
        table.take([0, 0])


def test_to_frame_spreads_or_keeps_blocks():
    table = Table({"x": np.arange(4.0).reshape(2, 2), "a": [1, 2]}, [0, 1], ids=["p", "q"])
    assert list(table.to_frame()) == ["row", "x_0", "x_1", "a", "label"]
    again = Table.from_frame(table.to_frame(blocks="lists"), id="row")
    np.testing.assert_array_equal(again.columns["x"], table.columns["x"])
    clash = Table({"x": np.zeros((2, 2)), "x_1": [1, 2]}, [0, 1])
    with pytest.raises(DataError, check=coded("data.block-names")):
        clash.to_frame()


def test_concat_needs_the_same_columns():
    table = small(ids=np.array(["a", "b", "c"]))
    both = concat([table, table.replace(ids=np.array(["d", "e", "f"]))])
    assert both.row_names.tolist() == list("abcdef")
    assert concat([table, small()]).ids is None
    with pytest.raises(DataError, check=coded("data.tables-differ")):
        concat([table, table.replace(columns={"age": table.columns["age"]})])
    with pytest.raises(DataError, check=coded("data.tables-differ")):
        concat([table, small(labels=np.array(["x", "y", "z"]))])
    with pytest.raises(DataError, check=coded("data.no-table")):
        concat([])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.arange(100), True),
        (np.array([0.0, 1.0] * 50), True),
        (np.arange(100) / 3, False),
        (np.arange(100.0), False),
        (np.array(["a", "b"] * 50), True),
    ],
)
def test_whole_or_few_labels_are_classes(labels, classes):
    assert Table({"a": np.zeros(100)}, labels).has_classes is classes


def test_taking_rows_of_a_large_block_costs_the_rows_only():
    table = Table.from_arrays(np.zeros((20000, 3072), np.float32), np.zeros(20000, int))
    started = time.thread_time()
    for _ in range(20):
        table.take(np.arange(100))
    assert time.thread_time() - started < 1
    assert np.shares_memory(table.replace(origin="x").columns["x"], table.columns["x"])


@pytest.mark.parametrize(("value", "sentence"), [(np.inf, "1 infinite value;"), (-1e300, "1 value beyond 1e\\+100;")])
def test_numbers_that_cannot_be_squared_are_refused(value, sentence):
    with pytest.raises(DataError, check=coded("data.no-finite-number")):
        Table({"age": [1.0, value, np.nan]}, ["a", "b", "a"])
