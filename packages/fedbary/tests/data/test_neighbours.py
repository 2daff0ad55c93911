"""With ε one row decides nothing about another: in every format, whatever it is replaced by, all other points stay."""

import csv
import datetime
import json
import sqlite3
import string
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fedbary as fb
from fedbary.columns import Boolean, Category, Date, Number, Ordered, Text, Vector
from fedbary.columns.category import category_name
from fedbary.data.files import read_any_cells
from fedbary.data.objects import private_table
from fedbary.data.reading import Reading
from fedbary.space.encode import PublicCoordinates, row_points

LARGE = 2**53 + 1  # as a float it is another number
READING = Reading(
    {
        "number": Number(),
        "boolean": Boolean(),
        "category": Category(),
        "ordered": Ordered(levels=("1", "2", "007", str(LARGE))),
        "date": Date(),
        "vector": Vector(width=2),
        "text": Text(encoder="hashing:16"),
    }
)
COLUMNS = (*READING, "id", "label")
FOLDER = Path(tempfile.mkdtemp())


def reference(label):
    frame = pd.DataFrame(
        {
            "number": ["0.5", "2", "7"],
            "boolean": ["yes", "no", "no"],
            "category": ["1", "Infinity", "a.png"],
            "ordered": ["1", "2", "007"],
            "date": ["1900-01-01", "2000-05-05", "2024-02-29"],
            "vector": [[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]],
            "text": ["dry cough", "12.5 mg", "2020-01-01"],
            "label": label,
        }
    )
    return fb.Table.from_frame(frame, "label", reading=READING)


SCHEMAS = [
    fb.fit_schema(reference(["Infinity", "one", "a.png"]), fb.Space(labels="onehot"), min_group=1),
    fb.fit_schema(reference([0.5, 1.5, 2.25]), min_group=1),
]


def points(path, id="id"):  # noqa: A002
    table = read_any_cells(path, "label", id=id, reading=READING)
    found = [
        part for schema in SCHEMAS for part in (row_points(table, schema), PublicCoordinates(schema).points(table),
                                                PublicCoordinates(schema).codes(table)[None, :])
    ]  # fmt: skip
    return np.vstack(found)


(FOLDER / "a.png").touch()
TEXTS = st.one_of(
    st.sampled_from(
        [
            *("", " ", "NA", "?", "-", "None", "nan", "1", "01", "007", "1.0", " 2 ", "\x1f2", "\x852", "1.5", "1,5"),
            *("1,234", "1.234,5", "1e3", "1e999", "9" * 400, "Infinity", "-inf", str(LARGE), "€ 3", "13:45", "1_0"),
            *("True", "false", "yes", "maybe", "a.png", "b.png", "café", "a,b;c\td|e", 'a "b"', "line\nbreak\r\nx"),
            *("1500-01-01", "2020-01-31 00:00:00.123456789", "2020-01-31T06:30:00+02:00", "2020", "03/04/2020"),
            *("13/04/2020", "3 Apr 2020", "9999-12-31", "[1, 2]", "=1+1", "#N/A", "#DIV/0!"),
        ]
    ),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8),
)
NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, 7, -1, LARGE, 2**63, 2**64, 0.5, 1.0, 12.0, 1e300, 20200131, 2020]),
    st.integers(-(2**62), 2**62),
    st.floats(-1e9, 1e9),
)
LOOSE = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VECTORS = st.lists(st.one_of(st.floats(-9, 9), st.sampled_from([10**400, None, "x"])), max_size=3)
JSON = st.one_of(LOOSE, VECTORS, st.sampled_from(["\ud800", {"bytes": None}, {}, [[1]], float("nan"), float("inf")]))
DAYS = st.datetimes(datetime.datetime(1901, 1, 1), datetime.datetime(9000, 1, 1))
EXCEL = st.one_of(LOOSE.filter(lambda cell: not isinstance(cell, int) or abs(cell) < 2**60), DAYS)
SQL = st.one_of(LOOSE.filter(lambda cell: not isinstance(cell, int) or abs(cell) < 2**63), st.binary(max_size=4))
TYPED = st.fixed_dictionaries(
    {
        "number": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        "boolean": st.one_of(st.none(), st.booleans()),
        "category": st.one_of(st.none(), st.integers(0, 3), st.just(LARGE)),
        "ordered": st.one_of(st.none(), st.sampled_from([1, 2, LARGE])),
        "date": st.one_of(st.none(), DAYS),
        "vector": st.one_of(st.none(), st.lists(st.floats(width=32), max_size=3)),
        "text": st.one_of(st.none(), st.just(10**18), st.integers(10, 99)),
        "id": st.one_of(st.none(), st.integers(0, 3)),
        "label": st.one_of(st.none(), st.integers(0, 3), st.just(LARGE)),
    }
)


