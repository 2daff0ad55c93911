"""What breaks in a real federation: every fault with real processes, named, and the others' numbers untouched.

A node that died without a word is taken for alive by Flower's server for a minute, which is most of what this takes.
"""

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

import compiler
import fedbary as fb
from deployed import NAMES, command_of, deployed, events, same
from fedbary.deploy.plan import Plan, read_plan
from fedbary.guard.ledger import Ledger
from fedbary.valuation.outcome import Status
from fedbary_flower.setup import create
from processes import alive, descendants, eventually, free_ports, ours

pytestmark = [pytest.mark.federation, pytest.mark.timeout(1800)]

POLICY = 'protocols = ["sketch", "interpolation"]\ntrust_server = true\nmax_questions = 50\n'
# Without a reference the nodes describe their columns first, then start, then step: a run of three messages.
BRIEF = 'protocol="interpolation" rounds=1 t=0.5'
DAY = 24 * 3600
IMPATIENT = "timeout=90.0 retries=0"
SILENCE = ("engines.no-answer", "engines.node-unreachable")


@pytest.fixture(scope="module")
def federation(tmp_path_factory, digits):
    with deployed(tmp_path_factory.mktemp("faults"), digits, POLICY) as made:
        yield made


def sketch(federation, seed, config=""):
    """A run of one message, whose question no other seed asks."""
    reference = federation.home / "reference.parquet"
    return f'reference="{reference}" protocol="sketch" policy="coarsen" seed={seed} {config}'


def same_as_local(found, federation, seed, names):
    """The numbers of a run without anybody else."""
    clients, reference = federation.read(names)
    expected = fb.value(clients, reference, protocol=fb.Sketch(policy="coarsen"), seed=seed)
    same(found, expected, ["distance", "share", "quality"])


def test_two_runs_at_once_both_give_the_right_numbers(federation):
    first, second = federation.home / "first", federation.home / "second"
    with (
        federation.running(first, sketch(federation, 11)) as one,
        federation.running(second, sketch(federation, 12)) as other,
    ):
        one.wait(400)
        other.wait(400)
    for seed, output in ((11, first), (12, second)):
        same_as_local(fb.Valuation.load(output), federation, seed, NAMES)


def test_a_stopped_node_is_silent_and_takes_part_again_once_it_goes_on(federation):
    node = federation.program("cyd")
    os.killpg(node, signal.SIGSTOP)
    found, _ = federation.run(federation.home / "stopped", sketch(federation, 21, IMPATIENT))
    os.killpg(node, signal.SIGCONT)
    same_as_local(found, federation, 21, ["ann", "bob"])
    assert found.outcomes["cyd"].status is Status.SILENT
    assert found.outcomes["cyd"].notes[0].code in SILENCE
    federation.wait_for_nodes()
    assert federation.program("cyd") == node
    found, _ = federation.run(federation.home / "gone-on", sketch(federation, 22))
    same_as_local(found, federation, 22, NAMES)


def test_a_node_without_room_on_its_disk_says_so_and_nothing_unrecorded_leaves(federation):
    state = federation.folder / "nodes" / "cyd" / "state" / "cyd"
    ledger = Ledger(state / "ledger.jsonl")
    while not ledger.path.exists() or ledger.path.stat().st_size < 24 * 1024:
        ledger.allow("sketch", 1, 0.0, "a reason of some length " * 10)
    kept = list(state.glob("runs/*/*"))
    start_limited(federation, 20)  # the ledger cannot grow
    before = ledger.read().entries
    found, _ = federation.run(federation.home / "full", sketch(federation, 41))
    same_as_local(found, federation, 41, ["ann", "bob"])
    assert found.outcomes["cyd"].has("guard.ledger-unwritable"), found.outcomes["cyd"]
    assert ledger.read(head_needed=True).entries == before
    assert list(state.glob("runs/*/*")) == kept
    start_limited(federation, 40)  # it can, but row values are too large
    found, _ = federation.run(federation.home / "nearly-full", sketch(federation, 42))
    same_as_local(found, federation, 42, NAMES)
    assert [entry.what for entry in ledger.read().entries[len(before) :]] == ["question", "reply"]
    assert eventually(lambda: "no row values" in (state / "owner.log").read_text())
    federation.stop("cyd")
    federation.start_node("cyd")
    federation.wait_for_nodes()


def start_limited(federation, size):
    """Start a node whose files may have so many KiB; its log has as many as it likes."""
    federation.stop("cyd")
    federation.start_node("cyd", "bash", "-c", f'exec > >(cat) 2>&1; ulimit -f {size}; exec "$@"', "limited")
    federation.wait_for_nodes()


def test_a_node_that_comes_late_is_not_in_the_run_and_is_in_the_next(federation):
    federation.stop("cyd")
    assert eventually(lambda: "cyd" not in federation.online())
    output = federation.home / "early"
    with federation.running(output, sketch(federation, 31, "num-nodes=2")) as process:
        assert eventually(lambda: events(output, "round-started"))
        federation.start_node("cyd")
        process.wait(400)
    found = fb.Valuation.load(output)
    assert not found.failed
    same_as_local(found, federation, 31, ["ann", "bob"])
    federation.wait_for_nodes()
    found, _ = federation.run(federation.home / "late", sketch(federation, 32))
    same_as_local(found, federation, 32, NAMES)


