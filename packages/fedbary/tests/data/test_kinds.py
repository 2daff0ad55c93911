"""What kind each column is: by what is asked, by what was agreed, and else by rules that are noted."""

import datetime

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.columns import BY_NAME, Number, Vector
from fedbary.data.reading import Reading
from fedbary.errors import DataError, SettingsError

ROWS = 30
DAYS = pd.date_range("2020-02-28", periods=ROWS, freq="36h")
NAMES = [f"Ann {row}" for row in range(ROWS)]
SENTENCES = [f"The patient in bed {row} slept well and ate little." for row in range(ROWS)]


def read(column, *, rows=ROWS, beside=True, reading=None, **options):
    """A table of a column ``c``, beside a number."""
    frame = pd.DataFrame({"c": column} | ({"x": np.linspace(0.1, 0.9, rows)} if beside else {}) | {"label": 0})
    return fb.Table.from_frame(frame, options=fb.ReadOptions(**options), reading=reading)


def codes(table):
    return [note.code for note in table.notes]


@pytest.mark.parametrize(
    ("column", "kind", "noted"),
    [
        (np.linspace(0, 1, ROWS), "number", []),
        (np.arange(ROWS) % 7, "number", []),
        ([True, False] * 15, "boolean", []),
        (["true", "False"] * 15, "boolean", []),
        (["yes", "NO", None] * 10, "boolean", ["read-as-booleans"]),
        (["true", "false", "perhaps"] * 10, "category", []),
        (["y", "n"] * 15, "boolean", ["read-as-booleans"]),
        (["WAHR", "FALSCH"] * 15, "boolean", ["read-as-booleans"]),
        (["f"] * ROWS, "category", []),  # of one sex, or not at all
        (["f", "m"] * 15, "category", []),
        (["cook", "nurse", None] * 10, "category", []),
        (["007", "012"] * 15, "category", []),
        (pd.Categorical(["S", "L"] * 15, ["S", "M", "L"], ordered=True), "ordered", []),
        (pd.Categorical(NAMES), "category", []),
        (DAYS, "date", []),
        (DAYS.tz_localize("Asia/Tokyo"), "date", []),
        (DAYS.date, "date", []),
        (pd.period_range("2020-01", periods=ROWS, freq="M"), "date", []),
        (DAYS.strftime("%Y-%m-%d"), "date", ["read-as-dates"]),
        (DAYS.strftime("%d.%m.%y"), "date", ["read-as-dates"]),
        (DAYS.strftime("%m/%d/%Y %H:%M"), "date", ["read-as-dates"]),
        (DAYS.strftime("%d %b %Y"), "date", ["read-as-dates"]),
        (DAYS.strftime("%Y%m%d").astype(int), "date", ["read-as-dates"]),
        ([*DAYS.strftime("%Y%m%d")[:-1], "?"], "date", ["read-as-dates", "marks-of-missing-cells"]),
        (DAYS.strftime("%Y%m%d").astype(int) + 9900, "number", []),
        (DAYS - DAYS[0], "number", []),
        ([datetime.time(12, row) for row in range(ROWS)], "number", ["read-as-numbers"]),
        (["1,5", "2"] * 15, "number", ["read-as-numbers"]),
        (["€ 3", "12 €"] * 15, "number", ["read-as-numbers"]),
        (["3 kg", "4 g"] * 15, "category", []),
        (["3", "-", "unknown"] * 10, "number", ["read-as-numbers", "marks-of-missing-cells"]),
        (["cook", "?", "nurse"] * 10, "category", ["marks-of-missing-cells"]),
        ([1, "2", 3.5] * 10, "number", ["read-as-numbers"]),
        (NAMES, "identifier", ["left-out-all-different"]),
        (np.arange(ROWS) + 500, "identifier", ["left-out-row-numbers"]),
        (np.arange(ROWS)[::-1] + 1.0, "identifier", ["left-out-row-numbers"]),
        (np.arange(ROWS) + 1990, "number", []),
        ([[1.0, 2.0]] * ROWS, "vector", []),
    ],
)
def test_rules_by_type_and_by_what_all_cells_can_be_read_as(column, kind, noted):
    table = read(column)
    assert table.reading["c"].kind == kind
    assert codes(table) == [f"data.{code}" for code in noted]
    assert all(note.facts["columns"] == ("c",) for note in table.notes)
    assert table.column_names == table.reading.columns()


