"""What columns are read by: numbers, dates and names that are written as text, arrays, and the list of kinds."""

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fedbary as fb
from codes import coded
from fedbary.columns import BY_NAME, KINDS, Category, Column, Dropped, Identifier, Ordered, arrays, column_of
from fedbary.columns.category import (
    are_row_numbers,
    category_names,
    is_free_text,
    is_named_like_an_id,
    look_like_ids,
    may_name_persons,
    two_spellings,
)
from fedbary.columns.column import TextCells, are_few, as_arrow, as_numbers, distinct
from fedbary.columns.date import are_day_numbers, moments_of, order_of
from fedbary.columns.number_texts import NumberTexts
from fedbary.data.frames import any_cells_of, any_text, cells_of_arrow, label_names, labels_from_series, matrix_of
from fedbary.data.persons import as_persons, repeat_notes
from fedbary.data.reading import told_reading
from fedbary.data.spool import Spool, ahead
from fedbary.errors import DataError


def test_a_kind_is_listed_once_and_says_what_it_is():
    assert len({kind.kind for kind in KINDS}) == len(KINDS) == len(BY_NAME)
    for kind in KINDS:
        column = kind()
        assert column.plural
        assert (column.made("x") == ()) == column.left_out == isinstance(column, Dropped | Identifier)
        assert column.left_out or column.words
        assert kind.from_json(column.to_json()) == column
        assert not column.option or hasattr(fb.ReadOptions(), column.option)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.left_out])
def test_a_cell_is_read_alone_and_none_raises(kind):
    column, texts = kind(), ["1", "1,5", "yes", "2020-04-03", "03/04/2020", "a", "1 h", "?", "\ud800", "inf"]
    cells = [*(distinct(np.array(texts, dtype=object)) for _ in range(1)), np.array([1.0, np.nan, np.inf]),
             np.array([True, False]), np.array(["2020-01-01", "NaT"], dtype="M8[us]"),
             np.array([[1.0], None, {}, b"x"], dtype=object)]  # fmt: skip
    for form in cells:
        values, unread = column.read(form)
        assert len(values) == len(unread) == len(form)
        if kind.schema_kinds != ("block",):
            assert set(column.arrays("x", values)) == set(column.made("x"))
    for text in texts:
        alone, (odd,) = column.read(distinct(np.array([text], dtype=object)))
        among, unread = column.read(distinct(np.array(["z", text, *texts], dtype=object)))
        assert unread[1] == odd
        np.testing.assert_array_equal(alone[0], among[1])


def test_more_than_a_few_unread_cells_are_refused():
    assert [are_few(*counts) for counts in ((40, 1000), (60, 1000), (3, 40), (3, 4))] == [True, False, True, False]
    with pytest.raises(NotImplementedError):
        Column().read(np.zeros(1))


def test_numbers_that_are_written_as_text():
    texts = NumberTexts.of(as_arrow(["1,5", "1.234,5", "€ 3", "12 %", "13:45", "1e3", "many", "-1 days +06:00:00"]))
    assert texts.numbers() == pytest.approx([1.5, 1234.5, 3.0, 12.0, 13.75, 1000.0, np.nan, -0.75], nan_ok=True)
    assert (sorted(texts.units()), texts.decimal()) == (["%", "days", "hours", "€"], ",")
    assert as_numbers(as_arrow(["1.5", "-2e3"])).tolist() == [1.5, -2000.0]
    assert as_arrow(["a", "\ud800"]).to_pylist() == ["a", "\\ud800"]


def test_dates_that_are_written_as_text():
    found = moments_of(["2020-04-03 06:00", "3.4.2020", "Apr 3, 2020", "13/04/2020", "03/04/2020"]).astype("M8[h]")
    assert found.astype(str).tolist() == ["2020-04-03T06", "2020-04-03T00", "2020-04-03T00", "2020-04-13T00", "NaT"]
    assert moments_of(["03/04/2020"], "dmy").astype("M8[D]").astype(str).tolist() == ["2020-04-03"]
    orders = (["03/04/2020", "13/04/2020"], ["03/04/2020"], ["2020-04-03"])
    assert [order_of(texts) for texts in orders] == ["dmy", "unclear", ""]
    assert are_day_numbers(np.array([20200403, 19991231]))
    assert not are_day_numbers(np.array([20200403, 20201399]))


