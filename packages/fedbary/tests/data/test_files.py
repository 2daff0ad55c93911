"""Files are read by suffix; each bad one is named with what is wrong with it."""

import gzip
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from codes import coded
from fedbary.data.export import write
from fedbary.data.files import read, read_clients
from fedbary.data.formats.arrow_files import PARQUET
from fedbary.data.table import Table
from fedbary.errors import DataError

ROWS = "".join(["age,job,label\n", *(f"{i * 37 % 91},{'ab'[i % 2]},{i % 3}\n" for i in range(60))]).encode()


def put(path, text="age,label\n31,0\n45,1\n"):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".pq", ".CSV"])
def test_the_suffix_says_how_to_read(tmp_path, suffix):
    path = tmp_path / f"bank{suffix}"
    frame = pd.DataFrame({"patient": ["p", "q"], "age": [31, None], "job": ["cook", None], "bought": ["yes", "no"]})
    if suffix in PARQUET:
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    table = read(path, label="bought", id="patient")
    assert table.column_names == ("age", "job")
    assert table.row_names.tolist() == ["p", "q"]
    assert table.missing() == {"age": 1, "job": 1}
    assert table.labels.tolist() == ["yes", "no"]
    assert table.origin == path.name


def test_headers_lose_byte_order_mark_and_spaces(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes("\ufeff age , label\n31,0\n".encode())
    assert read(path, "label").column_names == ("age",)


@pytest.mark.parametrize(
    ("name", "content", "code", "facts"),
    [
        ("bank.pkl", b"x", "data.file-kind", {"suffix": ".pkl"}),
        ("bank.csv", None, "data.no-file", {}),
        ("bank.csv", b"", "data.file-empty", {}),
        ("bank.csv", b"\n\n", "formats.damaged", {}),
        ("bank.csv", b"age,label\n", "data.header-only", {"columns": 2}),
        ("bank.csv", b'age,label\n"31,0\n', "formats.damaged", {}),
        ("bank.csv", b"age,label\n1,2\n1,2,3\n", "formats.damaged", {"why": "line 3 has 3 cells instead of 2"}),
        ("bank.csv", b"age,label\n7,1,2\n8,1,3\n", "formats.damaged", {"why": "line 2 has 3 cells instead of 2"}),
        ("bank.csv", b"age,label\n0,1,2\n1,1,3\n", "formats.damaged", {"why": "line 2 has 3 cells instead of 2"}),
        ("bank.csv", b"age,age,label\n1,2,0\n", "data.column-twice", {"column": "age"}),
        ("bank.csv", b"age,,label\n0,31,1\n", "data.column-without-name", {"position": 2, "columns": 3}),
        ("bank.csv", b",,label\n0,31,1\n", "data.column-without-name", {"position": 2, "columns": 3}),
        ("bank.csv", b"age,target\n31,1\n", "data.no-such-column", {"wanted": "label"}),
        ("bank.csv.gz", b"age,label\n31,1\n", "formats.damaged", {}),
        ("bank.csv.gz", gzip.compress(b"age,label\n" + b"31,1\n" * 999, mtime=0)[:-12], "formats.damaged", {}),
        ("bank.csv.gz", gzip.compress(ROWS, mtime=0)[:40] + b"\xff" * 40, "formats.damaged", {}),
        ("bank.csv", b"age,label\n" + b"9" * 400 + b",1\n", "data.cell-does-not-fit", {}),
        ("bank.csv", b"PK\x03\x04\xff\xfe a spreadsheet", "formats.not-text", {"kind": "an Excel or zip file"}),
        ("bank.csv", "age,label\n31,1\n".encode("utf-16-le"), "formats.not-text", {"kind": None}),
        ("bank.csv.zip", b"PK\x03\x04", "formats.damaged", {}),
        ("bank.parquet", b"PAR1 but not really PAR1", "formats.damaged", {}),
        ("bank.parquet", b"", "data.file-empty", {}),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_bad_file_is_named(tmp_path, name, content, code, facts):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, check=coded(code)) as caught:
        read(path, "label")
    assert facts.items() <= caught.value.private.items()
    assert name in caught.value.private["where"]


@pytest.mark.parametrize("name", ["bank.csv", "bank.csv.gz", "bank.tsv", "bank.parquet"])
def test_whatever_happens_to_a_file_it_is_read_or_refused_with_a_reason(tmp_path, name):
    """Cut, flipped, doubled and mixed up; a damaged stream can fail in the parser, in gzip or in zlib."""
    path = write(read(put(tmp_path / "whole.csv", ROWS.decode()), "label"), tmp_path / name)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    codes = Counter()
    for _ in range(80):
        first, second = sorted(rng.integers(0, len(whole), 2))
        noise = rng.integers(0, 256, 6, dtype=np.uint8).tobytes()
        for content in (whole[:first], whole[:first] + noise + whole[first + 6 :], whole[:first] + whole[second:]):
            path.write_bytes(content)
            try:
                read(path, "label", most=None if first % 2 else 5)
            except DataError as error:
                codes[error.code] += 1
    assert sum(codes.values()) > 50


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(DataError, check=coded("formats.no-table-in-folder")):
        read(tmp_path / "dir.csv", "label")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("fedbary.data.formats.cells.MAX_FILE_BYTES", 10)
    with pytest.raises(DataError, check=coded("data.file-too-large")):
        read(put(tmp_path / "bank.csv"), "label")


def test_parquet_keeps_embeddings_as_a_block(tmp_path):
    frame = pd.DataFrame({"e": list(np.eye(3, dtype=np.float32)), "label": [0, 1, 2]})
    frame.to_parquet(tmp_path / "e.parquet")
    block = read(tmp_path / "e.parquet", "label").columns["e"]
    assert block.dtype == np.float32
    np.testing.assert_array_equal(block, np.eye(3))


def test_clients_by_folder_glob_list_and_mapping(tmp_path):
    north, south = put(tmp_path / "north.csv"), put(tmp_path / "south.csv")
    put(tmp_path / "README.md")
    put(tmp_path / ".hidden.csv")
    for source in (
        tmp_path,
        str(tmp_path),
        f"{tmp_path}/*.csv",
        [north, str(south)],
        (p for p in (north, south)),
    ):
        clients = read_clients(source, "label")
        assert list(clients) == ["north", "south"]
        assert len(clients["south"]) == 2
    assert list(read_clients(north, "label")) == ["north"]
    assert list(read_clients({"n": north}, "label")) == ["n"]


def test_clients_need_files_and_names_of_their_own(tmp_path):
    with pytest.raises(DataError, check=coded("data.no-file-matches")):
        read_clients(f"{tmp_path}/nothing*", "label")
    put(tmp_path / "north.csv")
    put(tmp_path / "north.tsv")
    with pytest.raises(DataError, check=coded("data.two-files")):
        read_clients(tmp_path, "label")


def test_one_bad_client_does_not_stop_the_others(tmp_path):
    sources = [
        put(tmp_path / "good.csv"),
        put(tmp_path / "bad.csv", "age,label\n31,\n"),
        tmp_path / "gone.csv",
    ]
    clients = read_clients(sources, "label", errors="collect")
    assert isinstance(clients["good"], Table)
    assert clients["bad"].code == "data.labels-missing"
    assert clients["bad"].private == {"where": "bad.csv", "name": "label", "missing": 1, "rows": 1}
    assert isinstance(clients["gone"], DataError)
    with pytest.raises(DataError, check=coded("data.labels-missing")):
        read_clients(sources, "label")


def test_a_parquet_file_with_half_a_character_is_refused_by_name(tmp_path):
    """Arrow reads it without a word, and decodes its texts later."""
    path = tmp_path / "ward.parquet"
    pd.DataFrame({"ward": ["north", "south"] * 5, "label": [0, 1] * 5}).to_parquet(path, compression=None)
    path.write_bytes(path.read_bytes().replace(b"north", b"n\xffrth"))
    with pytest.raises(DataError, check=coded("formats.damaged")):
        read(path, "label")


def test_numbers_are_those_of_their_texts(tmp_path):
    """As text in a column of texts, a number is read by Python; the last digit must not depend on other cells."""
    texts = [f"{number}.{'0123456789' * 2}{number}" for number in range(1000)]
    (tmp_path / "mine.csv").write_text("\n".join(["x,label", *(f"{text},1" for text in texts)]))
    assert read(tmp_path / "mine.csv", "label").columns["x"].tolist() == [float(text) for text in texts]