@pytest.mark.parametrize("name", ["id", "patient_id", "PatientID", "Sample Number", "Unnamed: 0"])
def test_whole_numbers_called_like_identifiers_are_left_out(name):
    frame = pd.DataFrame({name: np.arange(ROWS) * 7, "x": 0.5, "label": 0})
    table = fb.Table.from_frame(frame)
    assert (table.column_names, codes(table)) == (("x",), ["data.left-out-named-like-ids"])
    for asked in ("numeric", "categories", "columns"):
        assert name in fb.Table.from_frame(frame, options=fb.ReadOptions(**{asked: (name,)})).columns


def test_few_rows_are_different_by_chance():
    assert read(["cook", "nurse"], rows=2).reading["c"].kind == "category"
    assert read([1, 2], rows=2).reading["c"].kind == "number"


def test_dates_are_days_and_places_on_two_circles():
    table = read(["1970-01-01", "2020-12-31 06:00", None], rows=3)
    assert table.column_names == ("c", "c (month)", "c (weekday)", "x")
    np.testing.assert_array_equal(table.columns["c"], [0, 18627.25, np.nan])
    np.testing.assert_allclose(table.columns["c (month)"][0], [1, 0])  # January
    month, weekday = 2 * np.pi * 11 / 12, 2 * np.pi * 3 / 7  # December, Thursday
    np.testing.assert_allclose(table.columns["c (month)"][1], [np.cos(month), np.sin(month)])
    np.testing.assert_allclose(table.columns["c (weekday)"][:2], [[np.cos(weekday), np.sin(weekday)]] * 2)
    assert np.isnan(table.columns["c (month)"][2]).all()


def test_an_ordered_category_is_the_place_of_its_level():
    table = read(["L", "S", "huge", None], rows=4, ordered=("c=S<M<L",))
    np.testing.assert_array_equal(table.columns["c"], [2, 0, np.nan, np.nan])
    with pytest.raises(SettingsError, check=parameter("ordered")):
        read(["L", "S"], rows=2, ordered=("c",))


def test_options_win_over_rules_and_over_what_was_agreed():
    zips = np.arange(ROWS) % 3 + 10115
    assert read(zips, categories=("c",)).columns["c"].tolist()[:2] == ["10115", "10116"]
    assert read(NAMES, drop=("c",)).reading["c"].kind == "dropped"
    assert read(zips, columns=("c",)).column_names == ("c",)
    assert read(np.arange(ROWS) + 1, numeric=("c",)).reading["c"].kind == "number"
    assert read([20200131, 20200201], rows=2, dates=("c",)).columns["c"].tolist() == [18292, 18293]
    frame = pd.DataFrame({"zip": zips, "label": 0})
    agreed = Reading({"zip": Number()})
    table = fb.Table.from_frame(frame, options=fb.ReadOptions(categories=("zip",)), reading=agreed)
    assert table.reading["zip"].kind == "category"


@pytest.mark.parametrize("option", ["columns", "drop", "dates", "categories", "numeric", "ordered"])
def test_options_that_name_no_column_guess_which_was_meant(option):
    value = "agee=S<L" if option == "ordered" else "agee"
    with pytest.raises(DataError, check=coded("data.option-without-column")) as caught:
        fb.Table.from_frame(pd.DataFrame({"age": [1], "label": [0]}), options=fb.ReadOptions(**{option: (value,)}))
    assert (caught.value.public["name"], caught.value.private["guess"]) == (option, " (did you mean 'age'?)")