def test_names_of_rows_and_categories():
    ids = ("id", "patient_id", "PatientID", "Sample Number", "Unnamed: 0")
    assert all(map(is_named_like_an_id, ids))
    assert not any(map(is_named_like_an_id, ("width", "Number of children", "humid", "grid", "code")))
    persons = ("patient_id", "ID", "Individual ID", "Sample Number", "age")
    assert [may_name_persons(name) for name in persons] == [True, True, True, False, False]
    numbers = (np.arange(100, 150), np.arange(1980, 2020), np.arange(3))
    assert [are_row_numbers(one) for one in numbers] == [True, False, False]
    assert look_like_ids("name", [f"Ann {row}" for row in range(30)], 30)
    assert not look_like_ids("job", ["cook", "nurse"], 2)
    assert is_free_text([f"The patient number {row} slept quite badly." for row in range(30)], 30)
    assert category_names(np.array([1.0, 2.5, np.nan])).tolist() == ["1", "2.5", None]
    assert (two_spellings(["1", "2", "1.0"]), two_spellings(["007", "7"])) == (("1", "1.0"), None)
    cells = TextCells(["1.0", "007", "?"], np.array([0, 1, 2, -1]))
    assert Category().read(cells)[0].tolist() == ["1", "007", None, None]
    told = told_reading(["size", "zip"], fb.ReadOptions(ordered=("size=S<M<L",), categories=("zip",)))
    assert dict(told) == {"size": Ordered(("S", "M", "L")), "zip": Category()}


def test_cells_of_pandas_and_arrow():
    assert any_cells_of(pd.Series([1, {}, "x"]), Category()).codes.tolist() == [0, -1, 1]
    odd = (1.0, {}, decimal.Decimal("sNaN"), 10**5000)
    assert [any_text(cell) for cell in odd] == ["1", None, None, None]
    assert cells_of_arrow("age", pa.chunked_array([[31.5, None]])) == pytest.approx([31.5, np.nan], nan_ok=True)
    assert matrix_of(pa.chunked_array([[[1.0, 2.0], None]])) == pytest.approx(
        np.array([[1, 2], [np.nan] * 2]), nan_ok=True
    )
    assert label_names(["mild", "1,5"], "") == ["mild", "1.5"]
    assert labels_from_series("label", pd.Series([3, 1], dtype=object)).dtype == np.int64
    assert labels_from_series("dose", pd.Series(["1,5", "2"])).tolist() == [1.5, 2.0]
    assert as_persons(["ann", "ben", None, "ann", None], rows=5).tolist() == [0, 1, 2, 0, 3]
    (note,) = repeat_notes([("patient_id", pd.Series([*range(30), 4, 4]))])
    assert (note.code, note.facts["most"]) == ("data.identifier-repeats", 3)


def test_arrays_of_a_table():
    assert [arrays.holds_classes(np.array(one)) for one in ([1.0, 2.0], [1.5, 2.0])] == [True, False]
    assert arrays.missing_rows(np.array(["a", None], dtype=object)).tolist() == [False, True]
    assert arrays.as_column("age", [31, 45]).dtype == np.float64
    assert [arrays.block_dtype(np.dtype(one)) for one in ("uint8", "int64")] == [np.float32, np.float64]
    assert list(arrays.columns_from_array([[31, 2.5]], ["age", "income"])) == ["age", "income"]
    values = (np.zeros(2), np.zeros(2, bool), np.array(["a"], object), np.zeros((2, 3)))
    assert [column_of(one).kind for one in values] == ["number", "boolean", "category", "vector"]
    with pytest.raises(DataError, check=coded("data.no-finite-number")):
        arrays.refuse_infinite("age", np.array([1.0, np.inf]))
    with pytest.raises(DataError, check=coded("data.lengths-differ")):
        arrays.check_layout({"age": np.zeros(2)}, {"label": np.zeros(3)})
    with pytest.raises(DataError, match=r"bank\.csv: the table has no rows"), arrays.naming("bank.csv"):
        raise DataError("data.no-rows")


def test_rows_as_they_come():
    spool = Spool(2)
    spool.append(np.eye(2))
    spool.append(np.zeros((1, 2)))
    assert (len(spool), [len(part) for part in spool.parts()]) == (3, [2, 1])
    assert list(ahead(n**2 for n in range(3))) == [0, 1, 4]