def rows_of(cells):
    return st.fixed_dictionaries(dict.fromkeys(COLUMNS, cells))


def neighbours(rows):
    """A table, and by what one of its rows is replaced."""
    return st.tuples(st.lists(rows, min_size=2, max_size=5), rows)


def require_alike(write, found, **options):
    """Points of all rows but the first, which is replaced, are the same to the last bit."""
    rows, other = found
    before, after = points(write(rows), **options), points(write([other, *rows[1:]]), **options)
    assert before.shape == after.shape
    assert before[:, 1:].tobytes() == after[:, 1:].tobytes()


def as_csv(rows, name="mine.csv"):
    path = FOLDER / name
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, COLUMNS, delimiter="\t" if name.endswith(".tsv") else ",")
        lines.writeheader()
        lines.writerows(rows)
    return path


def as_json(rows):
    path = FOLDER / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_excel(rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(COLUMNS)
    for row in rows:
        book.active.append([_cell(row[name]) for name in COLUMNS])
    path = FOLDER / "mine.xlsx"
    book.save(path)
    return path


def _cell(value):
    allowed = {*string.printable} - {"\x0b", "\x0c"}
    return "".join(c for c in value if c in allowed or c > "\xa0") if isinstance(value, str) else value


def as_sqlite(rows):
    path = FOLDER / "mine.db"
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.execute(f"CREATE TABLE t ({', '.join(COLUMNS)})")
    marks = ", ".join("CAST(? AS TEXT)" if name == "category" else "?" for name in COLUMNS)
    database.executemany(f"INSERT INTO t VALUES ({marks})", [tuple(row.values()) for row in rows])
    database.commit()
    database.close()
    return f"sqlite:///{path}"


ARROW = pa.schema(
    {
        "number": pa.int64(),
        "boolean": pa.bool_(),
        "category": pa.int64(),
        "ordered": pa.int64(),
        "date": pa.timestamp("us"),
        "vector": pa.list_(pa.float32()),
        "text": pa.int64(),
        "id": pa.int64(),
        "label": pa.int64(),
    }
)


def as_parquet(rows):
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, ARROW), FOLDER / "mine.parquet")
    return FOLDER / "mine.parquet"


def as_feather(rows):
    pyarrow.feather.write_feather(pa.Table.from_pylist(rows, ARROW), str(FOLDER / "mine.feather"))
    return FOLDER / "mine.feather"


def one_of_each(cell, other):
    """Rows in which all cells are one, of which the first is replaced by another."""
    return [dict.fromkeys(COLUMNS, cell)] * 2, dict.fromkeys(COLUMNS, other)


few = settings(max_examples=25, deadline=None)


@few
@given(neighbours(rows_of(TEXTS)))
@example(one_of_each("1500-01-01", "2020-01-31 00:00:00.123456789"))
@example(one_of_each("Infinity", "1"))
@example(one_of_each("1", ""))
@example(one_of_each("line\n\nbreak", "NA"))
@example(([dict.fromkeys(COLUMNS, "1"), dict.fromkeys(COLUMNS, "\x1f2")], dict.fromkeys(COLUMNS, " 1")))
@example(([dict.fromkeys(COLUMNS, "a.png")] * 2, dict.fromkeys(COLUMNS, "no")))
@example(([dict.fromkeys(COLUMNS, "1"), dict.fromkeys(COLUMNS, "007")], dict.fromkeys(COLUMNS, "x")))
def test_csv(found):
    require_alike(as_csv, found)
    require_alike(lambda rows: as_csv(rows, "mine.tsv"), found)


