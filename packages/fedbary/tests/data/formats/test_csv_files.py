"""CSV files as they come: separators, encodings, row numbers and zips are guessed from the header, with a note."""

import gzip
import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from codes import coded
from fedbary.columns import Category, Number
from fedbary.data.files import read
from fedbary.data.formats import opened, table_suffix
from fedbary.data.formats.cells import clean_names
from fedbary.data.formats.text_files import first_line
from fedbary.data.options import ReadOptions
from fedbary.data.reading import Reading
from fedbary.errors import DataError

FRAME = pd.DataFrame(
    {"Größe": [1.5, 2.25, -3.0], "job": ["Köchin", "nurse; night", None], "label": ["ja", "nein", "ja"]}
)


def cells(path, content, *, reading=None, **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with opened(path, ReadOptions(**options), reading=reading) as found:
        return found


def codes(found):
    return [note.code for note in found.notes]


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
def test_the_header_says_what_separates_cells(tmp_path, separator, word):
    found = cells(tmp_path / "mine.csv", FRAME.to_csv(index=False, sep=separator))
    pd.testing.assert_frame_equal(found.frame, FRAME)
    assert [(note.code, note.facts["separator"]) for note in found.notes] == [("formats.guessed-separator", word)]


def test_what_is_usual_needs_no_note(tmp_path):
    assert cells(tmp_path / "mine.csv", FRAME.to_csv(index=False)).notes == ()
    assert cells(tmp_path / "mine.tsv", FRAME.to_csv(index=False, sep="\t")).notes == ()
    assert cells(tmp_path / "mine.csv", FRAME.to_csv(index=False, sep=";"), sep=";").notes == ()


def test_a_separator_that_was_asked_for_wins(tmp_path):
    found = cells(tmp_path / "mine.csv", "a;b,label\n1;2,x\n", sep=",")
    assert list(found.frame.columns) == ["a;b", "label"]
    assert cells(tmp_path / "mine.csv", "a b label\n1 2 x\n", sep=" ").frame.shape == (1, 3)


def test_separators_between_quotation_marks_do_not_count(tmp_path):
    found = cells(tmp_path / "mine.csv", '"a;b;c\nd;e",label\n1,x\n')
    assert list(found.frame.columns) == ["a;b;c\nd;e", "label"]


def test_rows_do_not_say_what_separates_cells(tmp_path):
    """With ε nothing may depend on how other rows look."""
    assert list(cells(tmp_path / "mine.csv", "a,label\n1;2;3;4,x\n").frame.columns) == ["a", "label"]


def test_the_line_with_which_excel_names_the_separator_is_none_of_the_table(tmp_path):
    found = cells(tmp_path / "mine.csv", "sep=;\r\nage;label\r\n31;yes\r\n")
    assert found.frame.to_dict("list") == {"age": [31], "label": ["yes"]}
    assert found.notes == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_say_what_they_are_need_no_note(tmp_path, encoding):
    found = cells(tmp_path / "mine.csv", FRAME.to_csv(index=False).encode(encoding))
    pd.testing.assert_frame_equal(found.frame, FRAME)
    assert found.notes == ()


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_what_is_not_utf8_is_windows_1252_with_a_note(tmp_path, encoding):
    found = cells(tmp_path / "mine.csv", FRAME.to_csv(index=False).encode(encoding))
    pd.testing.assert_frame_equal(found.frame, FRAME)
    assert codes(found) == ["formats.guessed-encoding"]


def test_every_cell_has_an_encoding_of_its_own(tmp_path):
    """One row in another encoding changes no other row; the five bytes that Windows-1252 lacks are no failure."""
    rows = ["ö€".encode(), "ö€".encode("cp1252"), b"\x81\x9d"]
    found = cells(tmp_path / "mine.csv", b"city,label\n" + b"".join(row + b",x\n" for row in rows))
    assert found.frame["city"].tolist() == ["ö€", "ö€", "\x81\x9d"]


def test_an_encoding_that_was_asked_for_is_the_only_one(tmp_path):
    assert cells(tmp_path / "mine.csv", "Ж,label\nж,x\n".encode("cp1251"), encoding="cp1251").frame["Ж"][0] == "ж"
    with pytest.raises(DataError, check=coded("formats.not-encoded")):
        cells(tmp_path / "mine.csv", "ö,label\n1,x\n".encode("latin-1"), encoding="utf-8")


def test_a_first_column_without_a_name_is_row_numbers_whatever_it_holds(tmp_path):
    for index in ([0, 1, 2], ["Mazda RX4", "Fiat 128", "Toyota"]):
        found = cells(tmp_path / "mine.csv", FRAME.set_axis(index).to_csv())
        pd.testing.assert_frame_equal(found.frame, FRAME)
        assert codes(found) == ["formats.row-numbers"]


def test_lines_and_columns_of_separators_alone_are_none(tmp_path):
    lines = FRAME.to_csv(index=False, sep=";").splitlines()
    blank = ";" * (FRAME.shape[1] - 1)
    filled = [line + ";;" for line in (*lines[:2], blank, *lines[2:], blank)]
    found = cells(tmp_path / "mine.csv", "\n".join([*filled, ""]))
    pd.testing.assert_frame_equal(found.frame, FRAME)


def test_columns_that_are_no_numbers_keep_their_zeros(tmp_path):
    text = "zip,ward,size,day,age,label\n01234,007,1,20240101,07,x\n"
    reading = Reading({"ward": Category(), "age": Number()})
    options = {"categories": "zip", "ordered": ("size=1<2",), "dates": "day"}
    frame = cells(tmp_path / "mine.csv", text, reading=reading, **options).frame
    assert frame.iloc[0].tolist() == ["01234", "007", "1", "20240101", 7, "x"]


def test_a_decimal_comma_that_was_asked_for_is_one(tmp_path):
    found = cells(tmp_path / "mine.csv", "a;b;label\n1,5;1.234;x\n2,25;2.000;y\n", decimal=",")
    assert found.frame["a"].tolist() == [1.5, 2.25]
    assert found.frame["b"].tolist() == ["1.234", "2.000"]


@pytest.mark.parametrize("name", ["mine.csv.zip", "mine.zip", "MINE.ZIP"])
def test_a_zip_of_one_file_is_read(tmp_path, name):
    members = {"mine.tsv": FRAME.to_csv(index=False, sep="\t"), "__MACOSX/._mine.tsv": "of macOS"}
    found = cells(tmp_path / name, zipped(members))
    pd.testing.assert_frame_equal(found.frame, FRAME)
    assert found.notes == ()


def test_a_zip_of_two_files_is_refused(tmp_path):
    with pytest.raises(DataError, check=coded("formats.zip-members")) as caught:
        cells(tmp_path / "mine.zip", zipped({"a.csv": "a,label\n1,2\n", "b.csv": "a,label\n1,2\n"}))
    assert caught.value.private["count"] == 2


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.zip"])
def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, name):
    text = b"a,label\n" + b"1,2\n" * 100_000
    monkeypatch.setattr("fedbary.data.formats.cells.MAX_FILE_BYTES", 2**18)
    content = gzip.compress(text) if name.endswith(".gz") else zipped({"a.csv": text})
    with pytest.raises(DataError, check=coded("data.file-too-large")):
        cells(tmp_path / name, content)


