"""A federation whose tables stay in their files is the one whose tables are in memory, from reading to report."""

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import fedbary as fb
from fedbary.cli.app import app
from fedbary.data import stored
from fedbary.valuation import storage

HOSPITALS = Path(__file__).parents[2] / "examples" / "hospitals"
CLIENTS = {name: HOSPITALS / f"hospital_{name}.parquet" for name in ("south", "north", "west")}


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(stored, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(storage, "MOST_IN_CSV", 10)


def valued(protocol, reference):
    tables = fb.read_clients(CLIENTS, "diagnosis", id="patient")
    return tables, fb.value(tables, reference, protocol=protocol, seed=0)


@pytest.mark.parametrize("protocol", [fb.Sketch(), fb.Cards(), fb.Cards(worth=True)])
def test_values_flags_and_digests_are_those_of_tables_in_memory(protocol, monkeypatch, tmp_path):
    reference = fb.read(HOSPITALS / "validation.parquet", "diagnosis", id="patient")
    _, expected = valued(protocol, reference)
    monkeypatch.setattr(stored, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(storage, "MOST_IN_CSV", 10)
    tables, found = valued(protocol, reference)

    assert not any(table.in_memory for table in tables.values())
    pd.testing.assert_frame_equal(found.clients, expected.clients)
    again = fb.Valuation.load(found.save(tmp_path / "result"))
    for name in CLIENTS:
        pd.testing.assert_frame_equal(again.rows(name), expected.rows(name))
        assert again.row_facts(name) == expected.row_facts(name)
    assert again.settings["reference_digest"] == expected.settings["reference_digest"]


@pytest.mark.usefixtures("everything_is_large")
def test_commands_take_large_tables(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBARY_STATE", str(tmp_path / "state"))
    south, reference = str(CLIENTS["south"]), str(HOSPITALS / "validation.parquet")
    columns = ["--label", "diagnosis", "--id", "patient"]
    out = str(tmp_path / "out")
    calls = [
        ["value", south, *columns, "--reference", reference, "-o", out, "--json"],
        ["rows", out, "--client", "hospital_south", "--export", "clean"],
        ["report", out, "--client", "hospital_south"],
        ["check", south, *columns],
        ["preview", south, *columns, "--reference", reference],
        ["card", south, *columns, "-o", str(tmp_path / "south.card")],
    ]
    for call in calls:
        done = CliRunner().invoke(app, call)
        assert done.exit_code == 0, (call, done.output)
    assert (tmp_path / "out" / "hospital_south-clean.parquet").is_file()
    assert not list((tmp_path / "out" / "rows").glob("*.csv"))
    page = (tmp_path / "out" / "report-hospital_south.html").read_text(encoding="utf-8")
    assert "mean radius" in page
