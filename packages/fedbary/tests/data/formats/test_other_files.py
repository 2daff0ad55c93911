"""Parquet folders, Feather, JSON lines and Excel hold the same cells as CSV; damage is one sentence."""

import datetime
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from codes import coded
from fedbary.data.files import read, read_clients
from fedbary.data.formats import opened
from fedbary.data.formats.arrow_files import part_files
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError

FRAME = pd.DataFrame(
    {
        "age": [31.5, None, 52.0, 47.25],
        "job": ["cook", "nurse", None, "ö€"],
        "smokes": [True, False, True, True],
        "label": ["yes", "no", "yes", "no"],
    }
)


def write(path, frame=FRAME):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif path.suffix in (".jsonl", ".ndjson"):
        frame.to_json(path, orient="records", lines=True, double_precision=15, date_format="iso")
    elif path.suffix == ".json":
        frame.to_json(path, orient="records", double_precision=15, date_format="iso")
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".arrow":  # a stream, as Hugging Face keeps it
        table = pa.Table.from_pandas(frame)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    else:
        frame.to_feather(path)
    return path


def cells(path, most=None, **options):
    with opened(path, ReadOptions(**options), most) as found:
        return found


FILES = ["t.parquet", "t.feather", "t.arrow", "t.jsonl", "t.ndjson", "t.json", "t.xlsx", "t.csv"]


@pytest.mark.parametrize("name", FILES)
def test_every_format_holds_the_same_table(tmp_path, name):
    """Also dates, which some formats know and others write, and whole numbers with gaps."""
    frame = pd.concat([FRAME] * 5, ignore_index=True)
    frame["admitted"] = pd.Timestamp("2024-01-31 06:00") + pd.to_timedelta(np.arange(20) % 7, unit="D")
    frame["beds"] = pd.array([3, None, 12, 7, 0] * 4, dtype="Int64")
    table, expected = (read(write(tmp_path / one, frame), "label") for one in (name, "plain.csv"))
    assert table.column_names == expected.column_names
    assert table.reading == expected.reading
    assert {"date", "boolean", "number", "category"} == {column.kind for column in table.reading.values()}
    for column in table.columns:
        np.testing.assert_array_equal(table.columns[column], expected.columns[column])
    assert table.labels.tolist() == expected.labels.tolist()


@pytest.mark.parametrize("name", FILES)
def test_the_first_rows_are_those_of_the_file(tmp_path, name):
    pd.testing.assert_frame_equal(
        cells(write(tmp_path / name), most=2).frame.reset_index(drop=True), FRAME[:2], check_dtype=False
    )


def test_a_folder_of_part_files_is_one_table(tmp_path):
    write(tmp_path / "ward" / "part-0.parquet", FRAME[:2])
    write(tmp_path / "ward" / "part-1.parquet", FRAME[2:])
    (tmp_path / "ward" / "_SUCCESS").touch()
    write(tmp_path / "ward" / "_temporary" / "part-2.parquet")
    pd.testing.assert_frame_equal(cells(tmp_path / "ward").frame, FRAME)
    assert len(cells(tmp_path / "ward", most=3).frame) == 3


def test_folders_called_after_values_are_a_column(tmp_path):
    for year, part in ((2023, FRAME[:2]), (2024, FRAME[2:])):
        write(tmp_path / "ward" / f"year={year}" / "part-0.parquet", part)
    pd.testing.assert_frame_equal(
        cells(tmp_path / "ward").frame, FRAME.assign(year=[2023, 2023, 2024, 2024]), check_dtype=False
    )


def test_part_files_may_lack_columns_and_hold_other_numbers(tmp_path):
    write(tmp_path / "ward" / "a.parquet", pd.DataFrame({"x": [1, 2], "label": ["a", "b"]}))
    write(tmp_path / "ward" / "b.parquet", pd.DataFrame({"x": [0.5], "z": ["new"], "label": ["a"]}))
    frame = cells(tmp_path / "ward").frame
    assert frame["x"].tolist() == [1.0, 2.0, 0.5]
    assert frame["z"].isna().tolist() == [True, True, False]


def test_part_files_that_do_not_fit_are_one_sentence(tmp_path):
    write(tmp_path / "ward" / "a.parquet", pd.DataFrame({"x": [1, 2], "label": ["a", "b"]}))
    write(tmp_path / "ward" / "b.parquet", pd.DataFrame({"x": ["one"], "label": ["a"]}))
    with pytest.raises(DataError, check=coded("formats.damaged")):
        cells(tmp_path / "ward")


def test_a_delta_table_is_refused_as_its_folder_holds_rows_that_were_deleted(tmp_path):
    write(tmp_path / "ward" / "a.parquet")
    (tmp_path / "ward" / "_delta_log").mkdir()
    with pytest.raises(DataError, check=coded("formats.delta-table")):
        cells(tmp_path / "ward")


def test_clients_may_be_folders(tmp_path):
    write(tmp_path / "north" / "part-0.parquet")
    write(tmp_path / "south" / "year=2024" / "part-0.parquet")
    write(tmp_path / "west.csv")
    write(tmp_path / "schema.json")
    (tmp_path / "README.txt").write_text("about these")
    (tmp_path / "empty").mkdir()
    assert list(read_clients(tmp_path, "label")) == ["north", "south", "west"]
    assert list(read_clients(tmp_path / "south", "label")) == ["south"]
    assert list(read_clients(f"{tmp_path}/*o*th", "label")) == ["north", "south"]
    assert list(part_files(tmp_path / "empty")) == []


