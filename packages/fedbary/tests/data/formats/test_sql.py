"""Databases: a file of SQLite, and a PostgreSQL server that runs for the tests."""

import sqlite3

import pandas as pd
import pytest

from codes import coded
from fedbary.data.formats.cells import Request
from fedbary.data.formats.sql import read_sql, sql_batches
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError
from postgres import postgres

pytest.importorskip("sqlalchemy")

ROWS = pd.DataFrame(
    {
        "age": [31.0, None, 52.0],
        "job": ["cook", "nurse", None],
        "admitted": pd.to_datetime(["2024-01-03", "2024-02-04", "2024-03-05"]),
        "ill": [True, False, True],
    }
)


@pytest.fixture
def sqlite(tmp_path):
    file = tmp_path / "ward.db"
    with sqlite3.connect(file) as connection:
        ROWS.assign(admitted=ROWS.admitted.astype(str)).to_sql("patients", connection, index=False)
    return f"sqlite:///{file}"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    with postgres(tmp_path_factory.mktemp("pg"), patients=ROWS) as url:
        yield url


def test_the_only_table_needs_no_query(sqlite):
    frame = read_sql(sqlite, Request(ReadOptions()))
    assert frame["age"].fillna(-1).tolist() == [31.0, -1.0, 52.0]
    assert frame["job"].tolist()[:2] == ["cook", "nurse"]


def test_a_query_says_which_rows(sqlite):
    frame = read_sql(sqlite, Request(ReadOptions(query="SELECT age FROM patients WHERE age > 40")))
    assert frame["age"].tolist() == [52.0]


def test_rows_come_in_batches(sqlite):
    parts = sql_batches(sqlite, Request(ReadOptions()), rows=2)
    assert [len(part) for part in parts if len(part)] == [2, 1]
    assert len(read_sql(sqlite, Request(ReadOptions(), most=1))) == 1


def test_postgresql_keeps_types(database):
    frame = read_sql(database, Request(ReadOptions(query="SELECT * FROM patients ORDER BY admitted")))
    assert frame["admitted"].dt.month.tolist() == [1, 2, 3]
    assert frame["ill"].tolist() == [True, False, True]


def test_postgresql_without_query_reads_its_only_table(database):
    assert len(read_sql(database, Request(ReadOptions()))) == 3


def test_nothing_that_a_query_does_stays(sqlite, database):
    for url in (sqlite, database):
        with pytest.raises(DataError):
            read_sql(url, Request(ReadOptions(query="DELETE FROM patients")))
        assert len(read_sql(url, Request(ReadOptions(query="SELECT * FROM patients")))) == 3


@pytest.mark.parametrize(
    ("url", "query", "code"),
    [
        ("{sqlite}", "SELECT nothing FROM nowhere", "data.query-failed"),
        ("sqlite:////nowhere/at/all.db", None, "data.no-file"),
        ("postgresql://nobody:secret@127.0.0.1:1/none", "SELECT 1", "data.no-database"),
        ("nosuchbase://host/db", "SELECT 1", "data.no-database"),
    ],
)
def test_what_is_wrong_with_a_database_is_one_sentence_without_the_password(sqlite, url, query, code):
    with pytest.raises(DataError, check=coded(code)) as caught:
        read_sql(url.format(sqlite=sqlite), Request(ReadOptions(query=query)))
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_several_tables_need_a_query(sqlite):
    with sqlite3.connect(sqlite.removeprefix("sqlite:///")) as connection:
        ROWS[["age"]].to_sql("visits", connection, index=False)
    with pytest.raises(DataError, check=coded("data.no-query")) as caught:
        read_sql(sqlite, Request(ReadOptions()))
    assert caught.value.private["names"] == ("patients", "visits")
