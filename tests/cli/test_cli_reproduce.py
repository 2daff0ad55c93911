"""`fedbary reproduce`: what there is, progress apart from the table, and going on where a run stopped."""

import pytest

from fedbary.research.experiments import EXPERIMENTS, accuracy

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


def test_there_is_an_example(fedbary):
    assert "Example:  fedbary reproduce" in fedbary("reproduce", "--help")[1]
