"""Frames of other libraries: the same cells give the same table, whoever holds them."""

import datetime as dt
import subprocess
import sys

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fedbary as fb
from codes import coded
from fedbary.data.adapters import frame_cells
from fedbary.data.objects import as_table, client_tables
from fedbary.errors import DataError

BIG = 2**60 + 1


def pandas_frame(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, rows).astype(float),
            "smokes": rng.random(rows) < 0.5,
            "city": rng.choice(["Rome", "Lima"], rows),
            "embedding": list(rng.normal(size=(rows, 3))),
            "outcome": rng.choice(["ill", "well"], rows),
        }
    )
    frame.loc[:4, "age"] = np.nan
    frame.loc[5:8, "city"] = None
    return frame


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def polars(frame):
    return pytest.importorskip("polars").from_arrow(arrow(frame))


def duckdb(frame):
    rows = arrow(frame)  # noqa: F841 - DuckDB finds it by its name
    return pytest.importorskip("duckdb").sql("select * from rows")


HOLDERS = {
    "pyarrow table": arrow,
    "pyarrow batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "pyarrow reader": lambda frame: arrow(frame).to_reader(),
    "narwhals": lambda frame: nw.from_native(arrow(frame)),
    "polars": polars,
    "polars, lazy": lambda frame: polars(frame).lazy(),
    "duckdb": duckdb,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_frame_of_any_library_is_the_table_that_pandas_gives(holder):
    frame = pandas_frame()
    expected = fb.Table.from_frame(frame, "outcome")
    found = as_table(HOLDERS[holder](frame), label="outcome")
    assert found.column_names == expected.column_names
    for name, column in expected.columns.items():
        np.testing.assert_array_equal(found.columns[name], column)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.reading == expected.reading


@pytest.mark.parametrize("holder", ["pyarrow table", "polars", "duckdb"])
def test_clients_may_hold_frames_of_different_libraries(holder):
    clients = {"pandas": pandas_frame(seed=1), "other": HOLDERS[holder](pandas_frame(seed=1))}
    result = fb.value(clients, HOLDERS[holder](pandas_frame(90, seed=2)), label="outcome", seed=0)
    assert not result.failed
    assert result.clients["distance"][0] == result.clients["distance"][1]


@pytest.mark.parametrize("holder", ["pyarrow table", "polars", "duckdb"])
def test_features_and_labels_may_come_apart(holder):
    frame = pandas_frame()
    held = HOLDERS[holder](frame[["age", "city"]])
    expected = as_table((frame[["age", "city"]], frame["outcome"]))
    for labels in (frame["outcome"], frame["outcome"].to_list(), arrow(frame)["outcome"]):
        found = as_table((held, labels))
        np.testing.assert_array_equal(found.columns["city"], expected.columns["city"])
        np.testing.assert_array_equal(found.labels, expected.labels)


def test_a_polars_column_gives_labels_and_their_name():
    held = polars(pandas_frame())
    table = as_table((held.drop("outcome"), held["outcome"]))
    assert table.label_name == "outcome"
    assert table.labels.tolist() == held["outcome"].to_list()


def test_nothing_is_lost_on_the_way_to_pandas():
    table = pa.table(
        {
            "whole": pa.array([BIG, None], pa.int64()),
            "small": pa.array([7, None], pa.uint8()),
            "truth": pa.array([True, None]),
            "day": pa.array([dt.date(2020, 2, 29), None]),
            "size": pa.array(["M", "S"]).dictionary_encode(),
        }
    )
    cells = frame_cells(table)
    assert cells["whole"].tolist()[0] == BIG
    assert [str(kind) for kind in cells.dtypes[:3]] == ["Int64", "UInt8", "boolean"]
    assert cells["day"][0] == pd.Timestamp("2020-02-29")
    assert isinstance(cells["size"].dtype, pd.CategoricalDtype)


def test_an_ordered_enum_of_polars_stays_ordered():
    pl = pytest.importorskip("polars")
    held = pl.DataFrame({"size": pl.Series(["M", "S"], dtype=pl.Enum(["S", "M", "L"]))})
    kind = frame_cells(held)["size"].dtype
    assert kind.ordered
    assert kind.categories.tolist() == ["S", "M", "L"]


def test_a_query_that_fails_is_the_reason_of_its_client_alone():
    duckdb = pytest.importorskip("duckdb")
    broken = duckdb.sql("select cast('x' || range as int) as age, 'ill' as outcome from range(30)")
    sound, reference = (pandas_frame(90, seed)[["age", "outcome"]] for seed in (0, 1))
    result = fb.value({"a": sound, "b": broken}, reference, label="outcome", seed=0)
    assert list(result.failed) == ["b"]
    assert result.outcomes["b"].notes[0].code == "data.object-unreadable"


@pytest.mark.parametrize("reference_known", [True, False])
def test_a_column_is_read_alike_by_all_even_from_a_reader_that_goes_by_once(reference_known):
    """North's beds have numbers only: by itself it would count with them."""
    rng = np.random.default_rng(0)

    def ward(suffix):
        beds = [f"{bed}{suffix}" for bed in rng.integers(1, 6, 60)]
        return pd.DataFrame({"bed": beds, "age": rng.normal(50, 9, 60), "outcome": rng.choice(["ill", "well"], 60)})

    clients = {"north": arrow(ward("")).to_reader(), "south": ward("b"), "west": ward("b")}
    alone = as_table(arrow(ward("")), label="outcome")
    tables = client_tables(clients, as_table(ward("b"), label="outcome") if reference_known else None, label="outcome")
    assert alone.reading["bed"].kind == "number"
    assert {table.reading["bed"].kind for table in tables.values()} == {"category"}


def test_a_frame_without_the_label_says_how_it_is_named():
    with pytest.raises(DataError, check=coded("data.frame-without-label")):
        as_table(arrow(pandas_frame()))
    with pytest.raises(DataError, check=coded("data.no-such-column")) as caught:
        as_table(arrow(pandas_frame()), label="outcomes")
    assert "'outcome'" in caught.value.private["guess"]


def test_objects_of_one_family_import_no_other():
    code = (
        "import sys, numpy as np, pandas as pd; from fedbary.data.objects import as_table;"
        "as_table((np.zeros((3, 2)), [0, 1, 0])); as_table(pd.DataFrame({'a': [1.5], 'label': [0]}));"
        "print(sorted({'polars', 'duckdb', 'datasets', 'torch', 'narwhals', 'flwr_datasets'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
