"""With ε an odd cell of any type raises nothing and moves no other row; columns that nobody asks for are not read."""

import datetime
import decimal
import fractions
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbary as fb
from fedbary.columns import Boolean, Category, Date, Image, Number, Ordered, Text, Vector
from fedbary.columns.category import category_name
from fedbary.data.files import read_any_cells
from fedbary.data.objects import private_table
from fedbary.data.reading import Reading
from fedbary.space.row_identity import content_digest

KINDS = {
    "number": Number(),
    "boolean": Boolean(),
    "category": Category(),
    "ordered": Ordered(levels=("1", "2")),
    "date": Date(),
    "vector": Vector(width=2),
    "text": Text(encoder="hashing:8"),
    "image": Image(encoder="pixels:2x2x1"),
}
DAY, FAR = 86_400_000, 3_000_000
INTEGERS = {
    pa.date32(): [0, 2**31 - 1, -(2**31), FAR, -800_000],
    pa.date64(): [0, FAR * DAY, -(2**61) // DAY * DAY, 1],
    pa.timestamp("s"): [0, 2**62, -(2**62), 253402300800],
    pa.timestamp("us"): [0, 2**62, -(2**62)],
    pa.timestamp("ns"): [0, 2**62, -(2**63) + 1],
    pa.timestamp("s", tz="Asia/Tokyo"): [0, 2**62, 253402300799],
    pa.duration("s"): [0, 2**62, -(2**62)],
    pa.time64("ns"): [0, 1],
    pa.int64(): [1, 2**63 - 1],
    pa.uint64(): [1, 2**64 - 1],
}
OTHERS = {
    pa.float64(): [1.0, float("inf"), float("nan"), 5e-324],
    pa.bool_(): [True],
    pa.decimal256(76, 0): [decimal.Decimal(1), decimal.Decimal("9" * 76)],
    pa.binary(): [b"a", b"\xff\x00"],
    pa.list_(pa.float64()): [[1.0, 2.0], [], [float("inf"), None]],
    pa.list_(pa.date32()): [[datetime.date(2020, 1, 1)]],
    pa.struct({"bytes": pa.binary(), "path": pa.string()}): [{"bytes": b"x"}, {"path": "\0"}],
    pa.dictionary(pa.int8(), pa.string()): ["a", "", " a"],
    pa.map_(pa.string(), pa.int64()): [[("a", 1)]],
}  # fmt: skip


def columns():
    """Arrays in which each of some cells of a type stands last, after cells that are the same in all of them."""
    for kind, cells in INTEGERS.items():
        plain = pa.int32() if kind == pa.date32() else pa.uint64() if kind == pa.uint64() else pa.int64()
        yield kind, [pa.array([*cells[:1] * 2, None, cell], plain).view(kind) for cell in [*cells, None]]
    for kind, cells in OTHERS.items():
        yield kind, [pa.array([*cells[:1] * 2, None, cell], kind) for cell in [*cells, None]]
    texts = [pa.array([b"Oslo", b"1", None, cell]).cast(pa.binary()) for cell in (b"x", b"\xff\xfe", None)]
    yield pa.string(), [pa.Array.from_buffers(pa.string(), 4, one.buffers(), one.null_count) for one in texts]


def others_of(table, last):
    """What all rows but the last hold, and that the table can be known again."""
    content_digest(table)
    cells = {name: column[:last] for name, column in table.columns.items()}
    return cells, [category_name(label) for label in table.labels[:last]]


def require_same(found):
    (first, labels), *rest = found
    for cells, names in rest:
        assert names == labels
        assert list(cells) == list(first)
        for name, column in cells.items():
            assert column.dtype == first[name].dtype
            np.testing.assert_array_equal(column, first[name])


def read_as(kind, read):
    """The rows of a column by each kind, or as the label."""
    if kind == "label":
        return read("c", Reading({"z": Number()}))
    return read("label", Reading({"c": KINDS[kind]}))


@pytest.mark.parametrize("kind", [*KINDS, "label", "unasked"])
@pytest.mark.parametrize("file", ["parquet", "feather", "frame", "polars"])
def test_cells_of_every_type_of_arrow(tmp_path, kind, file):
    if file == "polars":
        polars = pytest.importorskip("polars")
    for arrow, arrays in columns():
        found = []
        for array in arrays:
            table = pa.table({"c": array, "z": [1.0] * len(array), "label": ["a"] * len(array)})
            if file == "parquet":
                try:
                    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", version="2.6")
                except pa.ArrowInvalid:  # Parquet has no seconds, and no room for so many milliseconds
                    continue
            elif file == "feather":
                pyarrow.feather.write_feather(table, str(tmp_path / "x.feather"))
            elif file == "polars":
                try:
                    table = polars.from_arrow(table)
                except BaseException as error:  # which has not all of these types; its panics are no Exception
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    continue

            def read(label, reading, table=table):
                if file in ("frame", "polars"):
                    return private_table(table, label=label, options=None, reading=reading)
                return read_any_cells(tmp_path / f"x.{file}", label, reading=reading)

            asked = Reading({"z": Number()})
            made = read("label", asked) if kind == "unasked" else read_as(kind, read)
            found.append(others_of(made, len(array) - 1))
        assert found or file == "polars", arrow
        if found:
            require_same(found)


class Raising:
    """An object that raises wherever it is looked at."""

    def _raise(self, *_):
        raise RuntimeError("no")

    __str__ = __repr__ = __float__ = __int__ = __eq__ = __ne__ = __hash__ = __len__ = __iter__ = __bool__ = _raise
    __class__ = property(_raise)


class RaisingText(str):
    __str__ = __eq__ = __hash__ = strip = Raising._raise


ZONE = datetime.timezone(datetime.timedelta(hours=14))
ODD = [
    *(decimal.Decimal("sNaN"), decimal.Decimal("NaN"), decimal.Decimal("1e999999"), fractions.Fraction(10**400, 3)),
    *(10**5000, -(10**400), np.longdouble("1e4000"), complex(1, 2), float("inf"), True, np.bool_(True), None),
    *(datetime.datetime.min.replace(tzinfo=ZONE), datetime.timedelta.max, datetime.time(1), datetime.date.max),
    *(pd.NaT, pd.NA, pd.Timestamp.max, pd.Period("9000", "Y"), pd.Interval(0, 1), pd.Timedelta.max),
    *(np.datetime64("NaT"), np.datetime64(2**62, "s"), np.timedelta64(5, "D"), np.array(3.0), np.array([1, 2])),
    *(Raising(), [Raising(), 1.0], RaisingText("x"), {}, {"bytes": Raising()}, [], set(), b"\xff", object(), range(3)),
    *("\ud800", "\0", "x" * 10**5, np.str_("x"), [[1], [2]], [10**400, 1], {"path": "\0", "bytes": None}),
]
ORDINARY = [1, "2.5", None, "Oslo", 0.5, True, "2020-01-01", [1.0, 2.0], pd.Timestamp("2020-01-01")]


@pytest.mark.parametrize("kind", [*KINDS, "label", "unasked"])
@pytest.mark.parametrize("dtype", ["object", "category"])
def test_objects_in_a_frame(kind, dtype):
    found = []
    for odd in ["x", *ODD]:
        cells = pd.Series(np.fromiter([*ORDINARY, odd], dtype=object), dtype=object)
        if dtype == "category":
            try:
                cells = cells[[not isinstance(cell, list) for cell in ORDINARY] + [True]].astype("category")
            except Exception:  # pandas has no such category
                continue
        frame = pd.DataFrame({"c": cells.reset_index(drop=True), "z": 1.0, "label": "a"})

        def read(label, reading, frame=frame):
            return private_table(frame, label=label, options=None, reading=reading)

        asked = Reading({"z": Number()})
        made = read("label", asked) if kind == "unasked" else read_as(kind, read)
        found.append(others_of(made, len(frame) - 1))
    assert len(found) > 5
    require_same(found)


LINES = st.binary(max_size=12).filter(lambda line: not set(line) & set(b'\r\n"') and line.strip(b"\xef\xbb\xbf"))


@settings(max_examples=40, deadline=None)
@given(line=LINES)
def test_a_line_of_any_bytes_is_one_row_of_a_csv_file(tmp_path_factory, line):
    folder = tmp_path_factory.mktemp("lines")
    found = []
    for one in (b"1,2,a", line):
        (folder / "x.csv").write_bytes(b"c,z,label\n1,2,a\n" + one + b"\n007,x,b\n")
        table = read_any_cells(
            folder / "x.csv", "label", reading=Reading({"c": KINDS["category"], "z": KINDS["number"]})
        )
        assert len(table) == 3
        found.append((table.columns["c"][[0, 2]].tolist(), table.columns["z"][[0, 2]].tolist()[:1], table.labels[2]))
    assert found[0] == found[1]


@pytest.mark.parametrize("line", ["1,2,3,4,5", "1", ",,", 'a"b,1,x', '"open,1,x', "\0,1,x", "y" * 200_000 + ",1,x"])
def test_the_last_line_of_a_csv_file_may_be_of_any_shape(tmp_path, line):
    path = tmp_path / "x.csv"
    path.write_text(f"c,z,label\n1,2,a\n{line}\n")
    table = read_any_cells(path, "label", reading=Reading({"c": KINDS["category"]}))
    assert (len(table), table.columns["c"][0], table.labels[0]) == (2, "1", "a")


@pytest.mark.parametrize("line", ["[1]", "3", "null", "{", '{"c": 1e999, "new": [[]]}', '{"c": {"d": 1}}', '"\\ud800"'])
def test_no_line_of_json_says_which_columns_there_are(tmp_path, line):
    path = tmp_path / "x.jsonl"
    for lines in ([line], ['{"label": "a"}', line]):
        path.write_text("\n".join(lines))
        table = read_any_cells(path, "label", reading=Reading({"c": KINDS["number"]}))
        assert (len(table), list(table.columns)) == (len(lines), ["c"])
    path.write_text(json.dumps([{"c": 1, "label": "a"}, 3, None]))
    table = read_any_cells(tmp_path / "x.jsonl", "label", reading=Reading({"c": KINDS["number"]}))
    np.testing.assert_array_equal(table.columns["c"], [1, np.nan, np.nan])


def test_only_columns_that_are_asked_for_are_read(tmp_path, monkeypatch):
    from fedbary.data import frames as arrow_cells

    table = pa.table({"c": [1], "secret": ["x"], "other": ["y"], "label": ["a"]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "x.feather"))
    seen = []

    def counting(column, make=arrow_cells.any_array):
        seen.append(column)
        return make(column)

    monkeypatch.setattr(arrow_cells, "any_array", counting)
    options, asked = fb.ReadOptions(drop=("other",)), Reading({"c": KINDS["number"]})
    for name in ("x.parquet", "x.feather"):
        assert list(read_any_cells(tmp_path / name, "label", options=options, reading=asked).columns) == ["c"]
    assert len(seen) == 4


@pytest.mark.parametrize("first", ["[1, 2]", '{"age": "\x01", "label": "a"}', "[", "\x02"])
def test_the_first_record_decides_nothing(tmp_path, first):
    """Lines of JSON: a record of any bytes is a row of missing cells."""
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join([first, '{"age": 31, "label": "a"}', '{"age": 45, "label": "b"}']), encoding="utf-8")
    table = read_any_cells(file, "label", reading=Reading({"age": Number()}))
    assert table.columns["age"][1:].tolist() == [31.0, 45.0]
    assert len(table) == 3