def test_a_killed_node_is_named_and_its_script_brings_it_back(federation):
    before, joined = federation.program("cyd"), federation.joined("cyd")
    started = descendants(before)
    federation.kill_program("cyd")
    found, _ = federation.run(federation.home / "killed", sketch(federation, 61, IMPATIENT))
    same_as_local(found, federation, 61, ["ann", "bob"])
    assert found.outcomes["cyd"].status is Status.SILENT
    assert found.outcomes["cyd"].notes[0].code in SILENCE
    assert eventually(lambda: not any(map(alive, started)), 300)
    assert "The node ended by itself (exit status 137)." in federation.said("cyd")
    # The server still takes the killed process for alive, and has to be asked until it does not.
    assert eventually(lambda: federation.joined("cyd") == joined + 1, 300), federation.said("cyd")
    assert "for a minute after a crash" in federation.said("cyd")
    assert federation.program("cyd") != before
    federation.wait_for_nodes()


def test_a_node_killed_in_the_middle_of_a_run_is_named_and_the_others_are_valued(federation):
    output = federation.home / "deserted"
    with federation.running(output, f"{BRIEF} {IMPATIENT}") as process:
        assert eventually(lambda: events(output, "round-finished"))
        federation.kill("cyd")
        process.wait(400)
    federation.start_node("cyd")
    found = fb.Valuation.load(output)
    assert list(found.failed) == ["cyd"]
    assert found.outcomes["cyd"].status is Status.SILENT
    assert found.outcomes["cyd"].notes[0].code in SILENCE
    valued = found.clients.set_index("client").loc[["ann", "bob"]]
    assert np.isfinite(valued["distance"]).all()
    assert valued["share"].sum() == pytest.approx(1.0)
    federation.wait_for_nodes()


def goes_on(federation, output):
    """The same run with ``resume``: the numbers of one that nothing happened to, and nothing asked twice."""
    assert not (output / "valuation.json").exists()
    found, _ = federation.run(output, f"{BRIEF} resume=true")
    assert len(events(output, "run-started")) == 2
    assert events(output, "round-started").count("describe") == 1
    clients, _ = federation.read()
    same(found, fb.value(clients, protocol=fb.Interpolation(rounds=1, t=0.5), seed=0), ["distance", "share"])
    assert not found.failed
    assert not (output / "checkpoint.npz").exists()


def test_a_killed_server_is_started_again_and_the_run_goes_on_to_the_same_numbers(federation):
    output = federation.home / "resumed"
    with federation.running(output, BRIEF) as process:
        assert eventually(lambda: len(events(output, "round-finished")) >= 2, 300)
        assert (output / "checkpoint.npz").is_file()
        federation.kill("server")
        process.wait(300)
    federation.start_server()
    # The nodes were not touched: they come back by themselves.
    federation.wait_for_nodes()
    goes_on(federation, output)


def test_a_killed_server_and_a_killed_node_come_back_by_themselves_and_the_run_goes_on(federation):
    output, joined = federation.home / "both", federation.joined("cyd")
    with federation.running(output, BRIEF) as process:
        assert eventually(lambda: len(events(output, "round-finished")) >= 2, 300)
        federation.kill_program("server")
        federation.kill_program("cyd")
        process.wait(300)
    assert eventually(lambda: federation.joined("cyd") == joined + 1, 300), federation.said("cyd")
    federation.wait_for_nodes()
    goes_on(federation, output)


def test_a_server_or_a_node_of_another_federation_is_refused(federation):
    plan = read_plan(federation.folder)
    other = create(federation.home / "other", Plan(["dan"], port=plan.port, node_port=free_ports(1)))
    folder = other / "nodes" / "dan"
    command = [folder / "node-dan.sh", federation.data("cyd")]
    process, log = federation.start(*command)
    assert eventually(lambda: "is not the one that ca.crt vouches for" in log.read_text()), log.read_text()
    process.terminate()
    assert process.wait(300) == 0
    (folder / "ca.crt").write_bytes((federation.folder / "ca" / "ca.crt").read_bytes())
    process, log = federation.start(*command)
    assert eventually(lambda: "does not let this node in" in log.read_text()), log.read_text()
    process.terminate()
    assert process.wait(300) == 0
    assert eventually(lambda: not ours(folder))
    federation.wait_for_nodes()


def test_a_node_whose_clock_is_a_day_off_is_told_and_the_others_are_valued(federation):
    federation.stop("cyd")
    federation.start_node("cyd", environment=shifted(federation.home, -DAY))
    assert eventually(lambda: "certificate is not valid at this machine's time" in federation.said("cyd"))
    federation.stop("cyd")
    federation.start_node("cyd", environment=shifted(federation.home, DAY))
    assert eventually(lambda: "accepts what this node signs: is the clock right" in federation.said("cyd"))
    expected = 'nodes="ann,bob,cyd" min-nodes=2 join-deadline=3.0'
    found, _ = federation.run(federation.home / "day-off", sketch(federation, 81, expected))
    same_as_local(found, federation, 81, ["ann", "bob"])
    assert found.settings["absent"] == ["cyd"]
    assert "engines.absent-nodes" in [note.code for note in found.notes]
    federation.stop("cyd")
    federation.start_node("cyd")
    federation.wait_for_nodes()


def shifted(folder, seconds):
    """Variables under which a program's clock is so far off."""
    library = folder / "shifted_clock.so"
    source = Path(__file__).with_name("shifted_clock.c")
    subprocess.run([compiler.found(), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(seconds)}


def test_nothing_outlives_the_federation(federation):
    """The last test of this file: all start scripts end when they are told to, and leave no process behind."""
    for name in (*NAMES, "server"):
        federation.stop(name)
    assert eventually(lambda: not ours(federation.home), 300), [*map(command_of, ours(federation.home))]
