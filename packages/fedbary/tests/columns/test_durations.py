"""Lengths of time: the texts that are some, each read alone, and columns that are and are not taken for them."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import parameter
from fedbary.columns import BY_NAME, Category, Duration, Number
from fedbary.columns.column import distinct
from fedbary.data.files import read_any_cells
from fedbary.data.reading import Difference, Reading
from fedbary.errors import FedbaryError

LABELS = ["a", "b"] * 15


def read(cells, **asked):
    frame = pd.DataFrame({"stay": cells, "age": np.arange(30) + 0.5, "label": LABELS})
    return fb.Table.from_frame(frame, **asked)


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("90 min", 1.5), ("01:30:00", 1.5), ("1d 2h", 26.0), ("1 day, 2 hours", 26.0), ("2h30m", 2.5), ("45s", 0.0125),
        ("1 Week", 168.0), ("1.5 H", 1.5), ("-2 h", -2.0), ("100:00:30", 100 + 1 / 120), ("2 days 01:00:00", 49.0),
        ("90", np.nan), ("1h h", np.nan), ("2h 1d", np.nan), ("1:75:00", np.nan), ("soon", np.nan),
        ("3 months", np.nan),
    ],
)  # fmt: skip
def test_a_text_is_a_length_of_time_by_itself(text, hours):
    alone, unread = Duration().read(distinct(np.array([text], dtype=object)))
    assert alone == pytest.approx([hours], nan_ok=True)
    assert unread.tolist() == [np.isnan(hours)]
    among, _ = Duration().read(distinct(np.array(["1 h", None, text, "?"], dtype=object)))
    assert among == pytest.approx([1.0, np.nan, hours, np.nan], nan_ok=True)


def test_what_was_a_category_is_guessed_and_nothing_else():
    table = read(["90 min", "1d 2h", "01:30:00", "2h 5m 6s", "?"] * 6)
    assert table.reading["stay"] == Duration()
    assert table.columns["stay"][:5] == pytest.approx([1.5, 26.0, 1.5, 2.085, np.nan], nan_ok=True)
    assert [note.code for note in table.notes] == ["data.read-as-numbers", "data.marks-of-missing-cells"]
    assert read(["01:30:00", "02:00:00"] * 15).reading["stay"] == Number()  # as before: times of day
    assert read(["90 min", "20 min"] * 15).reading["stay"] == Number()  # as before: numbers with one unit
    assert read(["1d 2h", "2h 5m", "long"] * 10).reading["stay"] == Category()
    assert read([f"{row} h {row} min" for row in range(30)]).reading["stay"].kind == "identifier"  # as before
    assert read(["2 h", "90 min"] * 15, options=fb.ReadOptions(categories=("stay",))).reading["stay"] == Category()


def test_an_owner_says_it_and_others_are_told(tmp_path):
    said = fb.ReadOptions(kinds=("stay=duration",))
    cells = [f"{row} h {row} min" for row in range(30)]
    assert read(cells, options=said).columns["stay"][30 // 2] == 15.25
    agreed = Reading.from_json(read(cells, options=said).reading.to_json())
    assert agreed == Reading({"stay": Duration(), "age": Number()})
    pd.DataFrame({"stay": ["1 h", "soon", "01:30:00"], "label": ["a", "b", "a"]}).to_csv(
        tmp_path / "x.csv", index=False
    )
    private = read_any_cells(tmp_path / "x.csv", "label", reading=Reading({"stay": Duration()}))
    assert private.columns["stay"] == pytest.approx([1.0, np.nan, 1.5], nan_ok=True)
    facts = Difference("stay", Number(), Duration()).facts()
    assert (facts["name"], facts["value"]) == ("kinds", "stay=duration")
    with pytest.raises(FedbaryError, check=parameter("kinds")):
        read(cells, options=fb.ReadOptions(kinds=("stay=number",)))


@pytest.mark.parametrize("text", ["9" * 120 + " h", "-" + "9" * 400 + " h", "9" * 400 + ":00:00"])
def test_what_nothing_measures_is_missing_and_refuses_no_table(tmp_path, text):
    """With ε a table that is refused for one cell would tell of its row."""
    pd.DataFrame({"stay": ["1 h", text], "label": ["a", "b"]}).to_csv(tmp_path / "x.csv", index=False)
    private = read_any_cells(tmp_path / "x.csv", "label", reading=Reading({"stay": Duration()}))
    assert private.columns["stay"] == pytest.approx([1.0, np.nan], nan_ok=True)
    table = read(["1 h", "90 min"] * 14 + ["2 h", text])
    assert np.isnan(table.columns["stay"][-1])
    assert "data.cells-unread" in [note.code for note in table.notes]


def test_a_schema_of_durations_takes_them():
    table = read(["90 min", "2 h"] * 15)
    schema = fb.fit_schema(table)
    assert schema.reading["stay"] == BY_NAME["duration"]()
    assert fb.Schema.from_json(schema.to_json()).fingerprint == schema.fingerprint
