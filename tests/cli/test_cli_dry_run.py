"""--dry-run: what would be done and what it would cost; nothing is written."""

import json
from pathlib import Path

import pandas as pd
import pytest
from cli_fixtures import people

from fedbary.cli.commands import peek as peeking

pytest_plugins = ["cli_fixtures"]

BASE = ("sites", "--label", "ill", "--id", "id", "--reference", "reference.csv")


def files(folder):
    return {str(path): path.stat().st_mtime_ns for path in Path(folder).rglob("*")}


@pytest.fixture
def dry(fedbary, sites, tmp_path):
    """Run a command with --dry-run --json; nothing in the folder may change."""

    def run(*arguments, code=0):
        before = files(tmp_path)
        found, out, err = fedbary(*arguments, "--dry-run", "--json")
        assert (found, err) == (code, "")
        assert files(tmp_path) == before
        return json.loads(out)

    return run


@pytest.mark.slow
def test_value_counts_rows_and_gives_ranges(dry, fedbary, tmp_path):
    content = dry("value", *BASE, "-o", "out")
    assert [(one["client"], one["rows"], one["exact"]) for one in content["clients"]] == [
        ("north", 40, True),
        ("south", 50, True),
    ]
    assert content["server"]["reference"]["rows"] == 60
    assert (content["settings"]["min_group"], content["settings"]["seed"]) == (5, 0)
    assert "out/" in content["writes"]
    (low, high), (least, most) = content["estimate"]["seconds"], content["estimate"]["megabytes"]
    assert 0 < low < high
    assert 50 < least < most
    code, out, _ = fedbary("value", *BASE, "--dry-run")
    assert (code, "A dry run: nothing is written." in out) == (0, True)
    assert max(map(len, out.splitlines())) <= 80
    assert not (tmp_path / "fedbary-out").exists()


def test_a_file_that_cannot_be_used_is_said_as_the_run_would(dry, fedbary, sites):
    (sites / "empty.csv").touch()
    content = dry("value", *BASE, code=3)
    assert "the file is empty" in content["clients"][0]["problem"]
    (sites / "north.csv").write_text("")
    (sites / "south.csv").write_text("")
    content = dry("value", *BASE, code=3)
    assert (content["estimate"]["seconds"], content["estimate"]["how"]) == (None, "no client's file can be used")
    code, _, err = fedbary("value", "sites", "--label", "il", "--id", "id", "--reference", "reference.csv", "--dry-run")
    assert (code, "(did you mean 'ill'?)" in err) == (2, True)


def test_large_files_are_not_read_as_a_whole(tmp_path, monkeypatch):
    frame = pd.concat([people(1000, seed) for seed in range(30)]).assign(id=range(30_000))
    monkeypatch.setattr(peeking, "_SMALL_FILE", 1000)
    monkeypatch.setattr(peeking, "_COUNTED_BYTES", 400_000)
    for name in ("a.csv", "a.csv.gz", "a.parquet"):
        path = tmp_path / name
        frame.to_parquet(path, index=False) if name.endswith("parquet") else frame.to_csv(path, index=False)
        found = peeking.peek(path, "ill", "id")
        assert len(found.sample) == 20_000
        assert (found.exact, found.columns) == (name == "a.parquet", 2)
        assert found.rows == pytest.approx(30_000, rel=0.0 if found.exact else 0.2)


@pytest.mark.slow
def test_compare_and_boost_count_coalitions_and_trainings(dry, tmp_path):
    content = dry("compare", *BASE, "--methods", "exactfed,loo,gtg", "--rounds", 2)
    assert "exactfed trains a model for each of the 4 coalitions" in content["work"]
    assert "loo trains 3 models" in content["work"]
    assert content["estimate"]["seconds"][1] > 0
    assert dry("compare", *BASE, "--rows", "--methods", "knn-shapley")["work"] == ["row values by knn-shapley"]
    people(80, seed=7).to_csv(tmp_path / "test.csv", index=False)
    content = dry("boost", *BASE, "--test", "test.csv", "--how", "drop", "--rounds", 2)
    assert content["work"] == ["one valuation, and 2 trainings of 2 rounds (none, drop)"]
    assert content["server"]["test rows"]["rows"] == 80


@pytest.mark.slow
def test_reproduce_knows_which_cells_are_there(dry, fedbary, monkeypatch):
    from fedbary.research.experiments import accuracy

    cells = accuracy.cells
    monkeypatch.setattr(accuracy, "cells", lambda smoke: cells(smoke)[:2])
    content = dry("reproduce", "accuracy", "--smoke")
    assert (content["cells"], content["kept"], content["missing"]) == (2, 0, 2)
    assert content["estimate"]["seconds"][0] > 0
    assert fedbary("reproduce", "accuracy", "--smoke", "--workers", 1)[0] == 0
    content = dry("reproduce", "accuracy", "--smoke")
    assert (content["kept"], content["missing"]) == (2, 0)
