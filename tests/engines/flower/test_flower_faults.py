"""What breaks in a real federation: every fault with real processes, named, and the others' numbers untouched.

A node that died without a word is taken for alive by Flower's server for a minute, which is most of what this takes.
"""

import os
import signal

import numpy as np
import pytest
from deployed import NAMES, deployed, events, same
from processes import alive, descendants, eventually

import fedbary as fb
from fedbary.valuation.outcome import Status

pytestmark = [pytest.mark.federation, pytest.mark.timeout(420)]

POLICY = 'protocols = ["sketch", "interpolation"]\ntrust_server = true\nmax_questions = 50\n'
# Without a reference the nodes describe their columns first, then start, then step: a run of three messages.
BRIEF = 'protocol="interpolation" rounds=1 t=0.5'
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
        one.wait(200)
        other.wait(200)
    for seed, output in ((11, first), (12, second)):
        same_as_local(fb.Valuation.load(output), federation, seed, NAMES)


def test_a_stopped_node_is_silent_and_takes_part_again_once_it_goes_on(federation):
    node = federation.program("cyd")
    os.killpg(node, signal.SIGSTOP)
    found, _ = federation.run(federation.home / "stopped", sketch(federation, 21, "timeout=30.0 retries=0"))
    os.killpg(node, signal.SIGCONT)
    same_as_local(found, federation, 21, ["ann", "bob"])
    assert found.outcomes["cyd"].status is Status.SILENT
    assert found.outcomes["cyd"].notes[0].code in SILENCE
    federation.wait_for_nodes()
    assert federation.program("cyd") == node
    found, _ = federation.run(federation.home / "gone-on", sketch(federation, 22))
    same_as_local(found, federation, 22, NAMES)


def test_a_node_that_comes_late_is_not_in_the_run_and_is_in_the_next(federation):
    federation.stop("cyd")
    assert eventually(lambda: "cyd" not in federation.online())
    output = federation.home / "early"
    with federation.running(output, sketch(federation, 31, "num-nodes=2")) as process:
        assert eventually(lambda: events(output, "round-started"), 60)
        federation.start_node("cyd")
        process.wait(200)
    found = fb.Valuation.load(output)
    assert not found.failed
    same_as_local(found, federation, 31, ["ann", "bob"])
    federation.wait_for_nodes()
    found, _ = federation.run(federation.home / "late", sketch(federation, 32))
    same_as_local(found, federation, 32, NAMES)


def test_a_killed_node_is_named_and_its_script_brings_it_back(federation):
    before = federation.program("cyd")
    started = descendants(before)
    federation.kill_program("cyd")
    found, _ = federation.run(federation.home / "killed", sketch(federation, 41, "timeout=20.0 retries=0"))
    same_as_local(found, federation, 41, ["ann", "bob"])
    assert found.outcomes["cyd"].status is Status.SILENT
    assert found.outcomes["cyd"].notes[0].code in SILENCE
    assert eventually(lambda: not any(map(alive, started)), 20)
    assert "The node ended by itself (exit status 137)." in federation.said("cyd")
    # The server still takes the killed process for alive, and has to be asked until it does not.
    assert eventually(lambda: federation.said("cyd").count("SuperNode ID:") == 2, 120), federation.said("cyd")
    assert "for a minute after a crash" in federation.said("cyd")
    assert federation.program("cyd") != before
    federation.wait_for_nodes()


def test_a_node_killed_in_the_middle_of_a_run_is_named_and_the_others_are_valued(federation):
    output = federation.home / "deserted"
    with federation.running(output, f"{BRIEF} timeout=40.0 retries=0") as process:
        assert eventually(lambda: events(output, "round-finished"), 90)
        federation.kill("cyd")
        process.wait(180)
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
        assert eventually(lambda: len(events(output, "round-finished")) >= 2, 120)
        assert (output / "checkpoint.npz").is_file()
        federation.kill("server")
        process.wait(30)
    federation.start_server()
    # The nodes were not touched: they come back by themselves.
    federation.wait_for_nodes()
    goes_on(federation, output)


def test_a_killed_server_and_a_killed_node_come_back_by_themselves_and_the_run_goes_on(federation):
    output = federation.home / "both"
    with federation.running(output, BRIEF) as process:
        assert eventually(lambda: len(events(output, "round-finished")) >= 2, 120)
        federation.kill_program("server")
        federation.kill_program("cyd")
        process.wait(30)
    assert eventually(lambda: federation.said("cyd").count("SuperNode ID:") == 2, 150), federation.said("cyd")
    federation.wait_for_nodes()
    goes_on(federation, output)