def test_options_may_name_the_label_and_the_id():
    frame = pd.DataFrame({"age": [1, 2], "town": ["a", "b"], "who": ["p", "q"], "label": [0, 1]})
    table = fb.Table.from_frame(frame, id="who", options=fb.ReadOptions(columns=("who", "age", "label")))
    assert table.column_names == ("age",)


@pytest.mark.parametrize(
    ("column", "kind", "example"),
    [
        ([1, "old", "new"], "number", "'old'"),
        (["yes", "perhaps", "rarely"], "boolean", "'perhaps'"),
        ([0, 2, 3], "boolean", "2"),
        (["2020-01-01", "spring", None], "date", "'spring'"),
        (pd.to_datetime(["2020-01-01"] * 3), "number", "'2020-01-01T00:00:00.000000'"),
        (["a", "b", "c"], "vector", "'a'"),
    ],
)
def test_a_column_that_does_not_fit_what_was_agreed_is_left_out_and_refused_alone(column, kind, example):
    frame = pd.DataFrame({"c": column, "label": 0})
    agreed = Reading({"c": Vector(2) if kind == "vector" else BY_NAME[kind]()})
    with pytest.raises(DataError, check=coded("data.cell-does-not-fit")) as caught:
        fb.Table.from_frame(frame, reading=agreed)
    assert caught.value.private["example"] == example
    beside = fb.Table.from_frame(frame.assign(x=[0.5, 1.5, 2.5]), reading=agreed)
    assert (beside.column_names, beside.reading["c"].kind) == (("x",), "dropped")
    (note,) = beside.notes
    assert (note.code, note.facts["why"].code) == ("data.column-left-out", "data.cell-does-not-fit")


def test_few_cells_that_cannot_be_read_are_missing_and_counted():
    cells = ["old" if row in (3, 7) else f"{row}.5" for row in range(ROWS)]
    guessed, agreed = read(cells), read(cells, reading=Reading({"c": Number()}))
    for table in (guessed, agreed):
        assert np.flatnonzero(np.isnan(table.columns["c"])).tolist() == [3, 7]
        (note,) = [note for note in table.notes if note.code == "data.cells-unread"]
        assert (note.facts["count"], note.facts["row"], note.facts["example"]) == (2, 3, "'old'")


def test_agreed_kinds_are_read_from_whatever_type_a_column_has():
    frame = pd.DataFrame({"paid": [0, 1, 1], "zip": [1.0, 2.5, None], "dose": ["1,5", "2", "?"], "label": 0})
    kinds = {"paid": "boolean", "zip": "category", "dose": "number"}
    table = fb.Table.from_frame(frame, reading=Reading({name: BY_NAME[kind]() for name, kind in kinds.items()}))
    assert table.columns["paid"].tolist() == [False, True, True]
    assert table.columns["zip"].tolist() == ["1", "2.5", None]
    np.testing.assert_array_equal(table.columns["dose"], [1.5, 2, np.nan])
    assert table.notes == ()


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (["03/04/2020", "05/06/2020"], "dates-unclear"),
        (["13/04/2020", "04/13/2020"], "dates-unclear"),
        (["1,234", "5,678"], "decimal-unclear"),
        (["1,5", "2.5"], "decimal-unclear"),
        (["€ 1.234", "€ 5.678"], "decimal-unclear"),
        (["2020-01-01", "2020-01-02", "spring"] * 6, "mixed-column"),
        (["1,5", "2,5", "much"] * 6, "mixed-column"),
    ],
)
def test_what_could_be_two_things_is_left_out_and_refused_alone(column, code):
    (note,) = [note for note in read(column, rows=len(column)).notes if note.code == "data.column-left-out"]
    assert note.facts["why"].code == f"data.{code}"
    with pytest.raises(DataError, check=coded(f"data.{code}")):
        read(column, rows=len(column), beside=False)


def test_whoever_says_which_is_understood():
    assert read(["03/04/2020"] * 2, rows=2, dates=("c=dmy",)).columns["c"][0] == 18355
    assert read(["03/04/2020"] * 2, rows=2, dates=("c=mdy",)).columns["c"][0] == 18325
    assert read(["1,234"] * 2, rows=2, decimal=",").columns["c"][0] == 1.234
    assert read(["1,234"] * 2, rows=2, decimal=".").columns["c"][0] == 1234


