"""`fedbary watch`: what a terminal, a pipe and a program see of a run, and its exit codes."""

import json
import os
import pty
import signal
import time

import pytest
from made_up_runs import FEDBARY, HOSTILE, eventually, finish, hostile_run

from fedbary.cli.ui.terminal import share_bar
from fedbary.engines.events import Event, EventLog

pytest_plugins = ["cli_fixtures", "live_fixtures"]


def test_a_finished_run_with_a_failed_client(fedbary, tmp_path, log, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    hostile_run(log)
    finish(log, tmp_path / "out")
    code, output, errors = fedbary("watch", "out")
    assert (code, errors) == (3, "")
    assert max(map(len, output.split("Finished in")[1].splitlines())) <= 80
    for name in HOSTILE[:5]:
        assert f"exchange 1: {name} answered" in output
    assert "exchange 1: distances so far: <script>alert(1)</script> 1.50, [/oops] 2.50" in output
    assert "<b>no</b> [bold]label�[31m" in output.split("Finished in")[1]
    assert "\x1b" not in output
    assert output.rstrip().endswith("report  out/report.html")


def test_a_run_is_followed_from_before_its_first_event(beside, tmp_path):
    watching = beside("watch", "out")
    assert watching.stdout.readline() == "watching out\n"
    log = EventLog(tmp_path / "out" / "events.jsonl", append=False)
    log(Event("run-started", total=1))
    assert watching.stdout.readline().endswith("  the run has started with 1 client\n")
    log(Event("distances", 1, values={"a": 1.0}))
    finish(log, tmp_path / "out")
    output, errors = watching.communicate(timeout=300)
    assert (watching.returncode, errors) == (0, "")
    assert "Finished in" in output


def test_json_is_one_line_for_every_change(beside, tmp_path, log):
    hostile_run(log)
    watching = beside("watch", "out", "--json")
    first = json.loads(watching.stdout.readline())
    assert [one["client"] for one in first["clients"]] == list(HOSTILE)
    finish(log, tmp_path / "out")
    *_, last = watching.communicate(timeout=300)[0].splitlines()
    assert (json.loads(last)["standing"], json.loads(last)["report"]) == ("finished", True)
    assert watching.returncode == 3


def test_once_says_how_it_is_now(fedbary, tmp_path, log, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    hostile_run(log)
    code, output, _ = fedbary("watch", tmp_path / "out", "--once")
    assert code == 0
    assert output.startswith("Round 1\n6 of 6 nodes joined · exchange 2 · 0 of 5 answered")
    code, output, _ = fedbary("watch", tmp_path / "out", "--once", "--json")
    assert (code, json.loads(output)["round"]) == (0, 1)
    code, output, _ = fedbary("watch", tmp_path / "none", "--once")
    assert code == 0
    assert output.startswith("Waiting for a run to begin in")


@pytest.mark.parametrize(("kept", "remedy"), [(True, "--resume"), (False, "start it again")])
def test_a_run_that_stopped_is_an_error_with_a_remedy(refused, tmp_path, log, kept, remedy):
    log(Event("run-started", total=2))
    log(Event("run-stopped", detail="interrupted"))
    if kept:
        (tmp_path / "out" / "checkpoint.npz").write_bytes(b"")
    error = refused("watch", tmp_path / "out", says="stopped: interrupted")
    assert error.code == "cli.run-stopped"
    assert remedy in error.private["remedy"]


def test_a_file_is_refused(refused, tmp_path):
    (tmp_path / "out").write_text("")
    assert refused("watch", tmp_path / "out").code == "cli.not-an-output-folder"


def test_ctrl_c_leaves_quietly(beside, log):
    watching = beside("watch", "out")
    assert watching.stdout.readline() == "watching out\n"
    watching.send_signal(signal.SIGINT)
    assert watching.communicate(timeout=300) == ("", "")
    assert watching.returncode == 130


def test_a_terminal_of_eighty_columns(tmp_path, log):
    hostile_run(log)
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(COLUMNS="80", LINES="60", TERM="xterm")
        os.chdir(tmp_path)
        os.execv(FEDBARY, ["fedbary", "watch", "out"])
    seen = b""
    os.set_blocking(terminal, False)

    def read():
        nonlocal seen
        try:
            seen += os.read(terminal, 65536)
        except BlockingIOError:
            pass
        except OSError:  # the other side has closed
            return True
        return b"exchange 2" in seen and b"<b>no</b>" in seen

    assert eventually(read)
    time.sleep(0.1)
    finish(log, tmp_path / "out")
    assert eventually(lambda: read() and b"report.html" in seen)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 3
    text = seen.decode()
    assert "<script>alert(1)</script>" in text
    assert "[/oops]" in text
    assert "label�[31m" in text


def test_a_bar_is_as_exact_as_an_eighth_of_a_column():
    assert share_bar(0.5, 1.0, width=3) == "█▌"
