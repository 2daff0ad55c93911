"""Flower's quick starts with local data: value, leave out and train, by a few lines more than the plain app."""

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import flower_apps  # noqa: E402
from test_flower_simulation import _stop  # noqa: E402

CLEAN = range(6)  # of ten nodes


@pytest.mark.parametrize("app", flower_apps.APPS)
def test_at_most_six_lines_differ_from_the_plain_app(app, tmp_path):
    whole, plain = REPOSITORY / "examples" / f"flower-{app}", flower_apps.plain_copy(app, tmp_path)
    changed = []
    for file in sorted(whole.rglob("*.py")):
        before, after = ((home / file.relative_to(whole)).read_text().splitlines() for home in (plain, whole))
        changed += [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
        assert "fedbary" not in "\n".join(before).lower()
    assert len(changed) == len(flower_apps.marked_lines(app)) == 5


@pytest.mark.parametrize("strategy", flower_apps.STRATEGIES)
@pytest.mark.parametrize("app", flower_apps.APPS)
def test_the_model_of_the_included_nodes_is_better(app, strategy, monkeypatch):
    if app == "pytorch":
        pytest.importorskip("torch")
    monkeypatch.setenv("FEDBARY_STATE", "set by the app's run")
    before, after = (flower_apps.accuracy(app, strategy, 0, with_fedbary=chosen) for chosen in (False, True))
    assert after > before


@pytest.mark.federation
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at processes as Linux shows them")
def test_a_users_own_partitions_work_in_a_simulation_on_ray(tmp_path):
    app = REPOSITORY / "examples" / "flower-sklearn"
    environment = os.environ | {
        "FLWR_HOME": str(tmp_path / "home"),
        "FEDBARY_STATE": str(tmp_path / "state"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    federation = "num-supernodes=10 client-resources-num-cpus=1"
    config = f'num-server-rounds=2 output="{tmp_path}"'
    command = ["flwr", "run", str(app), "--stream", "--federation-config", federation, "--run-config", config]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=800, cwd=tmp_path, check=False
        )
    finally:
        _stop(tmp_path)
    said = done.stdout + done.stderr
    assert (tmp_path / "accuracy.json").is_file(), said[-3000:]
    assert json.loads((tmp_path / "accuracy.json").read_text())["accuracy"] > 0.8
    assert "fedbary: 10 nodes take part" in said
    assert f"Sampled {len(CLEAN)} nodes (out of {len(CLEAN)})" in said
    assert not list((tmp_path / "state").glob("**/ledger.jsonl"))  # one owner, who needs none
    folders = [file.parent for file in (tmp_path / "state").glob("partition-*/results/*/rows.csv")]
    assert len(folders) == len({folder.parents[1] for folder in folders}) == 10
    assert np.isfinite(np.load(tmp_path / "final_model.npz")["arr_0"]).all()
