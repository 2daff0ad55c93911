"""A table in parts is the table: every format, every column of one kind in all parts."""

import itertools
import sqlite3

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.data.reading import ColumnReading, Reading
from fedbary.data.table import concat
from fedbary.errors import DataError, SettingsError

ROWS = 100
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "patient": [f"p{row}" for row in range(ROWS)],
        "age": np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.normal(50, 9, ROWS)),
        "beds": RNG.integers(0, 5, ROWS),
        # Numbers as far as one sees, and then names.
        "ward": [f"{row % 7}{'b' if row > 40 else ''}" for row in range(ROWS)],
        "job": RNG.choice(["cook", "nurse", "clerk"], ROWS),
        "smokes": RNG.choice([True, False], ROWS),
        "label": RNG.choice(["yes", "no"], ROWS),
    }
)


def written(folder, kind, frame=FRAME):
    path = folder / f"t.{kind}"
    if kind == "folder":
        path.mkdir()
        frame[:33].to_parquet(path / "a.parquet", index=False)
        frame[33:].to_parquet(path / "b.parquet", index=False)
    elif kind == "db":
        with sqlite3.connect(path) as connection:
            frame.to_sql("patients", connection, index=False)
        return f"sqlite:///{path}"
    elif kind == "feather":
        frame.to_feather(path)
    elif kind in ("jsonl", "json"):
        frame.to_json(path, orient="records", lines=kind == "jsonl", double_precision=15)
    else:
        {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}[kind](path, index=False)
    return path


def same(one, other):
    assert one.column_names == other.column_names
    for name in one.columns:
        np.testing.assert_array_equal(one.columns[name], other.columns[name])
    assert one.labels.tolist() == other.labels.tolist()
    assert one.labels.dtype == other.labels.dtype
    assert one.row_names.tolist() == other.row_names.tolist()


@pytest.mark.parametrize("rows", [7, 50, 1000])
@pytest.mark.parametrize("kind", ["csv", "parquet", "folder", "feather", "jsonl", "json", "xlsx", "db"])
def test_the_parts_of_a_table_are_the_table(tmp_path, kind, rows):
    path = written(tmp_path, kind)
    parts = list(fb.read_batches(path, "label", id="patient", rows=rows))
    assert all(len(part) <= rows for part in parts)
    whole = fb.read(path, "label", id="patient")
    assert all(part.reading == whole.reading for part in parts)
    same(concat(parts), whole)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_a_table_is_cut_into_parts(tmp_path, rows):
    table = fb.read(written(tmp_path, "csv"), "label", id="patient")
    parts = list(table.batches(rows))
    assert [len(part) for part in parts[:-1]] == [rows] * (len(parts) - 1)
    assert np.shares_memory(parts[0].columns["age"], table.columns["age"])
    same(concat(parts), table)


def test_parts_need_rows(tmp_path):
    table = fb.Table({"x": [1.0]}, [0])
    with pytest.raises(SettingsError, check=parameter("rows")):
        list(table.batches(0))
    with pytest.raises(SettingsError, check=parameter("rows")):
        list(fb.read_batches(written(tmp_path, "csv"), "label", rows=0))


def test_what_was_agreed_needs_one_look_only(tmp_path, monkeypatch):
    """And what the schema calls a category is one in every part."""
    path = written(tmp_path, "csv", FRAME[["beds", "age", "label"]])
    agreed = Reading({"beds": ColumnReading("category"), "age": ColumnReading("number")})
    looks = itertools.count()
    real = fb.data.batches.chunks

    def counted(*args, **options):
        next(looks)
        return real(*args, **options)

    monkeypatch.setattr(fb.data.batches, "chunks", counted)
    parts = list(fb.read_batches(path, "label", reading=agreed, rows=30))
    assert next(looks) == 1
    assert concat(parts).columns["beds"].tolist() == [str(beds) for beds in FRAME["beds"]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2, 3, "x"], ["1", "2", "3", "x"]),
        ([1, 2, 3, 4.5], [1.0, 2.0, 3.0, 4.5]),
        ([1, 2, 3, 4], [1, 2, 3, 4]),
    ],
)
def test_labels_of_all_parts_are_of_one_kind(tmp_path, labels, expected):
    (tmp_path / "t.csv").write_text("x,label\n" + "".join(f"{row}.5,{label}\n" for row, label in enumerate(labels)))
    parts = list(fb.read_batches(tmp_path / "t.csv", "label", rows=2))
    found = concat(parts).labels
    assert found.tolist() == expected
    assert {part.labels.dtype for part in parts} == {found.dtype}


