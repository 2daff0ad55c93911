"""What is certain is corrected in a copy, each change is listed, and every other cell stays as it is written."""

import csv

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError

HEADER = ["dose", "zip", "city", "note", "ill"]


def lines(path, separator=","):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=separator))


@pytest.fixture
def messy(tmp_path):
    """Semicolons, decimal commas, marks of missing cells, spellings; beside it what others agreed on."""
    rng = np.random.default_rng(0)
    rows = [
        [f"{dose:.2f}".replace(".", ","), f"{zip_:05}", city, 'say "no"; or not', ill]
        for dose, zip_, city, ill in zip(
            rng.normal(50, 9, 60), range(60), ["Bern", "Oslo"] * 30, ["benign", "malignant", "benign"] * 20, strict=True
        )
    ]
    rows[3][0], rows[4][0], rows[8][0] = "-", "n/a", "1.234,5"
    rows[5][2], rows[6][4], rows[7][4] = "OSLO", "Benign ", "b"
    path = tmp_path / "mine.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows([HEADER, *rows])
    reference = pd.DataFrame(
        {
            "dose": rng.normal(50, 9, 80),
            "city": ["Bern", "Oslo"] * 40,
            "note": "say",
            "ill": ["benign", "malignant"] * 40,
        }
    )
    return path, reference, rows


def test_a_copy_differs_in_nothing_but_what_is_listed(messy, tmp_path):
    path, reference, rows = messy
    options = fb.ReadOptions(categories=("zip",))
    found = fb.check(path, "ill", reference=reference.assign(zip="00001"), options=options)
    changes = {(one.code, one.column): one for one in found.fix(tmp_path / "fixed.csv")}
    assert set(changes) == {
        ("checkup.fixed-numbers", "dose"),
        ("checkup.fixed-missing", "dose"),
        ("checkup.fixed-levels", "city"),
        ("checkup.fixed-labels", "ill"),
    }
    assert changes["checkup.fixed-labels", "ill"].changes == {"Benign ": "benign"}
    assert changes["checkup.fixed-numbers", "dose"].count == 58
    header, *copied = lines(tmp_path / "fixed.csv", ";")
    assert header == HEADER
    differing = [(row, place) for row in range(60) for place in range(5) if copied[row][place] != rows[row][place]]
    assert {place for _, place in differing} == {0, 2, 4}
    assert [(row, place) for row, place in differing if place] == [(5, 2), (6, 4)]
    assert (copied[3][0], copied[8][0]) == ("", "1234.5")
    assert (copied[5][2], copied[6][4], copied[7][4]) == ("Oslo", "benign", "b")


def test_the_copy_reads_like_the_table_and_needs_no_fix(messy, tmp_path):
    path, _, _ = messy
    again = tmp_path / "fixed.csv"
    found = fb.check(path, "ill")
    assert found.fix(again)
    one, other = fb.read(path, "ill"), fb.read(again, "ill")
    np.testing.assert_array_equal(one.columns["dose"], other.columns["dose"])
    assert fb.check(again, "ill").fix(tmp_path / "twice.csv") == ()
    assert again.read_text() == (tmp_path / "twice.csv").read_text()
    assert again.stat().st_mode & 0o777 == 0o600


def test_what_is_not_certain_stays(tmp_path):
    frame = pd.DataFrame({"age": np.linspace(20, 70, 40), "ill": ["yes", "no", "1", "Yes"] * 10})
    frame.loc[:4, "age"] = -999.0
    frame.to_csv(tmp_path / "mine.csv", index=False)
    found = fb.check(tmp_path / "mine.csv", "ill")
    assert found.fix(tmp_path / "fixed.csv") == ()
    assert (tmp_path / "fixed.csv").read_text() == (tmp_path / "mine.csv").read_text()


def test_a_decimal_comma_that_was_asked_for_is_corrected_too(messy, tmp_path):
    path, _, _ = messy
    (numbers, *_) = fb.check(path, "ill", options=fb.ReadOptions(decimal=",")).fix(tmp_path / "fixed.csv")
    assert (numbers.column, numbers.count) == ("dose", 58)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_other_formats_and_frames_are_written_from_what_was_read(tmp_path, suffix):
    frame = pd.DataFrame({"dose": ["1,5", "2,5", "?"] * 10, "whole": range(30), "ill": ["a ", "b", "b"] * 10})
    changes = fb.check(frame, "ill").fix(tmp_path / f"fixed{suffix}")
    assert [one.column for one in changes] == ["dose", "dose", "ill"]
    again = pd.read_parquet(tmp_path / "fixed.parquet") if suffix == ".parquet" else pd.read_csv(tmp_path / "fixed.csv")
    assert again["ill"].tolist() == ["a", "b", "b"] * 10
    assert again["whole"].tolist() == list(range(30))
    frame.to_parquet(tmp_path / "mine.parquet")
    assert len(fb.check(tmp_path / "mine.parquet", "ill").fix(tmp_path / f"again{suffix}")) == 3


def test_a_copy_never_takes_the_place_of_the_table(messy):
    path, _, _ = messy
    with pytest.raises(DataError, check=coded("checkup.fix-over-itself")):
        fb.check(path, "ill").fix(path)
    with pytest.raises(DataError, check=coded("data.no-folder")):
        fb.check(path, "ill").fix(path.parent / "no" / "fixed.csv")
    with pytest.raises(DataError, check=coded("checkup.nothing-to-fix")):
        fb.check(fb.datasets.load("digits").train).fix(path.parent / "fixed.csv")


def test_a_copy_never_takes_the_place_of_a_part_of_the_table_or_adds_one(tmp_path):
    frame = pd.DataFrame({"dose": ["1,5", "2,5", "?"] * 10, "ill": ["a", "b", "b"] * 10})
    (tmp_path / "mine").mkdir()
    frame.to_parquet(tmp_path / "mine" / "part-0.parquet")
    for name in ("part-0.parquet", "part-1.parquet"):
        with pytest.raises(DataError, check=coded("checkup.fix-over-itself")):
            fb.check(tmp_path / "mine", "ill").fix(tmp_path / "mine" / name)
