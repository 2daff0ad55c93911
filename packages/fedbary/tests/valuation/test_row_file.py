"""Row values on disk: the same frame in parts as in one, and a column at a time where there are many rows."""

import os

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError
from fedbary.guard.owner_files import load_owner_view, owner_view, save_owner_view
from fedbary.notes import Note
from fedbary.valuation import storage
from fedbary.valuation.rows import RowFacts, ScoredRows, few_texts
from fedbary.valuation.storage import read_rows, write_rows

ROWS = 100
RNG = np.random.default_rng(0)
FACTS = RowFacts(Note("valuation.flags-none"), suspects=3)
KINDS = {
    "classes": {
        "row": np.arange(ROWS),
        "value": RNG.normal(size=ROWS),
        "p_value": np.where(np.arange(ROWS) < 70, RNG.random(ROWS), np.nan),
        "flag": RNG.random(ROWS) < 0.1,
        "suspect": RNG.random(ROWS) < 0.1,
        # Nothing in the first part, and in the second one reason alone.
        "reason": few_texts(np.where(np.arange(ROWS) < 40, -1, 1), ["features", "label"]),
        "columns": few_texts(np.full(ROWS, -1), []),
        "suggested_label": few_texts(RNG.integers(0, 3, ROWS), ["a", "b", "ç"]),
    },
    "quantities": {
        "row": np.array([f"p{row}" for row in range(ROWS)], dtype=object),
        "value": RNG.normal(size=ROWS),
        "suggested_label": RNG.normal(size=ROWS),
    },
    "least": {"row": np.arange(ROWS), "value": RNG.normal(size=ROWS)},
}


@pytest.fixture(params=KINDS)
def scored(request):
    return ScoredRows(KINDS[request.param], FACTS)


@pytest.fixture
def many(monkeypatch):
    """A hundred rows are many, and come in parts."""
    monkeypatch.setattr(storage, "MOST_IN_CSV", 50)
    parts = ScoredRows.batches
    monkeypatch.setattr(ScoredRows, "batches", lambda self, rows=30: parts(self, rows))


def test_parts_are_the_frame_with_its_types(tmp_path, scored, many):
    (tmp_path / "rows.csv").write_text("of an earlier run")

    assert write_rows(scored, tmp_path / "rows") == [tmp_path / "rows.parquet"]

    assert not (tmp_path / "rows.csv").exists()
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), scored.frame)


def test_many_rows_are_read_a_column_at_a_time(tmp_path, scored, many):
    write_rows(scored, tmp_path / "rows")
    read = read_rows(tmp_path / "rows.parquet", FACTS)

    assert not isinstance(read.columns, dict)
    assert len(read) == ROWS
    assert set(read.columns) == set(scored.frame)
    assert "value" in read.columns
    assert read.columns.get("weight") is None
    assert (read.facts, read.flagged) == (FACTS, scored.flagged)
    np.testing.assert_array_equal(read.columns["value"], scored.columns["value"])
    pd.testing.assert_frame_equal(read.frame, scored.frame)
    pd.testing.assert_frame_equal(pd.concat(read.batches(), ignore_index=True), scored.frame)
    write_rows(read, tmp_path / "again")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "again.parquet"), scored.frame)


def test_few_rows_are_read_whole_and_have_a_csv(tmp_path, scored):
    names = [file.name for file in write_rows(scored, tmp_path / "rows")]
    read = read_rows(tmp_path / "rows.parquet", FACTS)

    assert names == ["rows.parquet", "rows.csv"]
    assert isinstance(read.columns, dict)
    assert len(pd.read_csv(tmp_path / "rows.csv")) == ROWS
    pd.testing.assert_frame_equal(read.frame, scored.frame)


def test_a_file_of_no_rows_has_its_columns(tmp_path):
    none = ScoredRows({"row": np.arange(0), "value": np.zeros(0)}, FACTS)

    write_rows(none, tmp_path / "rows")

    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), none.frame)


def test_a_folder_that_is_no_place_to_write_is_named(tmp_path, scored):
    with pytest.raises(DataError, check=coded("data.file-unwritable")):
        write_rows(scored, tmp_path / "nowhere" / "rows")


@pytest.fixture
def result():
    points, labels = RNG.normal(size=(2 * ROWS, 2)), RNG.integers(0, 2, 2 * ROWS)
    return fb.value({"north": (points[:ROWS], labels[:ROWS])}, (points[ROWS:], labels[ROWS:]), seed=0)


def test_a_result_of_many_rows_is_the_same_when_it_is_loaded(tmp_path, result, many):
    home = result.save(tmp_path / "result")

    again = fb.Valuation.load(home)

    assert sorted(file.name for file in (home / "rows").iterdir()) == ["north.parquet"]
    assert not isinstance(again.row_tables["north"].columns, dict)
    pd.testing.assert_frame_equal(again.rows("north"), result.rows("north"))
    assert again.row_facts("north") == result.row_facts("north")
    again.save(home)  # over the file that its rows are read from
    pd.testing.assert_frame_equal(fb.Valuation.load(home).rows("north"), result.rows("north"))


def test_rows_that_change_after_a_result_was_loaded_are_not_taken_for_its_own(tmp_path, result, many):
    home = result.save(tmp_path / "result")
    again = fb.Valuation.load(home)
    os.utime(home / "rows" / "north.parquet", ns=(0, 0))

    with pytest.raises(DataError, check=coded("valuation.part-damaged")):
        again.rows("north")
    (home / "rows" / "north.parquet").unlink()
    with pytest.raises(DataError, check=coded("valuation.part-damaged")):
        again.rows("north")


def test_rows_that_were_changed_are_refused_when_a_result_is_loaded(tmp_path, result, many):
    file = result.save(tmp_path / "result") / "rows" / "north.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])

    with pytest.raises(DataError, check=coded("valuation.part-damaged")):
        fb.Valuation.load(tmp_path / "result")


def test_an_owner_keeps_many_rows_alike(tmp_path, scored, many):
    save_owner_view(owner_view("me", scored, {"protocol": "sketch"}), tmp_path)
    view = load_owner_view(tmp_path)

    assert not (tmp_path / "rows.csv").exists()
    assert (tmp_path / "rows.parquet").stat().st_mode & 0o077 == 0
    pd.testing.assert_frame_equal(view.rows("me"), scored.frame)
    assert not isinstance(view.row_tables["me"].columns, dict)