def test_a_column_of_a_date_may_not_be_there_already():
    frame = pd.DataFrame({"day": ["2020-01-01"], "day (month)": [1], "label": [0]})
    with pytest.raises(DataError, check=coded("data.column-twice")):
        fb.Table.from_frame(frame)


def test_labels_lose_blanks_and_decimal_commas():
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "label": [" ill", "well ", "ill"]})
    assert fb.Table.from_frame(frame).labels.tolist() == ["ill", "well", "ill"]
    assert fb.Table.from_frame(frame.assign(label=["1,5", "2", "3,25"])).labels.tolist() == [1.5, 2.0, 3.25]
    with pytest.raises(DataError, check=coded("data.decimal-unclear")):
        fb.Table.from_frame(frame.assign(label=["1,5", "2", "3,250"]))


@pytest.mark.parametrize("labels", [["ill", " ", "well"], ["ill", None, "well"], [1, None, 30], [0.5, np.nan, 1.5]])
def test_rows_without_a_label_are_left_out_and_counted(labels):
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "label": labels})
    whole = frame.iloc[[0, 2]].assign(label=[labels[0], labels[2]])
    arrays = fb.Table.from_arrays(frame[["x"]].to_numpy(), labels, columns=["x"])
    for table in (fb.Table.from_frame(frame), arrays):
        assert table.columns["x"].tolist() == [1.0, 4.0]
        assert table.labels.dtype == fb.Table.from_frame(whole).labels.dtype
        assert table.row_names.tolist() == [0, 2]
        (note,) = table.notes
        assert (note.code, note.facts["count"], note.facts["rows"]) == ("data.rows-without-label", 1, 3)


def test_free_text_is_left_out_unless_it_is_asked_for_or_alone():
    beside = read(SENTENCES)
    assert beside.column_names == ("x",)
    (note,) = beside.notes
    assert (note.code, note.facts["column"], note.facts["why"].code) == ("data.column-left-out", "c", "data.free-text")
    asked, alone = read(SENTENCES, encoder="hashing:64"), read(SENTENCES, beside=False)
    assert asked.columns["c"].shape == (ROWS, 64)
    assert (asked.reading["c"].kind, asked.reading["c"].encoder) == ("text", "hashing:64")
    assert asked.reading["c"].digest
    assert codes(alone) == ["data.encoded-by-hashing"]
    assert read(SENTENCES, drop=("c",)).column_names == ("x",)
    again = fb.Table.from_frame(pd.DataFrame({"c": ["Slept badly."], "label": 0}), reading=asked.reading)
    assert again.columns["c"].shape == (1, 64)


def test_many_different_names_are_no_categories():
    names = [f"{row % 240} Main Street" for row in range(300)]
    (note,) = read(names, rows=300).notes
    assert note.facts["why"].facts["different"] == 240


def test_points_beside_decimal_commas_are_doubted(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("size;income;label\n1,5;1.250;a\n2,5;12.300;b\n0,5;900;a\n")
    (note,) = [note for note in fb.read(path, "label").notes if note.code == "data.points-beside-commas"]
    assert note.facts["columns"] == ("income",)
    told = fb.read(path, "label", options=fb.ReadOptions(decimal=","))
    assert told.columns["income"].tolist() == [1250.0, 12300.0, 900.0]
    assert "data.points-beside-commas" not in codes(told)


def test_an_example_in_an_error_stays_short():
    with pytest.raises(DataError, check=coded("data.foreign-values")) as caught:
        read([{str(key): key for key in range(1000)}] * ROWS, beside=False)
    assert len(str(caught.value)) < 300
    with pytest.raises(SettingsError, check=parameter("clients")) as asked:
        fb.value([pd.DataFrame({"age": range(100)})], label="age")
    assert "\n" not in str(asked.value)
