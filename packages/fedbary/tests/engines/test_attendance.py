"""Who takes part in a networked run: everybody who is online, and whoever does not is named."""

import json

import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.engines.coordinator import RunConfig, valued
from fedbary.engines.events import EVENTS
from fedbary.engines.nodes import Attendance
from fedbary.errors import ProtocolError, SettingsError
from fedbary.notes import Note
from fedbary.views.tables import valuation_text
from fedbary.wording import is_clean
from memory_network import MemoryNetwork, simulated, simulation_config

TOO_FEW = "engines.too-few-nodes"
ONLINE = {"17": "north", "42": "south", "99": "west"}
NAMES = {"100": "north", "101": "south", "102": "west"}


def test_everybody_is_asked_unless_said_otherwise():
    found = Attendance().attending(ONLINE)
    assert (found.nodes, found.left_out, found.absent) == (ONLINE, {}, ())


def test_a_number_takes_the_first_and_lists_the_others():
    found = Attendance(2).attending(ONLINE)
    assert (list(found.nodes.values()), list(found.left_out.values())) == (["north", "south"], ["west"])
    assert Attendance(5).attending(ONLINE).absent == 2


@pytest.mark.parametrize("called", ["west", "99", "node-99"])
def test_names_take_whom_they_name_and_tell_who_is_absent(called):
    found = Attendance(expected=("north", called, "east")).attending(ONLINE)
    assert list(found.nodes) == ["17", "99"]
    assert (list(found.left_out), found.absent) == (["42"], ("east",))


@pytest.mark.parametrize(
    ("rule", "online", "unchanged", "complete"),
    [
        (Attendance(settle=3.0), {}, 99.0, False),  # nobody is no federation
        (Attendance(settle=3.0), ONLINE, 2.9, False),
        (Attendance(settle=3.0), ONLINE, 3.0, True),
        (Attendance(least=4, settle=3.0), ONLINE, 99.0, False),
        (Attendance(3), ONLINE, 0.0, True),
        (Attendance(4, least=2), ONLINE, 99.0, False),  # fewer will do only when the deadline has passed
        (Attendance(expected=("north", "south")), ONLINE, 0.0, True),
        (Attendance(expected=("north", "east")), ONLINE, 99.0, False),
    ],
)
def test_when_nobody_more_is_waited_for(rule, online, unchanged, complete):
    assert rule.is_complete(rule.attending(online), unchanged) == complete


@pytest.mark.parametrize(
    ("rule", "came", "code", "facts"),
    [
        (Attendance(), 0, "engines.nobody-came", {}),
        (Attendance(3), 2, TOO_FEW, {"came": 2, "wanted": 3, "fewer": 2, "absent": None}),
        (Attendance(expected=("north", "east")), 0, TOO_FEW, {"absent": ("north", "east"), "fewer": None}),
        (Attendance(least=2, expected=("north", "east")), 1, TOO_FEW, {"absent": ("east",), "fewer": 1}),
        (Attendance(least=4), 3, TOO_FEW, {"came": 3, "wanted": 4}),
    ],
)  # fmt: skip
def test_too_few_are_refused_with_the_names_of_the_absent_and_what_to_type(rule, came, code, facts):
    online = dict(list(ONLINE.items())[:came])
    with pytest.raises(ProtocolError, check=coded(code)) as caught:
        rule.check(rule.attending(online))
    assert caught.value.public.items() >= facts.items()


@pytest.mark.parametrize(
    "rule", [Attendance(), Attendance(3, least=2), Attendance(expected=("north", "east")), Attendance(least=3)]
)
def test_enough_may_begin(rule):
    rule.check(rule.attending(ONLINE if rule.least != 2 else {"17": "north", "42": "south"}))


@pytest.mark.parametrize(
    "options", [{"wanted": 0}, {"least": 0}, {"deadline": -1.0}, {"settle": float("nan")}], ids=lambda o: next(iter(o))
)
def test_senseless_rules_are_refused(options):
    with pytest.raises(SettingsError, check=parameter(next(iter(options)))):
        Attendance(**options)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, Attendance()),
        ({"num-nodes": 0, "min-nodes": 0, "nodes": ""}, Attendance()),
        ({"num-nodes": 3, "min-nodes": 2}, Attendance(3, 2)),
        ({"nodes": "north, south,"}, Attendance(expected=("north", "south"))),
        ({"dataset": "digits", "clients": 100}, Attendance(100)),  # nodes of a simulation are still being registered
        ({"dataset": "digits"}, Attendance()),
        ({"join-deadline": 5, "settle": 0}, Attendance(deadline=5.0, settle=0.0)),
    ],
)
def test_the_run_config_says_who_takes_part(config, expected):
    assert RunConfig.of(config).attendance == expected


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"num-nodes": "three"}, "num-nodes"),
        ({"num-nodes": -1}, "num-nodes"),
        ({"num-nodes": 3, "nodes": "north,south"}, "num-nodes"),
        ({"num-nodes": 3, "min-nodes": 4}, "min-nodes"),
        ({"nodes": "north,south", "min-nodes": 3}, "min-nodes"),
        ({"join-deadline": "soon"}, "join-deadline"),
        ({"timeout": 0}, "timeout"),
        ({"seed": "x"}, "seed"),
    ],
)
def test_what_makes_no_sense_in_a_run_config_is_named(config, key):
    with pytest.raises(SettingsError, check=parameter(key)):
        RunConfig.of(config)