@few
@given(neighbours(rows_of(JSON)))
@example(one_of_each(LARGE, None))
@example(one_of_each([1, 2], [10**400, 1]))
@example(one_of_each("a", "\ud800"))
@example(one_of_each(12.0, "x"))
@example((one_of_each(1, 1)[0], {"number ": 1, **dict.fromkeys(COLUMNS, 2)}))
def test_json(found):
    require_alike(as_json, found)


@pytest.mark.parametrize("cell", ["1" * 5000, "[" * 10**5 + "]" * 10**5, "no JSON at all"])
def test_one_line_of_json_is_one_row(tmp_path, cell):
    path = tmp_path / "mine.jsonl"
    path.write_text(f'{{"number": 1, "label": "a"}}\n{{"number": {cell}, "label": "b"}}\n')
    table = read_any_cells(path, "label", reading=Reading({"number": Number()}))
    np.testing.assert_array_equal(table.columns["number"], [1, np.nan])


@few
@given(neighbours(rows_of(EXCEL)))
@example(one_of_each(datetime.datetime(2020, 1, 1), "x"))
@example(one_of_each(True, 0.5))
def test_excel(found):
    rows, other = found
    blank = any(all(_cell(cell) in (None, "") for cell in row.values()) for row in [*rows, other])
    if not blank:  # such a row is not in the file
        require_alike(as_excel, found)


@few
@given(neighbours(rows_of(SQL)))
@example(one_of_each(LARGE, None))
@example(one_of_each(1, b"\xff\xfe"))
def test_sqlite(found):
    pytest.importorskip("sqlalchemy")
    require_alike(as_sqlite, found)


@few
@given(neighbours(TYPED))
def test_parquet_and_feather(found):
    require_alike(as_parquet, found)
    require_alike(as_feather, found)


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]"])
def test_whole_numbers_keep_their_digits_beside_a_missing_one(tmp_path, dtype):
    for other, place in ((1, 0.0), (None, np.nan)):
        column = pd.array([LARGE, other], dtype=dtype)
        pd.DataFrame({"ordered": column, "label": ["a", "b"]}).to_parquet(tmp_path / "mine.parquet")
        table = read_any_cells(tmp_path / "mine.parquet", "label", reading=Reading({"ordered": READING["ordered"]}))
        np.testing.assert_array_equal(table.columns["ordered"], [3.0, place])


@pytest.mark.parametrize("other", [("1,5", "13/04/2020", 2), ("7", "2020-01-01", None), (None, "", "c")])
@pytest.mark.parametrize("labels", [list, np.array, pd.Series], ids=["list", "array", "series"])
def test_a_frame_and_its_labels(other, labels):
    reading = Reading({"dose": Number(), "day": Date()})
    dose, day, label = other
    X = pd.DataFrame({"dose": ["1,234", "2", dose], "day": ["03/04/2020", "2020-04-03", day]}, index=[3, 4, 3])
    table = private_table((X, labels([1, 2, label])), label="ill", options=None, reading=reading)
    np.testing.assert_array_equal(table.columns["dose"][:2], [np.nan, 2])
    np.testing.assert_array_equal(table.columns["day"][:2], [np.nan, 18355])
    assert [category_name(one) for one in table.labels.tolist()[:2]] == ["1", "2"]


def test_bytes_that_are_no_text_in_the_owner_s_encoding_are_one_cell(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_bytes(b"number,label\n1,a\n\xff,b\n")
    options = fb.ReadOptions(encoding="utf-8")
    table = read_any_cells(path, "label", options=options, reading=Reading({"number": Number()}))
    np.testing.assert_array_equal(table.columns["number"], [1, np.nan])


def test_a_remark_beside_a_sheet_s_table_is_no_reason_to_refuse_it(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["number", "label"], [1, "a"], [2, "b", None, "check this one"]):
        book.active.append(row)
    book.save(tmp_path / "mine.xlsx")
    table = read_any_cells(tmp_path / "mine.xlsx", "label", reading=Reading({"number": Number()}))
    assert table.columns["number"].tolist() == [1, 2]
