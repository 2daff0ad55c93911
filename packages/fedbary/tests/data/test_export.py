"""What is written can be read again, runs in no spreadsheet, and appears whole or not at all."""

import csv
import re
import string
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codes import coded
from fedbary.data.export import quoted, write
from fedbary.data.files import read
from fedbary.data.options import ReadOptions
from fedbary.data.table import Table
from fedbary.errors import DataError

numbers = st.one_of(st.just(float("nan")), st.floats(allow_nan=False, allow_infinity=False, width=32))
words = st.text(string.ascii_letters + "\"', ;äß", min_size=1).map(lambda text: f"w{text}w")


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.tuples(numbers, words, words), min_size=1, max_size=8),
    suffix=st.sampled_from([".csv", ".tsv", ".csv.gz", ".parquet"]),
)
def test_a_table_survives_the_round_trip(rows, suffix):
    value, job, label = map(list, zip(*rows, strict=True))
    table = Table({"value": value, "job": np.array(job)}, np.array(label), ids=np.arange(len(rows)))
    with tempfile.TemporaryDirectory() as folder:
        again = read(write(table, Path(folder) / f"t{suffix}"), "label", id="row")
    np.testing.assert_array_equal(again.columns["value"], table.columns["value"])
    assert again.columns["job"].tolist() == job
    assert again.labels.tolist() == label
    assert again.row_names.tolist() == table.row_names.tolist()


# What attackers write, and separators, quotes and ends of lines of any program that opens the file.
hostile = st.text(
    st.sampled_from([*"=+-@\uff1d\uff0b\uff0d\uff20,;|\t\r\n \"'1.5ex", "\ufeff", "\u200b", "\xa0", "(", "ä"]),
    max_size=8,
)
SKIPPED = string.whitespace + '\x1c\x1d\x1e\x1f\x85\xa0\ufeff\u200b"'


def running(field: str) -> bool:
    """Whether a spreadsheet may take a field for a formula; signs and numbers are none, however they are separated."""
    shown = field.lstrip(SKIPPED)
    return shown.startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20")) and not re.fullmatch(r"[-+\d.eE,;|\s\"]*", shown)


@settings(max_examples=200, deadline=None)
@given(cells=st.lists(hostile, min_size=1, max_size=4), suffix=st.sampled_from([".csv", ".tsv"]))
def test_no_cell_starts_a_formula_by_any_separator(cells, suffix):
    frame = pd.DataFrame({"a;=cmd()": pd.Series(cells, dtype=object), "n": np.full(len(cells), -1.5)})
    with tempfile.TemporaryDirectory() as folder:
        text = write(frame, Path(folder) / f"t{suffix}").read_bytes().decode()
    assert text.startswith("a;'=cmd()")
    for separator in ",;\t|":
        fields = [field for line in text.splitlines() for field in line.split(separator)]  # quotes unheeded
        fields += [field for line in csv.reader(text.splitlines(keepends=True), delimiter=separator) for field in line]
        assert not [field for field in fields if running(field)]


@pytest.mark.parametrize(
    ("cell", "written"),
    [("x;=HYPERLINK(1)", "x;'=HYPERLINK(1)"), (" =cmd()", "' =cmd()"), ("\ufeff=1", "'\ufeff=1"),
     ("\uff1d1", "'\uff1d1"), ("a\r=1", "a\r'=1"), ("a|@b", "a|'@b"), ("a\t+b", "a\t'+b"), ('x;"=1"', "x;'\"=1\""),
     ("-1,5+cmd()", "'-1,5+cmd()"),
     ("-1;-2", "-1;-2"), ("a-b=c", "a-b=c"), ("'=1", "'=1"), ("me@here", "me@here"), (" -1.5", " -1.5")],
)  # fmt: skip
def test_what_may_run_is_quoted_and_nothing_else(cell, written):
    assert quoted(cell) == written


@settings(max_examples=50, deadline=None)
@given(cells=st.lists(st.text("ab=+-@;,| 1.5", min_size=1, max_size=6).map("w{}w".format), min_size=2, max_size=6))
def test_what_is_not_quoted_comes_back(cells):
    plain = [cell for cell in cells if quoted(cell) == cell] + ["w", "v"]
    table = Table({"value": np.arange(len(plain)) - 1.5, "job": np.array(plain)}, np.array(plain))
    with tempfile.TemporaryDirectory() as folder:
        again = read(write(table, Path(folder) / "t.csv"), "label", options=ReadOptions(categories=("job",)))
    assert again.columns["job"].tolist() == again.labels.tolist() == plain
    assert again.columns["value"].tolist() == table.columns["value"].tolist()


def test_labels_ids_and_categories_are_quoted_too(tmp_path):
    frame = pd.DataFrame({"c": pd.Categorical(["+a"]), "label": ["@a"]}, index=pd.Index(["-x"], name="id"))
    assert write(frame, tmp_path / "t.csv").read_text() == "id,c,label\n'-x,'+a,'@a\n"


def test_signs_as_labels_come_back(tmp_path):
    table = Table({"x": [1.0, 2.0, 3.0]}, ["+", "-", "-1"])
    assert read(write(table, tmp_path / "t.csv"), "label").labels.tolist() == ["+", "-", "-1"]


def test_parquet_keeps_blocks_and_formulas_as_they_are(tmp_path):
    table = Table({"x": np.eye(2, dtype=np.float32), "t": ["=1", None]}, ["a", "b"])
    again = read(write(table, tmp_path / "t.parquet"), "label")
    assert again.columns["x"].dtype == np.float32
    np.testing.assert_array_equal(again.columns["x"], np.eye(2))
    assert again.columns["t"].tolist() == ["=1", None]


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "t.parquet"
    write(pd.DataFrame({"a": [1]}), path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="Conversion failed"):
        write(pd.DataFrame({"a": pd.Series([1, "x", [2]], dtype=object)}), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_bad_targets_are_named(tmp_path):
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(DataError, check=coded("data.file-kind")):
        write(frame, tmp_path / "t.xls")
    with pytest.raises(DataError, check=coded("data.no-folder")):
        write(frame, tmp_path / "none" / "t.csv")
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(DataError, check=coded("data.file-unwritable")):
        write(frame, tmp_path / "t.csv")