def test_notes_come_with_the_table(tmp_path):
    (tmp_path / "mine.csv").write_text("age;label\n31;yes\n45;no\n")
    assert "formats.guessed-separator" in [note.code for note in read(tmp_path / "mine.csv", "label").notes]


def test_digits_that_begin_with_a_zero_stay_as_they_are_written(tmp_path):
    """A postcode is no number, and 07 is not the 7 of another client; who says that it is a number gets one."""
    text = "zip,age,code,label\n01234,31,1,x\n98765,0,02,y\n,07.5,B3,y\n"
    frame = cells(tmp_path / "mine.csv", text).frame
    assert frame["zip"].tolist()[:2] == ["01234", "98765"]
    assert frame["age"].tolist() == [31, 0, 7.5]
    assert cells(tmp_path / "mine.csv", text, numeric="zip").frame["zip"].tolist()[:2] == [1234, 98765]
    reading = Reading({"zip": Number()})
    assert cells(tmp_path / "mine.csv", text, reading=reading).frame["zip"].tolist()[:2] == [1234, 98765]


def test_a_column_that_turns_into_text_late_is_text_from_its_beginning(tmp_path):
    text = "x,label\n" + "1.50,a\n" * 300_000 + "?!,b\n"
    assert cells(tmp_path / "mine.csv", text).frame["x"].iloc[[0, -1]].tolist() == ["1.50", "?!"]


def test_what_a_header_says_by_itself():
    assert table_suffix(Path("bank.CSV.gz")) == ".csv.gz"
    assert clean_names(["\ufeffage ", 2024]) == ["age", "2024"]
    assert first_line('\n"a\nb",c\n1,2') == '"a\nb",c'


def test_a_separator_between_quotes_separates_nothing(tmp_path):
    found = cells(tmp_path / "t.csv", 'age;"name, first, last, title";label\n1;2;3\n')
    assert list(found.frame.columns) == ["age", "name, first, last, title", "label"]


def test_digits_that_begin_with_a_zero_are_codes_and_numbers_are_not(tmp_path):
    found = cells(tmp_path / "t.csv", "zip,dose,size\n01234,07.5,0\n,10,10\n98765,1,2\n").frame
    assert found["zip"].dropna().tolist() == ["01234", "98765"]
    assert (found["dose"].tolist(), found["size"].tolist()) == ([7.5, 10.0, 1.0], [0, 10, 2])
