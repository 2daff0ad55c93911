"""One table, however it is written down: another format or another order of its columns gives the same results."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbary as fb

FORMATS = {
    "table.csv": lambda frame, path: frame.to_csv(path, index=False),
    "table.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "table.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "semicolons.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    "table.parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "table.feather": lambda frame, path: frame.to_feather(path),
    "table.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True, double_precision=15),
    "table.xlsx": lambda frame, path: frame.to_excel(path, index=False),
}


def patients(rows, seed):
    """Numbers, dates, booleans and categories, some of them missing."""
    rng = np.random.default_rng(seed)
    label = rng.choice(["ill", "well"], rows)
    age = np.round(rng.normal(50, 9, rows) + 12 * (label == "ill"), 3)
    days = rng.integers(19_000, 20_000, rows)
    return pd.DataFrame(
        {
            "ward": rng.choice(["north", "south", "west"], rows),
            "smoker": rng.choice(["yes", "no"], rows),
            "age": np.where(rng.random(rows) < 0.1, np.nan, age),
            "admitted": pd.to_datetime(days, unit="D").strftime("%Y-%m-%d"),
            "income": np.round(np.exp(rng.normal(8, 1, rows)), 3),
            "diagnosis": label,
        }
    )


def permuted(frame, seed):
    return frame[list(np.random.default_rng(seed).permutation(frame.columns))]


def numbers(result):
    found = result.clients.select_dtypes("number")
    rows = {name: scored.frame.select_dtypes("number") for name, scored in (result.row_tables or {}).items()}
    return found, rows


def assert_same(one, other):
    (clients, rows), (others, other_rows) = numbers(one), numbers(other)
    pd.testing.assert_frame_equal(clients, others, rtol=0.0, atol=1e-9)
    assert rows.keys() == other_rows.keys()
    for name, frame in rows.items():
        pd.testing.assert_frame_equal(frame, other_rows[name], rtol=0.0, atol=1e-9)


@pytest.fixture(scope="module")
def frames():
    return {name: patients(90, seed) for seed, name in enumerate("abcd")}, patients(160, 9)


RUNS = {
    "sketch": {"protocol": "sketch"},
    "cards": {},
    "triangle": {"protocol": "triangle"},
    "projected": {"space": fb.Space(projection=3)},
}


@pytest.mark.parametrize("run", RUNS)
def test_the_order_of_columns_moves_nothing(frames, run):
    clients, reference = frames
    others = {name: permuted(frame, seed) for seed, (name, frame) in enumerate(clients.items())}
    options = {"label": "diagnosis", "seed": 3, **RUNS[run]}
    first = fb.value(clients, reference, **options)
    assert first.outcomes["a"].ok
    assert_same(first, fb.value(others, permuted(reference, 7), **options))


@pytest.mark.parametrize("protocol", ["cards", "interpolation"])
def test_the_order_of_columns_moves_nothing_without_a_reference(frames, protocol):
    clients, _ = frames
    others = {name: permuted(frame, seed) for seed, (name, frame) in enumerate(clients.items())}
    first, second = (fb.value(one, protocol=protocol, label="diagnosis", seed=3) for one in (clients, others))
    assert first.outcomes["a"].ok
    assert_same(first, second)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "table.csv"])
def test_the_format_of_a_file_moves_nothing(frames, tmp_path, name):
    clients, reference = frames
    results = []
    for kind in ("table.csv", name):
        files = {}
        for client, frame in clients.items():
            (tmp_path / client).mkdir(exist_ok=True)
            files[client] = tmp_path / client / kind
            FORMATS[kind](frame, files[client])
        tables = fb.read_clients(files, "diagnosis")
        assert {column.kind for column in tables["a"].reading.values()} == {"category", "boolean", "number", "date"}
        results.append((tables, fb.value(tables, fb.Table.from_frame(reference, "diagnosis"), seed=3)))
    (tables, first), (others, second) = results
    for client, table in tables.items():
        assert table.reading == others[client].reading
    assert first.outcomes["a"].ok
    assert_same(first, second)


WORDS = ["slept", "badly", "after", "a", "long", "walk", "by", "the", "river"]


def untidy(rows, seed):
    """Patients with free text, an empty and a constant column, odd cells, rare events, and rows without a label."""
    rng = np.random.default_rng(seed)
    frame = patients(rows, seed).assign(
        comment=[" ".join(rng.choice(WORDS, 7)) for _ in range(rows)],
        empty=np.nan,
        year=2024,
        fee=np.where(rng.random(rows) < 0.04, rng.integers(20, 90, rows), 0),
        dose=[("?!" if row in (3, 8) else f"{value:.3f}") for row, value in enumerate(rng.normal(size=rows))],
    )
    frame.loc[[1, 4], "diagnosis"] = None
    return frame


@pytest.mark.parametrize("protocol", ["sketch", "cards"])
@pytest.mark.parametrize("form", ["table.csv", "table.parquet", "table.feather", "pair", "stored"])
def test_an_untidy_table_has_the_same_verdict_in_every_form(tmp_path, protocol, form):
    frames = {name: untidy(120, seed) for seed, name in enumerate(["north", "south", "west"])}

    def written(name, frame):
        if form == "pair":
            return frame.drop(columns="diagnosis"), frame["diagnosis"]
        folder = tmp_path / name
        folder.mkdir()
        kind = "table.parquet" if form == "stored" else form
        FORMATS[kind](frame, folder / kind)
        return fb.read(folder / kind, "diagnosis", stored=True) if form == "stored" else folder / kind

    reference = untidy(200, 9)
    expected = fb.value(frames, reference, label="diagnosis", protocol=protocol, seed=0)
    clients = {name: written(name, frame) for name, frame in frames.items()}
    found = fb.value(clients, written("reference", reference), label="diagnosis", protocol=protocol, seed=0)
    assert not expected.failed
    assert {note.facts.get("column") for note in expected.notes} >= {"comment", "empty", "year"}
    assert [one.advice for one in found.verdict()] == [one.advice for one in expected.verdict()]
    assert_same(expected, found)
    assert [note.code for note in found.notes] == [note.code for note in expected.notes]
    for name in frames:
        assert found.rows(name)["row"].tolist() == [row for row in range(120) if row not in (1, 4)]
        assert found.outcomes[name] == expected.outcomes[name]


@settings(max_examples=40)
@given(st.integers(-15_000, 15_000))
def test_a_shift_of_all_dates_changes_nothing_in_their_own_coordinate(days):
    frame = patients(60, 5)
    shifted = frame.assign(admitted=pd.to_datetime(frame["admitted"]) + pd.Timedelta(days=days))
    places = []
    for one in (frame, shifted):
        table = fb.Table.from_frame(one, "diagnosis")
        column = next(column for column in fb.fit_schema(table).columns if column.name == "admitted")
        places.append(column.encode(table.columns[column.name]))
    np.testing.assert_allclose(places[0], places[1], rtol=0.0, atol=1e-9)
