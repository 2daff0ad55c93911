"""FLARE's own simulator, with a server and a process for every site."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.engines.coordinator import read_outcome
from fedbary.guard.ledger import Ledger
from fedbary.nvflare import Coordinator, Simulator, Site, recipe
from fedbary.valuation.result import Valuation
from flare_inprocess import FaultySites, Job, drawn_tables, owners_files, write_table

pytestmark = pytest.mark.federation
FAULTS = {
    "site-2": ("raises", "engines.app-failed"),
    "site-3": ("silent", "engines.no-answer"),
    "site-4": ("nan", "protocols.number-unfit"),
    "site-5": ("wrong shape", "protocols.array-shape"),
    "site-6": ("replays a run", "engines.reply-of-another-run"),
}
SCRIPT = """
import json, sys
from fedbary.nvflare import Simulator, recipe
config, own, folder = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
if __name__ == "__main__":
    recipe(config).execute(Simulator(3, folder, site_config=own))
"""


def own(folder, tables):
    """The owners' files, as the simulator writes them to each site's folder."""
    for name, table in tables.items():
        write_table(folder / "data" / f"{name}.parquet", table)
    return {"data-path": str(folder / "data" / "{site}.parquet"), "table": "{site}", "report": False,
            "state-path": str(folder / "state")}  # fmt: skip


def distances(result):
    return result.clients.set_index("client")["distance"].sort_index()


def test_sites_fail_in_five_ways_and_the_others_are_valued_as_without_them(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    tables, _ = drawn_tables(8)
    config = {"output": str(tmp_path / "out"), "timeout": 20.0, "retries": 0}
    simulator = Simulator(8, tmp_path / "flare", site_config=own(tmp_path, tables))
    faulty = FaultySites({name: fault for name, (fault, _) in FAULTS.items()}, 20.0)
    recipe(config, site=faulty).execute(simulator)
    found = Valuation.load(tmp_path / "out")
    codes = {name: outcome.notes[0].code for name, outcome in found.outcomes.items() if not outcome.ok}
    assert codes == {name: code for name, (_, code) in FAULTS.items()}
    assert read_outcome(tmp_path / "out").exit_code == 3
    healthy = {name: table for name, table in tables.items() if name not in FAULTS}
    expected = fb.value(healthy, protocol=fb.Cards(policy="guarded"), seed=0)
    np.testing.assert_allclose(distances(found)[list(healthy)], distances(expected)[list(healthy)], atol=1e-9)
    ledger = Ledger(tmp_path / "state" / "site-1" / "ledger.jsonl").read(head_needed=True)
    assert [(entry.what, entry.kind) for entry in ledger.entries][:2] == [("question", "card"), ("reply", "card")]


def killed_and_resumed(home):
    """A run whose server and sites were killed after a round, and that went on; and its owners and their tables."""
    tables, _ = drawn_tables(3, rows=60)
    (home / "policy.toml").write_text('protocols = ["interpolation"]\ntrust_server = true\nmax_rounds = 40\n')
    config = {"protocol": "interpolation", "rounds": 40, "t": 0.5, "output": str(home / "out"), "timeout": 60.0}
    owners = {**own(home, tables), "policy": str(home / "policy.toml")}
    (home / "run.py").write_text(SCRIPT)

    def started(**more):
        words = [json.dumps(part) for part in ({**config, **more}, owners)]
        command = [sys.executable, str(home / "run.py"), *words, str(home / "flare")]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)

    first = started()
    checkpoint = home / "out" / "checkpoint.npz"
    end = time.monotonic() + 300
    while not checkpoint.exists():
        assert first.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.02)
    kill_family(first.pid)
    first.wait()
    assert read_outcome(home / "out").status == "running"
    again = started(resume=True)
    assert again.wait(300) == 0
    return Valuation.load(home / "out"), config, owners, tables


def test_a_run_whose_server_and_sites_were_killed_goes_on_to_the_same_numbers(tmp_path):
    for place in range(6):
        tmp_path = tmp_path.parent / f"{tmp_path.name}-{place}"
        tmp_path.mkdir()
        found, config, owners, tables = killed_and_resumed(tmp_path)
        # A site that is killed between its ledger and its state answers nothing more in the run: then another one.
        if {outcome.notes[0].code for outcome in found.outcomes.values() if not outcome.ok} != {"guard.state-behind"}:
            break
    assert found.failed == {}
    for name in tables:  # the same owners, with the same secrets, who were never asked before
        (tmp_path / "straight" / name).mkdir(parents=True)
        shutil.copy(tmp_path / "state" / name / "secret", tmp_path / "straight" / name)
    owners_files(tmp_path, tables, **owners | {"state-path": str(tmp_path / "straight")})
    job = Job(tmp_path, {name: Site() for name in tables}, simulated=False)
    job.run(Coordinator({**config, "output": str(tmp_path / "unbroken")}))
    pd.testing.assert_frame_equal(found.clients, Valuation.load(tmp_path / "unbroken").clients)
    ledger = Ledger(tmp_path / "state" / "site-1" / "ledger.jsonl").read(head_needed=True)
    assert [entry.what for entry in ledger.entries].count("question") == 1


def kill_family(pid):
    """Kill a process and all that it started, at the same moment; FLARE's sites are leaders of their own groups."""
    family, todo = [], [pid]
    while todo:
        one = todo.pop()
        family.append(one)
        children = Path(f"/proc/{one}/task").glob("*/children")
        todo += [int(child) for file in children for child in file.read_text().split()]
    for one in family:
        os.kill(one, signal.SIGKILL)
