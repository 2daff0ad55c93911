"""The commands of docs/nvflare.md, run as they stand in one shell, and what the page promises of them."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fedbary as fb
from fedbary.guard.ledger import Ledger
from processes import eventually, free_ports

pytestmark = [pytest.mark.federation, pytest.mark.xdist_group("nvflare-deployment")]

PAGE = (Path(__file__).parents[3] / "docs" / "nvflare.md").read_text(encoding="utf-8")
CLINICS = {"north": "clinic_a", "south": "clinic_b", "east": "clinic_d"}


def test_the_walk_through_works_as_it_stands(tmp_path):
    script = "".join(re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL))
    assert "8543" in script
    script = script.replace("8543", str(free_ports(1)))
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    with (tmp_path / "shell.txt").open("w+") as log:
        shell = subprocess.Popen(
            ["bash", "-euxo", "pipefail", "-c", script],
            cwd=tmp_path,
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
            for pid in ours(tmp_path):
                os.kill(pid, signal.SIGKILL)
            shell.kill()
            shell.wait()
        log.seek(0)
        said = log.read()
    assert code == 0, said[-4000:]
    assert not left, "a process outlived the walk-through"
    (work,) = tmp_path.glob("tmp.*")
    promises_of_the_run(work)


def ours(home):
    """Processes that run out of a kit in this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if any(word.startswith(os.fsencode(home)) for word in (entry / "cmdline").read_bytes().split(b"\0")):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def promises_of_the_run(work):
    found = fb.Valuation.load(work / "run")
    assert found.ranking()["client"].tolist()[-1] == "east"  # a quarter of the diagnoses are wrong
    data, columns = work / "demo" / "data", {"label": "diagnosis", "id": "patient"}
    clients = {name: fb.read(data / f"{file}.parquet", **columns) for name, file in CLINICS.items()}
    reference = fb.read(data / "reference.parquet", **columns)
    expected = fb.value(clients, reference, protocol=fb.Cards(policy="guarded"), seed=0)
    ours, theirs = (result.clients.set_index("client").sort_index() for result in (found, expected))
    np.testing.assert_allclose(ours["distance"], theirs["distance"], atol=1e-9, rtol=0)
    for name in CLINICS:
        kit = work / "federation" / "nodes" / name
        assert [e.what for e in Ledger(kit / "state" / name / "ledger.jsonl").read().entries] == [
            "question",
            *["reply"] * 4,
        ]
