"""However a networked run ends, its folder says so: a status, an exit code, and why."""

import json

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.engines.coordinator import coordinate, preparing
from fedbary.engines.live.watched import Watched
from fedbary.engines.run_config import RunConfig, output_folder
from fedbary.engines.run_outcome import NAME, RunOutcome, RunStatus, read_outcome
from fedbary.errors import FedbaryError, ProtocolError
from memory_network import MemoryNetwork, simulated, simulation_config


def network(tmp_path, configs=None, *, silent=(), names=None, **config):
    run = RunConfig.of(simulation_config(tmp_path / "out", **config))
    options = {"patience": run.patience, "simulation": run.simulation, "run_id": "17"}
    configs = simulated(tmp_path) if configs is None else configs
    return MemoryNetwork(configs, run.output, run.attendance, silent=silent, names=names, **options), run


def outcome(tmp_path):
    found = read_outcome(tmp_path / "out")
    assert found is not None
    return found


def owners(tmp_path, count=2, policy=""):
    """Nodes with files and policies of their own, and the run config of a coordinator with a reference."""
    rng = np.random.default_rng(0)
    (tmp_path / "policy.toml").write_text(policy)
    for name in ("reference", *(f"part-{i}" for i in range(count))):
        codes = rng.integers(0, 2, 60)
        rows = {"age": 3.0 * codes + rng.normal(size=60), "label": np.array(["no", "yes"])[codes]}
        pd.DataFrame(rows).to_parquet(tmp_path / f"{name}.parquet")
    shared = {"state-path": str(tmp_path / "s"), "policy": str(tmp_path / "policy.toml"), "report": False}
    nodes = {
        str(7 + i): {"data-path": str(tmp_path / f"part-{i}.parquet"), "name": f"site {i}", **shared}
        for i in range(count)
    }
    return nodes, {
        "reference": str(tmp_path / "reference.parquet"),
        **dict.fromkeys(("dataset", "partition", "clients", "rows"), ""),
    }


def test_a_run_that_valued_everybody(tmp_path, capsys):
    engine, run = network(tmp_path)
    seen = []
    engine.deliver, deliver = lambda *given: (seen.append(outcome(tmp_path)), deliver(*given)), engine.deliver
    result = coordinate(engine, run)
    assert (seen[0].status, seen[0].exit_code, seen[0].run) == (RunStatus.RUNNING, None, "17")
    found = outcome(tmp_path)
    assert (found.status, found.exit_code, found.code, found.report) == (RunStatus.DONE, 0, None, "report.html")
    assert (found.engine, found.run, found.session) == ("memory", "17", engine.session)
    assert (tmp_path / "out" / found.report).is_file()
    assert not result.failed
    assert json.loads((tmp_path / "out" / NAME).read_text())["fedbary_outcome"] == 1


def test_some_failed_and_the_others_are_valued(tmp_path):
    engine, run = network(tmp_path, silent=["101"])
    coordinate(engine, run)
    found = outcome(tmp_path)
    assert (found.status, found.exit_code, found.code) == (RunStatus.SOME_FAILED, 3, "engines.some-failed")
    assert "node-101" in found.text


@pytest.mark.parametrize("protocol", ["sketch", "cards", "interpolation"])
def test_nobody_could_be_valued_and_the_result_says_why(tmp_path, protocol):
    engine, run = network(tmp_path, silent=["100", "101", "102"], protocol=protocol)
    coordinate(engine, run)
    found = outcome(tmp_path)
    assert (found.status, found.exit_code) == (RunStatus.SOME_FAILED, 3)
    assert len(fb.Valuation.load(tmp_path / "out").failed) == 3


