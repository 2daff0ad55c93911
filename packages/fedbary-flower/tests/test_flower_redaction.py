"""Over Flower, what a node keeps to itself never reaches the server, and what it claims changes nobody."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.cli import main
from fedbary.notes import Note
from fedbary.protocols.messages import Reply, reply_notes
from fedbary.protocols.sketch.client import SketchClient
from fedbary.sentences import AREAS, area
from fedbary.valuation.outcome import Status
from fedbary.wording import is_plain

SECRET = "Ann', Brown 1961"
SENTENCES = {f"{name}.{what}": said for name in AREAS for what, said in area(name).items()}
UNKNOWN = "for a reason that this version of fedbary does not know"


def rows(count, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, count)
    features = rng.normal(size=(count, 3)) + 3.0 * codes[:, None]
    return pd.DataFrame(features, columns=["x0", "x1", "x2"]).assign(label=np.array(["no", "yes"])[codes])


SPOILT = {
    "schema.columns-missing": lambda frame: frame.rename(columns={"x1": SECRET}),
    "data.cell-does-not-fit": lambda frame: frame.assign(x1=[*[SECRET] * 9, *frame["x1"][9:]]),
    "data.no-such-column": lambda frame: frame.rename(columns={"label": SECRET}),
    "data.labels-missing": lambda frame: frame.assign(label=None).assign(**{SECRET: 1.0}),
}


# Column names are declared; what else is wrong with a table is between its owner and the owner's log.
LEAVES = {
    code: "schema.columns-missing" if code == "schema.columns-missing" else "guard.table-unreadable" for code in SPOILT
}


@pytest.fixture
def federation(tmp_path):
    """Four nodes with files of their own and a run config; a function that runs them over a grid in this process."""
    pytest.importorskip("flwr")
    from fedbary.engines.coordinator import RunConfig
    from fedbary_flower.client_app import app
    from fedbary_flower.server_app import valued
    from inprocess import InProcessGrid

    rows(120, 9).to_csv(tmp_path / "reference.csv", index=False)
    config = {"protocol": "sketch", "reference": str(tmp_path / "reference.csv"), "timeout": 60.0, "poll": 0.001}

    def run(frames, faults=None, out="out", **more):
        nodes = {}
        for number, (name, frame) in enumerate(frames.items()):
            file = tmp_path / f"rows-{number}.csv"
            frame.to_csv(file, index=False)
            state = {"state-path": str(tmp_path / out), "table": f"table-{number}"}
            nodes[number] = {"data-path": str(file), "name": name, "report": False, **state}
        grid = InProcessGrid(app, nodes, faults)
        result = valued(grid, RunConfig.of({**config, "num-nodes": len(nodes), "output": str(tmp_path / out), **more}))
        home = result.save(tmp_path / out)
        result.report(home / "report.html")
        return result, grid, home

    return run


def test_a_column_s_name_never_reaches_the_server(federation):
    frames = {code: spoil(rows(30, seed)) for seed, (code, spoil) in enumerate(SPOILT.items())}
    frames["fine"] = rows(30, 7).assign(**{SECRET: 1.0})
    result, grid, home = federation(frames)
    assert {name: outcome.notes[0].code for name, outcome in result.outcomes.items() if not outcome.ok} == LEAVES
    assert result.outcomes["fine"].notes == (Note("schema.ignores-columns", {"count": 1}),)
    seen = [repr({name: dict(record) for name, record in reply.content.items()}) for reply in grid.received]
    files = {file.name for file in home.iterdir() if file.is_file()}
    assert {"events.jsonl", "report.html", "valuation.json", "clients.csv"} <= files
    seen += [(home / name).read_bytes().decode("utf-8", errors="replace") for name in files]
    seen += [result.to_markdown(), result._repr_html_(), repr(result.outcomes), repr(result.verdict())]
    assert not [text[:200] for text in seen if "Brown 1961" in text]


def test_a_class_below_min_group_is_not_even_counted_for_the_server(federation):
    frames = {"a": rows(30, 0), "b": rows(30, 1)}
    frames["a"].loc[0, "label"] = SECRET
    frames["b"].loc[:, "label"] = frames["b"]["label"].replace("yes", "perhaps")
    found, *_ = federation(frames)
    assert found.outcomes["a"].notes == ()
    assert Note("schema.unknown-classes", {"count": 1, "classes": ("perhaps",)}) in found.outcomes["b"].notes


@pytest.mark.parametrize(
    ("epsilon", "stopped"),
    [
        ({}, set(LEAVES)),
        # With ε no cell decides whether there is an answer.
        ({"epsilon": 1.0}, set(LEAVES) - {"data.labels-missing", "data.cell-does-not-fit"}),
    ],
    ids=["exact", "private"],
)
def test_only_the_owner_s_log_tells_what_is_wrong_with_the_rows(federation, epsilon, stopped):
    frames = {code: spoil(rows(30, seed)) for seed, (code, spoil) in enumerate(SPOILT.items())}
    found, _, home = federation(frames | {"fine": rows(30, 7)}, **epsilon)
    leaves = {name: outcome.notes[0].code for name, outcome in found.outcomes.items() if not outcome.ok}
    assert leaves == {code: LEAVES[code] for code in stopped}
    assert not [one for outcome in found.outcomes.values() if not outcome.ok for one in outcome.notes if one.private]
    for node, code in enumerate(SPOILT):
        log = home / f"table-{node}" / "owner.log"  # in this test the nodes' folders lie beside the server's files
        assert code in log.read_text(encoding="utf-8")
        assert log.stat().st_mode & 0o077 == 0


def test_only_the_coordinator_s_own_files_name_the_columns_that_a_client_described(tmp_path):
    tables = {name: rows(60, seed) for seed, name in enumerate(("a", "b", "c"))}
    tables["odd"] = rows(60, 4).rename(columns={"x1": SECRET, "x2": f"{SECRET} 2"})
    tables["number"] = rows(60, 5).assign(label=np.linspace(0.5, 9.7, 60)).rename(columns={"label": SECRET})
    engine = fb.LocalEngine(folder=tmp_path)
    found = fb.value(
        {name: fb.Table.from_frame(frame, frame.columns[-1]) for name, frame in tables.items()},
        protocol=fb.Interpolation(),
        engine=engine,
    )
    assert {name: outcome.notes[0].code for name, outcome in found.outcomes.items() if not outcome.ok} == {
        "odd": "schema.columns-unlike-the-others", "number": "schema.labels-unlike-the-others"
    }  # fmt: skip
    assert all("Brown 1961" in why for why in found.failed.values())
    found.report(tmp_path / "report.html")
    for name in ("report.html", "events.jsonl"):
        assert "Brown 1961" not in (tmp_path / name).read_text(encoding="utf-8")


CLAIMS = {
    "another code": [{"code": "valuation.no-row-values", "facts": {"why": "none"}}],
    "free words": [{"code": "protocols.saturated", "facts": {"text": "no row values: none"}}],
    "a verdict": [{"code": "verdict.harms", "facts": {"value": -1.0}}],
    "wrong kinds": [{"code": "schema.ignores-columns", "facts": {"count": "no row values", "why": "none"}}],
}


def claiming(notes):
    def fault(message, honest):
        reply = honest()
        reply.content["fedbary"]["notes"] = notes if isinstance(notes, str) else json.dumps(notes)
        return reply

    return fault


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_a_client_claims_in_notes_changes_no_verdict(federation, claim):
    frames = {name: rows(30, seed) for seed, name in enumerate(("a", "b", "c"))}
    honest, *_ = federation(frames, out="honest")
    found, *_ = federation(frames, {1: claiming(CLAIMS[claim])}, out="claimed")
    assert found.failed == {}
    assert found.without_rows == ()
    assert found.verdict() == honest.verdict()
    pd.testing.assert_frame_equal(found.clients.drop(columns="notes"), honest.clients.drop(columns="notes"))
    assert "row values" not in " ".join(found.clients["notes"])


def test_notes_that_cannot_be_read_take_out_their_client_alone(federation):
    frames = {name: rows(30, seed) for seed, name in enumerate(("a", "b", "c"))}
    found, *_ = federation(frames, {1: claiming("no row values: none")})
    assert {name: outcome.status for name, outcome in found.outcomes.items()} == {
        "a": Status.OK, "b": Status.FAILED, "c": Status.OK
    }  # fmt: skip
    assert found.outcomes["b"].notes == (Note("engines.notes-unreadable"),)


def test_a_failure_cannot_claim_to_be_ok(federation):
    frames = {"a": rows(30, 0), "b": rows(30, 1).rename(columns={"x1": "y"})}

    def fault(message, honest):
        reply = honest()
        reply.content["fedbary"]["failure"] = "ok"
        return reply

    found, *_ = federation(frames, {1: fault})
    bad = found.outcomes["b"]
    assert (bad.status, bad.notes) == (Status.FAILED, (Note("engines.failure-unreadable"),))
    assert found.outcomes["a"].ok


def in_head(**claims):
    def fault(message, honest):
        reply = honest()
        for key, claim in claims.items():
            reply.content["fedbary"][key] = claim
        return reply

    return fault


def failing(code, **facts):
    return in_head(failure="failed", note=json.dumps({"code": code, "facts": facts}))


FREE = "buy {0.__class__} now"
# What a node sends of itself, and the code under which the server keeps it.
FORGED = {
    "free words": (failing("games.budget-spent", limits=FREE), "engines.failure-unreadable"),
    "a verdict": (failing("verdict.harms", value=-1.0), "engines.failure-unreadable"),
    "nested words": (
        failing("internal.error", kind={"note": {"code": "games.budget-spent", "facts": {"limits": FREE}}}),
        "engines.failure-unreadable",
    ),
    "a letter": (failing("settings.parameter", name="t", owner="I", expected="trusted. " * 50), "settings.parameter"),
    "a place": (failing("data.no-rows", where=FREE, option=FREE), "data.no-rows"),
    "an endless version": (in_head(version="x" * 100_000), "engines.other-version"),
    "a kind that moves the cursor": (in_head(kind="\x1b[2J\x9b\u202e"), "engines.reply-not-asked"),
}


def test_forged_heads_and_failures_are_said_in_plain_and_short_words_of_this_package(federation):
    frames = {"a": rows(30, 0), **{name: rows(30, seed) for seed, name in enumerate(FORGED, start=1)}}
    found, _, home = federation(frames, {node: fault for node, (fault, _) in enumerate(FORGED.values(), start=1)})
    first, *forged = found.outcomes.values()
    assert first.ok
    assert [outcome.notes[0].code for outcome in forged] == [code for _, code in FORGED.values()]
    assert found.without_rows == ()
    for outcome in forged:
        assert is_plain(outcome.text)
        assert len(outcome.text) < 200
    for name in ("events.jsonl", "report.html", "valuation.json", "clients.csv"):
        text = (home / name).read_text(encoding="utf-8")
        assert not [one for one in ("__class__", "\x1b", "\x9b", "\u202e", "x" * 100) if one in text]
    assert fb.Valuation.load(home).outcomes == found.outcomes


def test_names_that_nodes_give_themselves_are_plain_claims(federation):
    names = ("1", "a", "a", "\ud800\x1b[2J", " ")
    frames = {str(node): rows(30, node) for node in range(len(names))}
    found, *_ = federation(frames, {node: in_head(name=name) for node, name in enumerate(names)})
    assert list(found.outcomes) == list(found.clients["client"]) == list(frames)
    claims = [note.facts["name"] for outcome in found.outcomes.values() for note in outcome.notes]
    assert claims == ["1", "a", "a", "[2J"]


def test_more_flagged_rows_than_rows_are_not_believed(federation):
    frames = {"a": rows(30, 0), "b": rows(30, 1)}
    found, *_ = federation(frames, {0: in_head(flagged=31), 1: in_head(flagged=30)})
    assert found.clients["flagged"].isna().tolist() == [True, False]


def test_what_a_client_claims_changes_no_exit_code(tmp_path, monkeypatch, capsys):
    for name, seed in (("a", 0), ("b", 1), ("reference", 9)):
        rows(60, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    arguments = ["value", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--label", "label", "--quiet"]
    arguments += ["--reference", str(tmp_path / "reference.csv")]
    honest = main([*arguments, "-o", str(tmp_path / "honest")])
    answer = SketchClient.answer

    def claimed(self, message):
        reply = answer(self, message)
        return replace(reply, notes=tuple(map(Note.from_json, CLAIMS["another code"])))

    monkeypatch.setattr(SketchClient, "answer", claimed)
    assert main([*arguments, "-o", str(tmp_path / "claimed")]) == honest == 0
    assert fb.Valuation.load(tmp_path / "claimed").without_rows == ()


def test_only_codes_that_are_a_client_s_to_send_are_kept():
    own = Note("schema.ignores-columns", {"count": 2})
    claimed = (own, Note("internal.error", {"kind": "hello"}), Note("valuation.no-row-values"))
    assert reply_notes(Reply(0, notes=claimed)) == (own,)