def network(tmp_path, *, arrivals=(), names=None, **config):
    run = RunConfig.of(simulation_config(tmp_path / "out", **config))
    engine = MemoryNetwork(
        simulated(tmp_path),
        run.output,
        run.attendance,
        arrivals=arrivals,
        names=names or {},
        patience=run.patience,
        simulation=run.simulation,
    )
    return engine, run


def events(tmp_path):
    return [json.loads(line) for line in (tmp_path / "out" / EVENTS).read_text(encoding="utf-8").splitlines()]


def test_a_simulation_waits_for_all_its_clients(tmp_path):
    """Its server begins while they are still registered: without the number the first look would decide."""
    engine, run = network(tmp_path, arrivals=[["101"], ["101"], ["100", "101"], ["100", "101", "102"]])
    found = valued(engine, run)
    assert len(found.clients) == 3
    assert (found.settings["absent"], found.settings["left_out"]) == ([], [])
    joined = [event for event in events(tmp_path) if event["kind"] == "nodes-joined"]
    assert [(event["done"], event["total"]) for event in joined] == [(1, 3), (2, 3), (3, 3)]


def test_without_a_number_the_run_begins_when_no_new_node_has_come_for_a_while(tmp_path):
    arrivals = [[], ["101"], ["100", "101"], ["100", "101", "102"]]
    engine, run = network(tmp_path, arrivals=arrivals, clients="", settle=0.2)
    assert len(valued(engine, run).clients) == 3


def test_the_absent_and_those_left_out_are_named_everywhere(tmp_path):
    config = {"nodes": "north,south,east", "join-deadline": 0.05, "clients": ""}
    engine, run = network(tmp_path, names=NAMES, **config)
    found = valued(engine, run)
    assert sorted(found.settings["nodes"]) == ["north", "south"]
    assert (found.settings["absent"], found.settings["left_out"]) == (["east"], ["west"])
    notes = (
        Note("engines.absent-nodes", {"count": 1, "names": ("east",)}),
        Note("engines.left-out-nodes", {"count": 1, "names": ("west",)}),
    )
    assert all(note in found.notes for note in notes)
    last = [event for event in events(tmp_path) if event["kind"] == "nodes-joined"][-1]
    assert (last["done"], last["total"], last["clients"]) == (2, 3, ["north", "south"])
    found.save(run.output)
    report = found.report(run.output / "report.html").read_text(encoding="utf-8")
    for said in map(str, notes):
        assert all(said in place for place in (valuation_text(found), report, last["detail"]))
    again = fb.Valuation.load(run.output)
    assert (again.settings["absent"], again.settings["left_out"]) == (["east"], ["west"])


def test_whoever_comes_when_the_run_has_begun_is_named(tmp_path):
    engine, run = network(tmp_path, arrivals=[["100", "101"], [*NAMES]], names=NAMES, clients="")
    found = valued(engine, run)
    assert found.settings["late"] == ["west"]
    assert Note("engines.late-nodes", {"count": 1, "names": ("west",)}) in found.notes


def test_names_of_registration_do_nothing_to_a_screen(tmp_path):
    """Whoever reaches Flower's port can register a node by any name."""
    evil = "\x1b[2J\x1b]0;x\x07\u202enorth\nall valued" * 20
    names = {**NAMES, "100": evil, "102": evil}
    engine, run = network(tmp_path, arrivals=[["100", "101"], [*NAMES]], names=names, clients="")
    found = valued(engine, run)
    shown = [valuation_text(found), *map(str, found.notes), *found.settings["late"], *found.settings["nodes"]]
    assert all(is_clean(text) for text in shown)
    assert all(len(name) < 100 for name in found.settings["late"])


def test_many_names_are_a_number_in_a_sentence_and_all_in_the_settings(tmp_path):
    names = tuple(f"site {i}" for i in range(30))
    engine, run = network(
        tmp_path, names=NAMES, clients="", **{"nodes": ",".join(("north", *names)), "join-deadline": 0.0}
    )
    found = valued(engine, run)
    assert found.settings["absent"] == list(names)
    assert Note("engines.absent-nodes", {"count": 30}) in found.notes


def test_a_resumed_run_still_knows_who_was_absent(tmp_path, monkeypatch):
    config = {
        "nodes": "north,south,east",
        "join-deadline": 0.0,
        "clients": "",
        "protocol": "interpolation",
        "rounds": 2,
    }
    engine, run = network(tmp_path, names=NAMES, **config)
    asked = []

    def dying(*arguments):
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return MemoryNetwork.deliver(engine, *arguments)

    monkeypatch.setattr(engine, "deliver", dying)
    with pytest.raises(KeyboardInterrupt):
        valued(engine, run)
    engine, run = network(tmp_path, names=NAMES, **config)
    engine.resume = True
    found = valued(engine, run)
    assert (found.settings["absent"], found.settings["left_out"]) == (["east"], ["west"])
    assert not found.failed