def test_how_numbers_and_dates_are_written_is_one_thing_for_all_parts(tmp_path):
    """A part alone would say 1.234 is a little more than one, and could not tell the day from the month."""
    rows = [("1.234", "03.04.2024"), ("2.000", "05.06.2024"), ("1,5", "31.01.2024"), ("7,25", "01.02.2024")]
    (tmp_path / "t.csv").write_text("x;day;label\n" + "".join(f"{x};{day};{x[0]}\n" for x, day in rows))
    parts = list(fb.read_batches(tmp_path / "t.csv", "label", rows=2))
    same(concat(parts), fb.read(tmp_path / "t.csv", "label"))
    assert concat(parts).columns["x"].tolist() == [1234.0, 2000.0, 1.5, 7.25]


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        (["1,5", "2,5", "1,234.5", "2,345.5"], "data.decimal-unclear"),
        (["31/01/2024", "30/01/2024", "01/31/2024", "01/30/2024"], "data.dates-unclear"),
    ],
)
def test_parts_that_are_written_in_two_ways_are_refused(tmp_path, cells, code):
    (tmp_path / "t.csv").write_text("x;label\n" + "".join(f"{cell};{cell}\n" for cell in cells))
    with pytest.raises(DataError, check=coded(code)):
        list(fb.read_batches(tmp_path / "t.csv", "label", rows=len(cells) // 2))


def test_records_may_have_keys_of_their_own(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1.5, "label": "x"}\n{"label": "y", "b": 2.5}\n{"label": "y", "a": 1.5}\n')
    parts = list(fb.read_batches(tmp_path / "t.jsonl", "label", rows=1))
    assert [part.missing() for part in parts] == [{"a": 0, "b": 1}, {"a": 1, "b": 0}, {"a": 0, "b": 1}]


def test_an_id_that_stands_twice_is_found_across_parts(tmp_path):
    path = written(tmp_path, "csv", pd.concat([FRAME, FRAME[:1]]))
    with pytest.raises(DataError, check=coded("data.ids-repeat")) as caught:
        list(fb.read_batches(path, "label", id="patient", rows=30))
    assert caught.value.private["row"] == ROWS


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x,label\n", "data.no-rows"),
        ("x,label\n1.5,a\n2.5,\n", "data.labels-missing"),
        ("x,y\n1.5,a\n", "data.no-such-column"),
        ("x,label\n1.5,a\n1,2,3\n", "formats.damaged"),
    ],
)
def test_what_is_wrong_is_said_as_of_a_whole_table(tmp_path, text, code):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, check=coded(code)) as caught:
        list(fb.read_batches(tmp_path / "t.csv", "label", rows=1))
    assert "t.csv" in caught.value.private["where"]


def test_memory_holds_a_part_only(tmp_path):
    """Peak memory of a child process: 40 parts take hardly more than four."""
    import subprocess
    import sys

    frame = pd.DataFrame({f"x{place}": RNG.normal(size=400_000) for place in range(4)} | {"label": 1})
    frame.to_parquet(tmp_path / "large.parquet", row_group_size=10_000)
    frame[:40_000].to_parquet(tmp_path / "small.parquet", row_group_size=10_000)
    code = (
        "import resource, sys, fedbary as fb\n"
        "for table in fb.read_batches(sys.argv[1], 'label', rows=10_000): pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    small, large = (
        int(subprocess.run([sys.executable, "-c", code, tmp_path / name], check=True, capture_output=True).stdout)
        for name in ("small.parquet", "large.parquet")
    )
    assert large - small < 10_000  # KiB, where the large table has 16,000
