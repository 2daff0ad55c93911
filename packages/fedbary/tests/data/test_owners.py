"""One file, many owners: a column says whose each row is."""

import pandas as pd
import pytest

from codes import coded
from fedbary.data.files import read, read_clients
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError

SITES = ReadOptions(client_column="site")
FRAME = pd.DataFrame(
    {
        "site": ["oslo", "bergen", "oslo", None, " oslo ", "bergen"],
        "age": [31.5, 45.5, 52.5, 60.5, 38.5, 41.5],
        "label": ["a", "b", "a", "b", "b", "a"],
    }
)


@pytest.fixture
def file(tmp_path):
    FRAME.to_csv(tmp_path / "all.csv", index=False)
    return tmp_path / "all.csv"


def test_a_column_says_whose_rows_they_are(file):
    clients = read_clients(file, "label", options=SITES)
    assert {name: table.columns["age"].tolist() for name, table in clients.items()} == {
        "oslo": [31.5, 52.5, 38.5],
        "bergen": [45.5, 41.5],
    }
    assert clients["oslo"].column_names == ("age",)
    assert clients["oslo"].origin == "all.csv (site oslo)"


def test_rows_of_nobody_are_counted(file):
    notes = read_clients(file, "label", options=SITES)["bergen"].notes
    assert [note.facts["count"] for note in notes if note.code == "formats.rows-of-nobody"] == [1]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".xlsx"])
def test_numbers_are_names_as_they_are_written(tmp_path, suffix):
    frame, path = FRAME.assign(site=[7, 12, 7, None, 7, 12]), tmp_path / f"all{suffix}"
    if suffix == ".csv":
        frame.assign(site=["007", "12", "007", None, "007", "12"]).to_csv(path, index=False)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        (frame.to_parquet if suffix == ".parquet" else frame.to_excel)(path, index=False)
    assert list(read_clients(path, "label", options=SITES)) == ["007" if suffix == ".csv" else "7", "12"]


def test_one_owner_that_cannot_be_used_does_not_stop_the_others(tmp_path):
    frame = FRAME.assign(label=["a", None, "a", "b", "b", None])
    frame.to_csv(tmp_path / "all.csv", index=False)
    clients = read_clients(tmp_path / "all.csv", "label", options=SITES, errors="collect")
    assert len(clients["oslo"]) == 3
    assert clients["bergen"].code == "data.labels-missing"
    assert clients["bergen"].private["where"] == "all.csv (site bergen)"


def test_a_column_that_is_not_there_is_named(file):
    wrong = ReadOptions(client_column="sites")
    with pytest.raises(DataError, check=coded("formats.no-client-column")) as caught:
        read_clients(file, "label", options=wrong)
    assert "site" in caught.value.private["guess"]
    collected = read_clients(file, "label", options=wrong, errors="collect")
    assert {name: error.code for name, error in collected.items()} == {"all": "formats.no-client-column"}


def test_several_files_may_hold_many_owners_each_but_no_owner_twice(tmp_path):
    FRAME[:3].to_csv(tmp_path / "a.csv", index=False)
    FRAME[3:].assign(site=["rome", "rome", "bari"]).to_csv(tmp_path / "b.csv", index=False)
    assert list(read_clients(tmp_path, "label", options=SITES)) == ["oslo", "bergen", "rome", "bari"]
    FRAME[3:].to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(DataError, check=coded("formats.two-owners")):
        read_clients(tmp_path, "label", options=SITES)


def test_nobody_is_nobody(tmp_path):
    FRAME.assign(site="  ").to_csv(tmp_path / "all.csv", index=False)
    with pytest.raises(DataError, check=coded("formats.no-owner")):
        read_clients(tmp_path / "all.csv", "label", options=SITES)


def test_the_column_is_no_feature_of_a_single_table(file):
    assert read(file, "label", options=SITES).column_names == ("age",)
    assert read(file, "label", options=ReadOptions(client_column="nowhere")).column_names == ("site", "age")
