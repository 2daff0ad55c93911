"""With ε a cell is read by itself: no other cell decides what it means, nor whether there is a table at all."""

import csv
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.columns import Boolean, Category, Date, Number, Ordered, Text, Vector
from fedbary.columns.category import category_name
from fedbary.data.files import read_any_cells
from fedbary.data.reading import Reading
from fedbary.errors import DataError

KINDS = {
    "number": Number(),
    "german": Number(decimal=","),
    "boolean": Boolean(),
    "category": Category(),
    "ordered": Ordered(levels=("S", "M", "L", "1")),
    "date": Date(),
    "american": Date(order="mdy"),
    "text": Text(encoder="hashing:16"),
}
READING = Reading(KINDS)
FOLDER = Path(tempfile.mkdtemp())
CELLS = st.one_of(
    st.sampled_from(
        [
            *("", "NA", "?", "-", "none", "unknown", " ", "nan", "-nan", "<NA>", "None"),
            *("1", "01", "1.0", "+1", "-1", "1.5", "1,5", "1,234", "1.234", "1.234,5", "1,234.5", "1e3", ".5", "5."),
            *("inf", "-Infinity", "9" * 400, "1e400", "99999999999999999999999", "9223372036854775809", "0x10", "1_0"),
            *("€ 3", "12 %", "3 kg", "−2", "13:45", "1:30 pm", "25:00", "1 days 02:00:00", "٣"),
            *("True", "FALSE", "true", "yes", "No", "y", "T", "0", "maybe"),
            *("S", "M", " L ", "XL", "café", "x" * 300),
            *(
                "2020-01-31",
                "2020-02-30",
                "2020-01-31 06:30",
                "2020-01-31T06:30:00+02:00",
                "2020-01",
                "2020",
                "20200131",
            ),
            *("03/04/2020", "13/04/2020", "04/13/2020", "3.4.20", "3 Apr 2020", "Apr 3, 2020", "12:61", "31/31/2020"),
            *("The patient slept well.", "a,b", 'a "b"', "line\nbreak"),
        ]
    ),
    st.floats(-1e9, 1e9).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.dates().map(str),
)
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(KINDS, CELLS)), min_size=2, max_size=6)


def any_table(rows, options=None, reading=READING):
    return read_any_cells(written(rows), "label", options=options, reading=reading)


def written(rows):
    path = FOLDER / "mine.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, list({**rows[0], "label": "a"}))
        lines.writeheader()
        lines.writerows({"label": "a", **row} for row in rows)
    return path


def same(one, other, rows):
    """Whether two tables hold the same in some of their rows."""
    assert list(one.columns) == list(other.columns)
    for name in one.columns:
        np.testing.assert_array_equal(one.columns[name][rows], other.columns[name][rows], err_msg=name)


@settings(max_examples=20, deadline=None)
@given(rows=ROWS, data=st.data())
def test_one_changed_cell_changes_its_own_row_alone(rows, data):
    place = data.draw(st.integers(0, len(rows) - 1))
    name = data.draw(st.sampled_from(sorted(KINDS)))
    changed = [dict(row) for row in rows]
    changed[place][name] = data.draw(CELLS)
    before, after = any_table(rows), any_table(changed)
    same(before, after, [row for row in range(len(rows)) if row != place])
    assert [column.dtype for column in before.columns.values()] == [column.dtype for column in after.columns.values()]


@settings(max_examples=20, deadline=None)
@given(rows=ROWS)
def test_a_row_reads_as_it_reads_alone(rows):
    together = any_table(rows)
    for place, row in enumerate(rows):
        alone = any_table([row])
        for name in alone.columns:
            np.testing.assert_array_equal(together.columns[name][place], alone.columns[name][0], err_msg=name)


