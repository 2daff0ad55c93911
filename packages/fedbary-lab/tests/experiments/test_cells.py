"""The runner: every cell once, whatever happens."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from fedbary_lab.experiments import Experiment
from fedbary_lab.experiments import cells as cell_files
from fedbary_lab.experiments.cells import run_cells


@dataclass(frozen=True)
class Square:
    number: int
    log: str


def compute(cell):
    with Path(cell.log).open("a") as file:
        file.write(f"{cell.number}\n")
    if cell.number < 0:
        raise ValueError("no roots here")
    return [{"power": power, "result": cell.number**power} for power in (2, 3)]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.touch()
    return path


def cells(log, *numbers):
    return [Square(number, str(log)) for number in numbers]


@pytest.mark.parametrize("workers", [1, 2])
def test_records_carry_their_cell_and_keep_its_order(tmp_path, log, workers):
    frame = run_cells(cells(log, 3, 1, 2), compute, tmp_path / "cells", workers=workers)
    assert frame["number"].tolist() == [3, 3, 1, 1, 2, 2]
    assert frame["result"].tolist() == [9, 27, 1, 1, 4, 8]


def test_a_second_run_computes_only_what_is_missing(tmp_path, log):
    run_cells(cells(log, 1, 2), compute, tmp_path)
    events = []
    frame = run_cells(cells(log, 1, 2, 3), compute, tmp_path, progress=events.append)
    assert log.read_text().split() == ["1", "2", "3"]
    assert frame["result"].tolist() == [1, 1, 4, 8, 9, 27]
    assert [(done.done, done.total) for done in events] == [(1, 3), (2, 3), (3, 3)]
    assert [done.seconds > 0 for done in events[:2]] == [False, False]


def test_an_error_is_recorded_and_tried_again(tmp_path, log):
    frame = run_cells(cells(log, -1, 2), compute, tmp_path)
    assert frame["error"].iloc[0] == "ValueError: no roots here"
    assert frame["result"].tolist()[1:] == [4, 8]
    events = []
    run_cells(cells(log, -1, 2), compute, tmp_path, progress=events.append)
    assert log.read_text().split() == ["-1", "2", "-1"]
    assert events[-1].error == "ValueError: no roots here"


def test_a_half_written_cell_is_computed_again(tmp_path, log):
    run_cells(cells(log, 5), compute, tmp_path)
    (path,) = tmp_path.glob("*.json")
    whole = json.loads(path.read_text())
    path.write_text(path.read_text()[:20])
    assert run_cells(cells(log, 5), compute, tmp_path)["result"].tolist() == [25, 125]
    assert json.loads(path.read_text())["records"] == whole["records"]


def test_other_code_computes_its_own_cells(tmp_path, log, monkeypatch):
    run_cells(cells(log, 4), compute, tmp_path)
    monkeypatch.setattr(cell_files, "code_digest", lambda: "other code")
    run_cells(cells(log, 4), compute, tmp_path)
    assert log.read_text().split() == ["4", "4"]


def test_cells_depend_on_the_code_of_core_and_laboratory(monkeypatch):
    read, read_bytes = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: read.append(file) or read_bytes(file))
    cell_files.code_digest.__wrapped__()
    names = {"/".join(file.parts[-3:]) for file in read}
    assert {"fedbary/transport/solve.py", "fedbary_lab/experiments/toy.py", "fedbary_lab/baselines/lava.py"} <= names
    assert not {"fedbary_lab/cli/compare.py", "fedbary_lab/plots/bars.py"} & names


def test_a_smoke_test_leaves_the_real_table_alone(tmp_path, log, monkeypatch):
    module = SimpleNamespace(
        cells=lambda smoke: cells(log, 1) if smoke else cells(log, 1, 2),
        compute=compute,
        table=lambda records: records,
        markdown=lambda table: f"{len(table)} records\n",
    )
    monkeypatch.setitem(sys.modules, "fedbary_lab.experiments.squares", module)
    for smoke in (False, True):
        Experiment("squares", "powers").run(tmp_path, smoke=smoke)
    assert (tmp_path / "squares" / "table.md").read_text() == "4 records\n"
    assert (tmp_path / "squares-smoke" / "table.md").read_text() == "2 records\n"
    written = {"cells", "records.csv", "table.csv", "table.md", "provenance.json"}
    assert {path.name for path in (tmp_path / "squares").iterdir()} == written
