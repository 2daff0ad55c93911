"""What the start scripts do when Flower's programs end: say why, start them again or not, and leave nothing behind."""

import os
import signal
import subprocess

import pytest

from fedbary.deploy.plan import Plan
from fedbary_flower.setup import create
from processes import alive, eventually

# Stands in for Flower's programs, with a helper of its own as theirs; a signal ends it the way Flower ends.
PROGRAM = """\
#!/bin/bash
sleep 300 &
trap 'echo "SuperNode terminated gracefully."; exit 0' INT TERM
printf '%b\\n' "$FAKE_SAYS"
echo $$ >> "$FAKE_PIDS"; echo $! >> "$FAKE_PIDS"
[ "$FAKE_ENDS" = never ] && wait
exit "$FAKE_ENDS"
"""


@pytest.fixture
def start(tmp_path):
    """Start a script with programs that say and do as told; gives the process, its log and the pids of programs."""
    folder = create(tmp_path / "fed", Plan(["north"], port=18443))
    (tmp_path / "bin").mkdir()
    for name in ("flower-supernode", "flower-superlink"):
        (tmp_path / "bin" / name).write_text(PROGRAM)
        (tmp_path / "bin" / name).chmod(0o700)
    # The coordinator's scripts look into the environment that made them first.
    text = (folder / "server.sh").read_text()
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("export PATH=")]
    (folder / "server.sh").write_text("".join(lines))
    (tmp_path / "data.csv").touch()
    scripts = {"node": [folder / "nodes" / "north" / "node-north.sh", "data.csv"], "server": [folder / "server.sh"]}
    started = []

    def run(which, says="", ends="never"):
        pids = tmp_path / f"pids-{len(started)}"
        told = {"FAKE_SAYS": says, "FAKE_ENDS": str(ends), "FAKE_PIDS": str(pids)}
        log = tmp_path / f"log-{len(started)}"
        with log.open("w") as stream:
            process = subprocess.Popen(
                scripts[which],
                cwd=tmp_path,
                env={**os.environ, **told, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        started.append(process)
        return process, log, pids

    yield run
    for process in started:
        process.terminate()
        process.wait(300)


def read(file):
    return file.read_text() if file.exists() else ""


def living(pids):
    """Which of the processes have not ended."""
    return [pid for pid in map(int, read(pids).split()) if alive(pid)]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("which", ["node", "server"])
def test_a_script_that_is_stopped_ends_at_once_and_nothing_of_it_stays(start, which, sent):
    process, _, pids = start(which, "SuperNode ID: 7")
    assert eventually(lambda: len(living(pids)) == 2)
    process.send_signal(sent)
    assert process.wait(300) == 0
    assert eventually(lambda: not living(pids))


@pytest.mark.parametrize(("which", "says"), [("node", "SuperNode ID: 7"), ("server", "Uvicorn running on x")])
def test_a_program_that_was_killed_is_started_again_and_leaves_no_helper(start, which, says):
    process, log, pids = start(which, says)
    assert eventually(lambda: len(living(pids)) == 2)
    program, helper = living(pids)
    os.kill(program, signal.SIGKILL)
    assert eventually(lambda: "ended by itself (exit status 137)" in read(log))
    assert helper not in living(pids)
    assert eventually(lambda: len(living(pids)) == 2), read(log)
    assert program not in living(pids)
    assert process.poll() is None


@pytest.mark.parametrize(
    ("says", "ends", "why"),
    [
        ("Exit Code: 305\\n[code: 2004] Failed to activate SuperNode.", 1, "does not let this node in"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer certificate", 1, "not the one that ca.crt"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate is not yet valid", 1, "is the clock right?"),
        ("SuperNode terminated gracefully.", 0, "no longer accepts what this node signs"),
        ("[Errno 98] bind on address ('127.0.0.1', 9500): address already in use", 1, "Port 9500 is taken"),
    ],
)
def test_what_may_heal_is_said_in_a_sentence_and_tried_again(start, says, ends, why):
    process, log, _ = start("node", says, ends)
    assert eventually(lambda: "Trying again in 10 s" in read(log))
    assert why in read(log)
    assert process.poll() is None


@pytest.mark.parametrize("which", ["node", "server"])
def test_what_cannot_heal_is_not_tried_again(start, which):
    process, log, _ = start(which, "usage: flower-something [-h]", 2)
    assert process.wait(300) == 2
    assert "did not start: what" in read(log)
    assert "Trying again" not in read(log)
