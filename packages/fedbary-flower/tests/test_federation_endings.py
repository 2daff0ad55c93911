"""How `fedbary federation run` ends, whatever becomes of the run; the network is made up, the files are real."""

import json
from dataclasses import replace

import numpy as np
import pytest

import fedbary as fb
from fedbary.cli import main
from fedbary.cli.ui.results import written_files
from fedbary.deploy import runs
from fedbary.deploy.network import Standing
from fedbary.deploy.plan import Plan
from fedbary.engines.coordinator import RunOutcome, RunStatus
from fedbary.engines.events import Event, EventLog
from fedbary.errors import DataError, ProtocolError
from fedbary_flower import network as flower
from fedbary_flower.setup import create

BEGUN = RunOutcome(engine="flower", run="17")


@pytest.fixture
def federation(tmp_path, monkeypatch):
    """A federation whose server says what the test wants; ``server(output)`` is what a run does."""
    folder = create(tmp_path / "fed", Plan(["north", "south"], port=9))
    made = {"submitted": [], "standing": Standing("running"), "stopped": []}
    online = [{"name": name, "registered": True, "status": "online"} for name in ("north", "south")]

    def run(server, *words, nodes=online):
        found = {"server": {"answers": True, "problem": None}, "nodes": nodes, "other_nodes": []}
        monkeypatch.setattr(flower, "status", lambda folder: found)

        def submit(folder, plan, app, config):
            made["submitted"].append(config)
            server(tmp_path / "out")
            return "17"

        monkeypatch.setattr(flower, "submit", submit)
        return main(["federation", "run", str(folder), "-o", str(tmp_path / "out"), *words])

    monkeypatch.setattr(flower, "standing", lambda folder, number: made["standing"])
    monkeypatch.setattr(flower, "stop", lambda folder, number: made["stopped"].append(number) is None)
    monkeypatch.setattr(runs, "_ASK_EVERY", 0.0)
    monkeypatch.setenv("FEDBARY_NO_BROWSER", "1")
    monkeypatch.setenv("COLUMNS", "250")
    made |= {"run": run, "folder": folder}
    return made


def done(output):
    log = EventLog(output / "events.jsonl", append=False)
    log(Event("run-started", total=2))
    log(Event("client-replied", 1, "sketch", "north", 1, 2))
    log(Event("run-finished", total=2))
    rng = np.random.default_rng(0)
    north, south, reference = ((x := rng.normal(size=(40, 2)), np.where(x[:, 0] > 0, "a", "b")) for _ in range(3))
    result = fb.value({"north": north, "south": south}, reference, seed=0)
    result.save(output)
    result.report(output / "report.html")
    return result


def test_a_run_that_is_done_ends_with_its_verdict(federation, capsys, tmp_path):
    assert federation["run"](lambda output: BEGUN.ended(done(output)).save(output)) == 0
    words = capsys.readouterr().out
    assert "north answered, 1 of 2" in words
    assert "report.html" in words
    assert f"watch {tmp_path / 'out'}" in words
    (config,) = federation["submitted"]
    assert config == {
        "nodes": "north,south", "output": str(tmp_path / "out"), "seed": 0, "resume": False, "protocol": "cards",
    }  # fmt: skip