@settings(max_examples=20, deadline=None)
@given(kind=st.sampled_from(sorted(KINDS)), cells=st.lists(CELLS, min_size=1, max_size=5))
def test_what_the_strict_reading_accepts_both_read_alike(kind, cells):
    path = written([{"c": cell, "x": "0.5"} for cell in cells])
    agreed = Reading({"c": KINDS[kind], "x": Number()})
    try:
        strict = fb.read(path, "label", reading=agreed)
    except DataError:
        return
    lenient = read_any_cells(path, "label", reading=strict.reading)
    same(strict.replace(columns={n: c.astype(float) if c.dtype == bool else c for n, c in strict.columns.items()}),
         lenient, slice(None))  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(cells=st.lists(CELLS, min_size=1, max_size=6))
def test_what_is_guessed_reads_alike_by_what_was_guessed(cells):
    path = written([{"c": cell, "x": "0.5"} for cell in cells])
    try:
        strict = fb.read(path, "label")
    except DataError:
        return
    again = fb.read(path, "label", reading=strict.reading)
    same(strict, again, slice(None))
    lenient = read_any_cells(path, "label", reading=strict.reading)
    same(strict.replace(columns={n: c.astype(float) if c.dtype == bool else c for n, c in strict.columns.items()}),
         lenient, slice(None))  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(labels=st.lists(CELLS, min_size=2, max_size=6), other=CELLS)
def test_one_label_changes_no_other(labels, other):
    found = []
    for last in (labels[-1], other):
        path = written([{"x": "1", "label": label} for label in [*labels[:-1], last]])
        table = read_any_cells(path, "label", reading=Reading({"x": Number()}))
        found.append([category_name(label) for label in table.labels.tolist()[:-1]])
    assert found[0] == found[1]


def test_vectors_have_the_agreed_width(tmp_path):
    path = tmp_path / "mine.parquet"
    pd.DataFrame({"e": [[1.0, 2.0], [3.0], None], "label": list("aba")}).to_parquet(path)
    table = read_any_cells(path, "label", reading=Reading({"e": Vector(width=2)}))
    np.testing.assert_array_equal(table.columns["e"], [[1, 2], [np.nan, np.nan], [np.nan, np.nan]])


def test_options_say_how_the_owner_writes(tmp_path):
    rows = [{"dose": "1,234", "day": "03/04/2020", "name": "Ann"}]
    reading = Reading.from_json(Reading({"dose": KINDS["german"], "day": KINDS["american"]}).to_json())
    told = fb.ReadOptions(decimal=",", dates=("day=mdy",))
    assert np.isnan(any_table(rows, reading=reading).columns["dose"]).all()  # could be either
    table = any_table(rows, told, reading)
    assert (table.columns["dose"][0], table.columns["day"][0]) == (1.234, 18325)
    assert "name" not in table.columns


@pytest.mark.parametrize("label", ["", "?", "x"])
def test_a_missing_label_is_a_class_that_nobody_has(label):
    table = any_table([{"number": "1", "label": "a"}, {"number": "2", "label": label}],
                      reading=Reading({"number": Number()}))  # fmt: skip
    assert table.labels.tolist() == ["a", label or "(missing)"]


def test_a_reading_of_another_party_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("fedbary.data.encoders.MOST_NUMBERS", 1000)
    rows = [{"a": "1", "b": "2"}] * 5
    wide = {"a": Vector(width=190), "b": Text(encoder="hashing:16")}
    with pytest.raises(DataError, check=coded("encoders.too-many-numbers")):
        any_table(rows, reading=Reading(wide))
    assert len(any_table(rows, reading=Reading({"a": wide["a"]}))) == 5


def test_a_library_that_stumbles_over_one_text_loses_that_text_alone(monkeypatch):
    from fedbary.data.encoders import encoder

    encode = encoder._hashed

    def stumbling(batch, width):
        if any("odd" in text for text in batch):
            raise RuntimeError("a bug of a library")
        return encode(batch, width)

    monkeypatch.setattr(encoder, "_hashed", stumbling)
    text = Reading({"text": Text(encoder="hashing:16")})
    table = any_table([{"text": one} for one in ("dry cough", "an odd one", "fever and cough")], reading=text)
    assert np.isnan(table.columns["text"]).any(axis=1).tolist() == [False, True, False]