def test_records_need_not_have_all_keys(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "label": "x"}\n\n{"label": "y", "b": null, "c": [1, 2]}\n')
    frame = cells(tmp_path / "t.jsonl").frame
    assert list(frame.columns) == ["a", "label", "b", "c"]
    assert frame["a"].isna().tolist() == [False, True]


def test_what_is_nested_is_left_out_by_its_column(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "home": {"city": "Oslo"}, "label": "x"}\n' * 2)
    (note,) = read(tmp_path / "t.jsonl", "label").notes
    assert (note.facts["column"], note.facts["why"].code) == ("home", "data.foreign-values")


def test_numbers_in_json_are_those_of_their_texts(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 0.1234567890123456789, "label": 12345678901234567}\n')
    frame = cells(tmp_path / "t.jsonl").frame
    assert (frame["a"][0], frame["label"][0]) == (float("0.1234567890123456789"), 12345678901234567)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl", "[1, 2]"),
        ("t.jsonl", "3\n"),
        ("t.jsonl", '{"a": 1'),
        ("t.json", '{"a": [1, 2], "label": [3, 4'),
        ("t.json", "[" * 100_000),
        ("t.json", "[]"),
        ("t.jsonl", '{"a": ' + "[" * 100_000 + "}"),
        ("t.jsonl", '{"a": ' + "9" * 5000 + "}"),
        ("t.feather", "FEA1 and so on"),
        ("t.feather", "no feather"),
        ("t.arrow", "ARROW1 and so on"),
        ("t.xlsx", "no zip"),
        ("t.parquet", "PAR1 and so on"),
    ],
)
def test_what_is_damaged_is_one_sentence(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, check=coded("formats.damaged")) as caught:
        cells(tmp_path / name)
    assert "\n" not in str(caught.value)


def sheets(path, **rows):
    openpyxl = pytest.importorskip("openpyxl")

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, found in rows.items():
        sheet = book.create_sheet(name)
        for row in found:
            sheet.append(row)
    book.save(path)
    return path


def test_the_first_sheet_is_read_unless_another_is_asked_for(tmp_path):
    path = sheets(tmp_path / "t.xlsx", Ward=[["age", "label"], [31, "x"]], Staff=[["shoes", "label"], [42, "y"]])
    found = cells(path)
    assert [(note.code, note.facts["sheet"]) for note in found.notes] == [("formats.guessed-sheet", "Ward")]
    assert list(found.frame.columns) == ["age", "label"]
    assert list(cells(path, sheet="Staff").frame.columns) == ["shoes", "label"]
    assert cells(path, sheet="Staff").notes == ()
    with pytest.raises(DataError, check=coded("formats.no-sheet")) as caught:
        cells(path, sheet="staff")
    assert "Staff" in caught.value.private["guess"]


def test_a_sheet_may_have_margins_errors_and_dates(tmp_path):
    day = datetime.datetime(2024, 1, 31)
    rows = [
        [],
        [None, "age", "day", 2024, "label", None],
        [],
        [None, 31, day, "#N/A", "x"],
        [None, " ", None, 1.5, "y"],
    ]
    frame = cells(sheets(tmp_path / "t.xlsx", Ward=rows)).frame
    assert list(frame.columns) == ["age", "day", "2024", "label"]
    assert frame["age"].isna().tolist() == frame["day"].isna().tolist() == [False, True]
    assert frame["2024"].isna().tolist() == [True, False]
    assert frame["day"][0] == day


def test_row_numbers_of_a_sheet_are_left_out(tmp_path):
    FRAME.to_excel(tmp_path / "t.xlsx")
    found = cells(tmp_path / "t.xlsx")
    assert list(found.frame.columns) == list(FRAME.columns)
    assert [note.code for note in found.notes] == ["formats.row-numbers"]
    with pytest.raises(DataError, check=coded("data.column-without-name")) as caught:
        cells(sheets(tmp_path / "u.xlsx", Ward=[["age", None, "label"], [1, 2, 3]]))
    assert caught.value.private["position"] == 2


@pytest.mark.parametrize("rows", [[], [[None]], [["age", "label"]]])
def test_a_sheet_without_rows_is_refused(tmp_path, rows):
    with pytest.raises(DataError, check=coded("data.file-empty", "data.header-only")):
        read(sheets(tmp_path / "t.xlsx", Ward=rows), "label")


def test_a_sheet_that_says_it_has_a_billion_rows_does_not_keep_anybody_waiting(tmp_path):
    path = sheets(tmp_path / "t.xlsx", Ward=[["age", "label"], [31, "x"]])
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as far:
        for member in whole.infolist():
            content = whole.read(member)
            far.writestr(member, content.replace(b'<row r="2"', b'<row r="2000000000"'))
    assert len(cells(tmp_path / "far.xlsx").frame) == 0


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.xlsx"])
def test_more_cells_than_fit_a_machine_are_refused(tmp_path, monkeypatch, name):
    path = write(tmp_path / name)
    monkeypatch.setattr("fedbary.data.formats.cells.MAX_CELLS", 7)
    with pytest.raises(DataError, check=coded("formats.too-many-cells")):
        cells(path)


def test_an_excel_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "t.xlsx", pd.concat([FRAME] * 500))
    monkeypatch.setattr("fedbary.data.formats.cells.MAX_FILE_BYTES", path.stat().st_size + 1)
    with pytest.raises(DataError, check=coded("data.file-too-large")):
        cells(path)


@pytest.mark.parametrize("name", ["t.xls", "t.ods"])
def test_other_spreadsheets_are_refused_with_what_to_do(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(DataError, check=coded("formats.other-spreadsheet")):
        cells(tmp_path / name)


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, check=coded("formats.no-openpyxl")):
        cells(path)