def test_options_become_settings_of_the_run(federation, tmp_path):
    (tmp_path / "reference.csv").write_text("x,y\n1,a\n")
    words = ["--reference", str(tmp_path / "reference.csv"), "--label", 'a "y"', "--epsilon", "2", "--policy", "dp"]
    words += ["--metric", "within", "--fdr", "0.2", "--min-nodes", "1", "--nodes", "south", "--resume"]
    words += ["--set", "join-deadline=7", "--set", "retries=0"]
    federation["run"](lambda output: BEGUN.ended(done(output)).save(output), *words)
    (config,) = federation["submitted"]
    assert config == {
        "nodes": "south", "output": str(tmp_path / "out"), "seed": 0, "resume": True, "protocol": "cards",
        "reference": str(tmp_path / "reference.csv"), "label": 'a "y"', "epsilon": 2.0, "policy": "dp",
        "space-metric": "within", "fdr": 0.2, "min-nodes": 1, "join-deadline": 7.0, "retries": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["--set", "retrys=1"],
        ["--nodes", "nort"],
        ["--reference", "nowhere.csv"],
        ["--protocol", "cards", "--lower", "triangle"],
        ["--set", "min-nodes=9"],
        ["--app", "nowhere"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused_before_anybody_is_asked(federation, words):
    assert federation["run"](lambda output: None, *words) == 2
    assert federation["submitted"] == []


def test_the_exit_code_is_that_of_the_outcome(federation, capsys):
    for outcome, code in (
        (BEGUN.failed(ProtocolError("engines.nobody-came", deadline=4.0)), 2),
        (BEGUN.failed(ZeroDivisionError()), 1),
    ):
        assert federation["run"](outcome.save) == code
        assert f"error: {outcome.text}" in capsys.readouterr().err
    some = replace(BEGUN, status=RunStatus.SOME_FAILED, exit_code=3, report="report.html")

    def partly(output):
        done(output)
        some.save(output)

    assert federation["run"](partly, "--json") == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"]["status"], found["run"]) == ("some-failed", "17")
    assert {client["client"] for client in found["clients"]} == {"north", "south"}


def test_after_a_wrong_setting_the_next_step_is_the_same_command_mended(federation, capsys):
    """Even where somebody is offline: whoever starts that node would see the same error."""
    states = {"north": "online", "south": "offline"}
    nodes = [{"name": name, "registered": True, "status": status} for name, status in states.items()]
    wrong = BEGUN.failed(DataError("data.no-rows"))
    assert federation["run"](wrong.save, "--label", "a b", nodes=nodes) == 2
    said = capsys.readouterr().out
    assert said.rstrip().splitlines()[-1].endswith("--label 'a b'")
    few = BEGUN.failed(ProtocolError("engines.nobody-came", deadline=4.0))
    assert federation["run"](few.save, nodes=nodes) == 2
    assert "node-south.sh" in capsys.readouterr().out.rstrip().splitlines()[-1]


def test_what_is_to_be_typed_is_quoted(federation, capsys, tmp_path):
    (tmp_path / "out put").symlink_to(tmp_path / "out")
    output = str(tmp_path / "out put")
    assert federation["run"](lambda folder: BEGUN.ended(done(folder)).save(folder), "-o", output) == 0
    assert f"watch '{tmp_path / 'out put'}'" in capsys.readouterr().out


def test_rows_that_stayed_with_their_owners_are_not_among_what_was_written(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "clients.csv").touch()
    assert written_files(tmp_path) == {"clients": str(tmp_path / "clients.csv")}


def test_a_run_that_trains_is_waited_for_beyond_its_outcome(federation, monkeypatch, capsys, tmp_path):
    said = iter([Standing("running"), Standing("over")])

    def standing(folder, number):
        (tmp_path / "out" / "training.json").write_text("{}")
        return next(said)

    monkeypatch.setattr(flower, "standing", standing)
    assert federation["run"](lambda output: BEGUN.ended(done(output)).save(output), "--set", "train-rounds=2") == 0
    assert next(said, None) is None
    assert "out/training.json" in capsys.readouterr().out


def test_an_earlier_runs_outcome_is_not_taken_for_this_ones(federation, capsys):
    def died(output):
        replace(BEGUN, run="16").ended(done(output)).save(output)
        federation["standing"] = Standing("over", "No module named 'fedbary'")

    assert federation["run"](died) == 2
    error = capsys.readouterr().err
    assert "No module named 'fedbary'" in error
    assert "17" in error


def test_a_server_that_vanishes_is_noticed_and_the_remedy_is_to_resume(federation, capsys):
    def vanished(output):
        output.mkdir()
        (output / "checkpoint.npz").touch()
        federation["standing"] = Standing("unknown")

    assert federation["run"](vanished) == 2
    assert "--resume" in capsys.readouterr().err


def test_ctrl_c_stops_the_run_and_says_how_to_go_on(federation, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fedbary.cli.commands.watch.time.sleep", interrupted)

    def halfway(output):
        EventLog(output / "events.jsonl", append=False)(Event("run-started", total=2))
        (output / "checkpoint.npz").touch()

    assert federation["run"](halfway) == 130
    assert federation["stopped"] == ["17"]
    assert capsys.readouterr().err.rstrip().endswith("--resume")


def test_who_is_not_online_is_named_with_what_to_type(federation, capsys):
    nodes = [
        {"name": "north", "registered": True, "status": "online"},
        {"name": "south", "registered": True, "status": "offline"},
    ]
    assert federation["run"](lambda output: BEGUN.ended(done(output)).save(output), nodes=nodes) == 0
    words = capsys.readouterr().out
    assert f"{federation['folder']}/nodes/south/node-south.sh" in words
    assert "node-north.sh" not in words
    nobody = [{**node, "registered": False, "status": "not registered"} for node in nodes]
    assert federation["run"](lambda output: None, nodes=nobody) == 2
    assert f"{federation['folder']}/register.sh" in capsys.readouterr().err