@pytest.mark.parametrize(
    ("refusing", "status", "exit_code"), [(2, RunStatus.REFUSED, 2), (1, RunStatus.SOME_FAILED, 3)]
)
def test_a_run_that_every_owner_refuses_is_refused(tmp_path, refusing, status, exit_code):
    nodes, config = owners(tmp_path, policy='protocols = ["interpolation"]\n')
    if refusing < len(nodes):
        nodes["7"].pop("policy")
    engine, run = network(tmp_path, nodes, **config)
    coordinate(engine, run)
    found = outcome(tmp_path)
    assert (found.status, found.exit_code, found.report) == (status, exit_code, "report.html")
    assert len(fb.Valuation.load(tmp_path / "out").failed) == refusing
    assert found.code == ("engines.all-refused" if refusing == 2 else "engines.some-failed")


def test_too_few_nodes_have_names(tmp_path):
    names = {"100": "north", "101": "south", "102": "west"}
    config = {"nodes": "north,east", "min-nodes": 2, "join-deadline": 0.0, "clients": ""}
    engine, run = network(tmp_path, names=names, **config)
    with pytest.raises(ProtocolError, check=coded("engines.too-few-nodes")):
        coordinate(engine, run)
    found = outcome(tmp_path)
    assert (found.status, found.exit_code, found.code) == (RunStatus.TOO_FEW_NODES, 2, "engines.too-few-nodes")
    assert "east" in found.text
    assert "min-nodes=1" in found.text


def test_a_reference_that_cannot_be_read(tmp_path):
    engine, run = network(tmp_path, reference=str(tmp_path / "nowhere.parquet"))
    with pytest.raises(FedbaryError):
        coordinate(engine, run)
    found = outcome(tmp_path)
    assert (found.status, found.exit_code) == (RunStatus.REFUSED, 2)
    assert "nowhere.parquet" in found.text
    watched = Watched(tmp_path / "out")
    list(watched.look())
    assert watched.run.standing == "stopped"  # whoever watches does not wait for ever


def test_a_wrong_run_config_is_said_where_the_output_was_to_be(tmp_path):
    config = {"protocol": "magic", "output": str(tmp_path / "out")}
    with pytest.raises(FedbaryError), preparing(output_folder(config), "memory", "17"):
        RunConfig.of(config)
    found = outcome(tmp_path)
    assert (found.status, found.exit_code, found.code) == (RunStatus.REFUSED, 2, "settings.no-protocol")
    assert (found.engine, found.run, found.session) == ("memory", "17", None)
    watched = Watched(tmp_path / "out")
    list(watched.look())
    assert watched.run.standing == "stopped"


@pytest.mark.parametrize(
    ("error", "exit_code", "code", "text"),
    [
        (ZeroDivisionError("by nothing"), 1, "internal.error", "internal error (ZeroDivisionError: by nothing)"),
        (
            OSError(28, "No space left on device", "/srv/out"),
            2,
            "internal.error",
            "'/srv/out': No space left on device",
        ),
        (KeyboardInterrupt(), 130, None, "interrupted"),
    ],
    ids=["bug", "full disk", "interrupt"],
)
def test_a_run_that_fails_says_so_in_a_sentence_and_still_raises(tmp_path, error, exit_code, code, text):
    engine, run = network(tmp_path)

    def broken(*_):
        raise error

    engine.deliver = broken
    with pytest.raises(type(error)):
        coordinate(engine, run)
    found = outcome(tmp_path)
    assert (found.status, found.exit_code, found.code, found.text) == (RunStatus.FAILED, exit_code, code, text)


def test_an_outcome_that_cannot_be_written_does_not_hide_why_the_run_failed(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError), preparing(tmp_path / "file" / "out", "memory"):
        raise AssertionError("not reached")


def test_odd_paths_and_other_files(tmp_path):
    RunOutcome(text="no file '/data/\udcff'").save(tmp_path)
    assert read_outcome(tmp_path).text.startswith("no file '/data/")
    for content in ("{}", "[]", '{"fedbary_outcome": 2}', "nonsense"):
        (tmp_path / NAME).write_text(content)
        with pytest.raises(ProtocolError, check=coded("engines.outcome-unreadable")):
            read_outcome(tmp_path)
