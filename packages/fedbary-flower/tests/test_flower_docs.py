"""The commands of docs/flower.md, run as they stand in one shell, and what the pages about Flower promise."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import fedbary as fb
from fedbary.engines.coordinator import read_outcome
from fedbary.guard.ledger import Ledger
from fedbary.views.advice import headline
from fedbary_flower.engine import ERRORS
from processes import eventually, free_ports, ours

REPOSITORY = Path(__file__).parents[3]
PAGE, REFERENCE, TRAINING = (
    (REPOSITORY / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("flower", "flower-reference", "flower-training")
)
# A block of commands, and the comment that keeps it from being run.
BLOCK = re.compile(r"(?:<!-- not run: (?P<why>[^>]+) -->\n)?```bash\n(?P<commands>.*?)```", re.DOTALL)
CLINICS = {"north": "clinic_a", "south": "clinic_b", "east": "clinic_d"}


@pytest.mark.federation
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at processes as Linux shows them")
def test_the_walk_through_works_as_it_stands(tmp_path):
    script = "".join(block["commands"] for block in BLOCK.finditer(PAGE) if not block["why"])
    port = free_ports(4)
    for documented, free in (("8443", port), ("9500", port + 1)):
        assert documented in script
        script = script.replace(documented, str(free))
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    environment.pop("FLWR_HOME", None)
    with (tmp_path / "shell.txt").open("w+") as log:
        shell = subprocess.Popen(
            ["bash", "-euxo", "pipefail", "-c", script],
            cwd=REPOSITORY,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = shell.wait(800)
        except subprocess.TimeoutExpired:
            code = "too long"
        finally:
            left = not eventually(lambda: not ours(tmp_path), 60)
            _stop(shell, tmp_path)
        log.seek(0)
        said = log.read()
    assert code == 0, said[-4000:]
    assert not left, "a process outlived the walk-through"
    (work,) = tmp_path.glob("tmp.*")
    promises_of_the_run(work, said)


def promises_of_the_run(work, said):
    files = ("clients.csv", "clients.parquet", "report.html", "valuation.json", "events.jsonl", "schema.json")
    for name in (*files, "outcome.json"):
        assert (work / "run" / name).is_file(), name
    found = fb.Valuation.load(work / "run")
    assert found.ranking()["client"].tolist()[-1] == "east"  # a quarter of the diagnoses are wrong
    assert headline(found.verdict()) in said
    assert "exchange 1: north answered" in said
    assert read_outcome(work / "run").exit_code == 0
    data, columns = work / "demo" / "data", {"label": "diagnosis", "id": "patient"}
    clients = {name: fb.read(data / f"{file}.parquet", **columns) for name, file in CLINICS.items()}
    reference = fb.read(data / "reference.parquet", **columns)
    expected = fb.value(clients, reference, protocol=fb.Cards(policy="guarded"), seed=0)
    pd.testing.assert_series_equal(
        found.clients.set_index("client")["distance"].sort_index(),
        expected.clients.set_index("client")["distance"].sort_index(),
    )
    for name in CLINICS:
        kept = work / "federation" / "nodes" / name
        (folder,) = (kept / "results").iterdir()
        assert len(pd.read_csv(folder / "rows.csv")) == len(pd.read_parquet(folder / "rows.parquet")) == 400
        state = kept / "state" / name
        assert [entry.what for entry in Ledger(state / "ledger.jsonl").read().entries] == ["question", *["reply"] * 4]
        assert (state / "runs" / folder.name / "state.npz").is_file()
        assert (state / "secret").is_file()


def _stop(shell, home):
    """Whatever is still there when a command has failed."""
    for pid in ours(home):
        os.kill(pid, signal.SIGKILL)
    if shell.poll() is None:
        shell.kill()
        shell.wait()


def test_blocks_that_are_not_run_say_why_and_where_they_are_tested():
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    for page in (PAGE, REFERENCE, TRAINING):
        for block in BLOCK.finditer(page):
            assert block["why"] or page is PAGE
            assert set(re.findall(r"test_\w+\.py", block["why"] or "")) <= here


def test_every_key_of_the_run_config_is_on_the_page_with_its_default():
    app = tomllib.loads((REPOSITORY / "packages/fedbary-flower/app" / "pyproject.toml").read_text(encoding="utf-8"))
    keys = app["tool"]["flwr"]["app"]["config"]
    table = REFERENCE.split("## Settings of a run")[1].split("A **node's config**")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    documented = {}
    for first, defaults in rows:
        names = re.findall(r"`([^`]+)`", first)
        values = [value.strip().strip("`") for value in defaults.split(",")] if defaults.strip() else [""] * len(names)
        documented |= dict(zip(names, values, strict=True))
    for key, default in keys.items():
        shown = ("none", "") if default == "" else (json.dumps(default),)
        assert documented.pop(key) in shown, key
    assert not documented


def test_every_reason_is_on_the_page():
    for reason in (str(failure.note) for failure in ERRORS.values()):
        assert reason in REFERENCE
