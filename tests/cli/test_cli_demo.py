"""The first command anybody types, as a real process."""

import re

import fedbary as fb

pytest_plugins = ["cli_fixtures"]
REPORTS = ("report.html", "report-clinic_d.html")


def test_the_demo_ranks_the_clinics_tells_the_truth_and_writes_what_it_says(shell, tmp_path):
    done = shell("demo")
    assert (done.returncode, done.stderr) == (0, "")
    # The commands at the end name this program's own path, and a wrapped command could not be copied.
    assert max(map(len, done.stdout.partition("What to try next")[0].splitlines())) <= 80

    result = fb.Valuation.load(tmp_path / "fedbary-demo")
    ranked = result.ranking()["client"].tolist()
    assert ranked[-2:] == ["clinic_d", "clinic_e"]
    assert re.findall(r"^clinic_.", done.stdout, re.MULTILINE) == ranked
    for path in re.findall(r"fedbary-demo/[\w./*-]+", done.stdout):
        assert list(tmp_path.glob(path)), path
    written = {name: (tmp_path / "fedbary-demo" / name).read_text(encoding="utf-8") for name in REPORTS}
    assert "Include 3 of 5 clients; look at 2 first." in written["report.html"]
    assert "data:image/png" in written["report-clinic_d.html"]

    # What it says of the spoilt rows can be checked against its own files.
    said = re.findall(r"(clinic_.): (\d+) rows are flagged, (\d+) of them rightly", " ".join(done.stdout.split()))
    found = {name: (int(flagged), int(right)) for name, flagged, right in said}
    noisy = fb.read(tmp_path / "fedbary-demo" / "data" / "clinic_e.parquet", label="label").columns["x"]
    spoilt = (noisy != noisy.round()).any(axis=1)
    flagged = result.rows("clinic_e")["flag"].to_numpy(dtype=bool)
    assert spoilt.sum() == 60
    assert found["clinic_e"] == (flagged.sum(), (flagged & spoilt).sum())
    assert min(right for _, right in found.values()) >= 50
    assert max(flagged - right for flagged, right in found.values()) <= 15


def test_the_commands_that_the_demo_proposes_work_and_agree_with_it(fedbary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert fedbary("demo", "--seed", 1)[0] == 0
    assert fedbary("rows", "fedbary-demo", "--client", "clinic_d", "--export", "clean")[0] == 0
    assert len(fb.read("fedbary-demo/clinic_d-clean.parquet", label="label")) < 160
    code, out, _ = fedbary("check", "fedbary-demo/data/clinic_d.parquet", "--schema", "fedbary-demo/schema.json")
    assert (code, "fits the schema" in out) == (0, True)
    clinics, reference = "fedbary-demo/data/clinic_*.parquet", "fedbary-demo/data/reference.parquet"
    assert fedbary("value", clinics, "--label", "label", "--reference", reference, "--seed", 1)[0] == 0
    again, first = fb.Valuation.load("fedbary-out"), fb.Valuation.load("fedbary-demo")
    assert again.clients.equals(first.clients)
