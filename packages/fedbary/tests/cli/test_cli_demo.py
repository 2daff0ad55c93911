"""The first command anybody types, as a real process."""

import re

import numpy as np
import pytest

import fedbary as fb
from fedbary.cli.commands.demo import CLEAN, MISSING, OTHER_UNIT, WRONG_LABELS, demo_clinics
from fedbary.valuation.verdict import Advice

pytest_plugins = ["cli_fixtures"]
REPORTS = ("report.html", "report-clinic_d.html")


def test_the_demo_finds_the_faults_tells_the_truth_and_writes_what_it_says(shell, tmp_path):
    done = shell("demo")
    assert (done.returncode, done.stderr) == (0, "")
    # The commands at the end name this program's own path, and a wrapped command could not be copied.
    assert max(map(len, done.stdout.partition("What to try next")[0].splitlines())) <= 80
    for path in re.findall(r"fedbary-demo/[\w./*-]+", done.stdout):
        assert list(tmp_path.glob(path)), path
    written = {name: (tmp_path / "fedbary-demo" / name).read_text(encoding="utf-8") for name in REPORTS}
    assert "Include 2 of 5 clients, look at 3 first." in written["report.html"]
    assert "D001" in written["report-clinic_d.html"]

    # What it says of the spoilt rows can be checked against its own files.
    result, clinics = fb.Valuation.load(tmp_path / "fedbary-demo"), demo_clinics(0)
    said = " ".join(done.stdout.split())
    for name, spoilt in clinics.spoilt.items():
        flagged = result.rows(name)["flag"].to_numpy(dtype=bool)
        assert re.search(rf"{name}: {spoilt.sum()} rows have [a-z ]+\. {(flagged & spoilt).sum()} of them", said)
        found = flagged | result.rows(name)["suspect"].to_numpy(dtype=bool)
        assert found[spoilt].mean() >= 0.6
        assert found[~spoilt].mean() <= 0.1


@pytest.mark.parametrize("seed", range(3))
def test_the_verdict_is_right_whatever_the_seed(seed):
    clinics = demo_clinics(seed)
    result = fb.value(clinics.clients, clinics.reference, seed=seed)
    verdict = result.verdict()
    assert {opinion.client for opinion in verdict if opinion.advice == Advice.INCLUDE} == set(CLEAN)
    codes = {opinion.client: {reason.code for reason in opinion.reasons} for opinion in verdict}
    assert codes[WRONG_LABELS] == {"verdict.wrong-labels"}
    assert codes[MISSING] == {"verdict.much-missing"}
    assert "protocols.card-column-off" in codes[OTHER_UNIT]


def test_the_faults_are_what_the_demo_says_they_are():
    clinics = demo_clinics(5)
    wrong = clinics.clients[WRONG_LABELS].labels != clinics.right_labels
    np.testing.assert_array_equal(wrong, clinics.spoilt[WRONG_LABELS])
    largest = np.nanmax(clinics.reference.columns["glucose"])
    beyond = clinics.clients[OTHER_UNIT].columns["glucose"] > 1.5 * largest
    assert beyond[clinics.spoilt[OTHER_UNIT]].mean() > 0.9
    assert not beyond[~clinics.spoilt[OTHER_UNIT]].any()
    missing = {name: sum(table.missing().values()) for name, table in clinics.clients.items()}
    assert missing[MISSING] > 10 * max(count for name, count in missing.items() if name != MISSING)


def test_the_commands_that_the_demo_proposes_work_and_agree_with_it(fedbary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert fedbary("demo", "--seed", 1)[0] == 0
    assert fedbary("rows", "fedbary-demo", "--client", "clinic_d", "--export", "clean", "--suspects")[0] == 0
    assert len(fb.read("fedbary-demo/clinic_d-clean.parquet", label="diagnosis", id="patient")) < 340
    code, out, _ = fedbary("check", "fedbary-demo/data/clinic_e.parquet", "--schema", "fedbary-demo/schema.json")
    assert (code, "fits the schema" in out) == (0, True)
    clinics, reference = "fedbary-demo/data/clinic_*.parquet", "fedbary-demo/data/reference.parquet"
    columns = ("--label", "diagnosis", "--id", "patient")
    assert fedbary("value", clinics, *columns, "--reference", reference, "--seed", 1)[0] == 0
    again, first = fb.Valuation.load("fedbary-out"), fb.Valuation.load("fedbary-demo")
    assert again.clients.equals(first.clients)
