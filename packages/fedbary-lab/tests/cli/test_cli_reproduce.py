"""`fedbary reproduce`: what there is, progress apart from the table, and going on where a run stopped."""

import json
import re
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from fedbary_lab.experiments import EXPERIMENTS, Experiment, accuracy, everything

pytest_plugins = ["cli_fixtures"]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Only the interpolation cells of the smallest experiment, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    cells = accuracy.cells

    def few(smoke):
        return [cell for cell in cells(smoke) if cell.protocol.startswith("interpolation")]

    monkeypatch.setattr(accuracy, "cells", few)


@pytest.mark.parametrize("arguments", [[], ["--list"], ["accuracy", "--list"]])
def test_the_experiments_are_listed(fedbary, arguments):
    code, out, err = fedbary("reproduce", *arguments)
    assert (code, err) == (0, "")
    assert all(experiment.name in out for experiment in EXPERIMENTS)


def test_an_unknown_experiment_names_the_others(fedbary):
    code, _, err = fedbary("reproduce", "speed")
    names = ", ".join(experiment.name for experiment in EXPERIMENTS)
    assert (code, err) == (2, f"error: There is no experiment 'speed'; choose from {names}.\n")


def test_a_file_is_no_output_folder(fedbary, tmp_path):
    (tmp_path / "taken").touch()
    code, _, err = fedbary("reproduce", "accuracy", "-o", tmp_path / "taken")
    assert (code, "is a file" in err) == (2, True)


@pytest.mark.usefixtures("small")
def test_the_table_goes_to_stdout_progress_to_stderr_and_a_second_run_computes_nothing(fedbary, tmp_path):
    code, out, err = fedbary("reproduce", "accuracy", "--smoke", "--workers", 1)
    assert code == 0
    assert out == (tmp_path / "fedbary-reproduce" / "accuracy-smoke" / "table.md").read_text(encoding="utf-8")
    assert out.startswith("# Accuracy of the distance")
    assert "[4/4]" in err
    assert "written to fedbary-reproduce/accuracy-smoke" in err
    again = fedbary("reproduce", "accuracy", "--smoke", "--workers", 1)
    assert again[:2] == (0, out)
    assert again[2].count("was there") == 4


@pytest.fixture
def three(monkeypatch, tmp_path):
    """All experiments are three tiny ones, of which one is timed and one fails."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def cells(smoke):
        return [Square(number) for number in range(3 if smoke else 30)]

    def module(table):
        return SimpleNamespace(
            cells=cells,
            compute=lambda cell: [{"square": cell.number**2}],
            table=table,
            markdown=lambda table: f"# Squares\n\n{len(table)} of them.\n",
        )

    def broken(records):
        raise ValueError("no table today")

    for name, table in (("timed", lambda records: records), ("broken", broken), ("squares", lambda records: records)):
        monkeypatch.setitem(sys.modules, f"fedbary_lab.experiments.{name}", module(table))
    experiments = (
        Experiment("timed", "How long.", alone=True),
        Experiment("broken", "Nothing."),
        Experiment("squares", "Squares."),
    )
    monkeypatch.setattr(everything, "EXPERIMENTS", experiments)


@dataclass(frozen=True)
class Square:
    number: int


@pytest.mark.usefixtures("three")
def test_all_experiments_run_the_timed_last_and_one_that_fails_does_not_stop_the_others(fedbary, tmp_path):
    code, out, err = fedbary("reproduce", "all", "--smoke", "--workers", 1)
    assert code == 3
    assert [line.split()[0] for line in err.splitlines() if "[3/3]" in line] == ["broken", "squares", "timed"]
    assert re.search(r"^squares \(2 of 3\) \[1/3\] (about .* left, )?Square", err, re.MULTILINE)
    assert "failed: ValueError: no table today" in out
    index = (tmp_path / "fedbary-reproduce" / "index.md").read_text(encoding="utf-8")
    assert "[squares](squares-smoke/table.md)" in index
    assert "[timed](timed-smoke/table.md)" in index
    assert "failed: ValueError: no table today" in index
    assert "hours" not in index
    _, out, err = fedbary("reproduce", "all", "--smoke", "--workers", 1, "--json")
    assert [one["error"] != "" for one in json.loads(out)["experiments"]] == [True, False, False]
    assert err.count("was there") + err.count("0.0 s") == 9


@pytest.mark.usefixtures("three")
def test_only_experiments_with_such_cells_are_part_of_all(fedbary):
    code, _, err = fedbary("reproduce", "all", "--smoke", "--only", "no such text")
    assert code == 2
    assert "no such text" in err


def test_the_list_says_how_long_each_takes(fedbary, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert "minutes of one core" in fedbary("reproduce", "--list")[1]


def test_there_is_an_example(fedbary):
    assert "Example:  fedbary reproduce" in fedbary("reproduce", "--help")[1]
