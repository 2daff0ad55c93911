"""Every protocol over a Flower grid in this process: same numbers as the local engine, and nodes that misbehave."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from inprocess import InProcessGrid, raised, silent

import fedbary as fb
from codes import coded
from fedbary.cli import main
from fedbary.data.atomic import read_arrays
from fedbary.engines.flower.client_app import app
from fedbary.engines.flower.codec import pack, unpack
from fedbary.engines.flower.engine import FlowerEngine
from fedbary.engines.flower.server_app import valued
from fedbary.engines.packed import packed_reply, require_answer_to, unpacked_reply
from fedbary.engines.run_config import RunConfig
from fedbary.errors import PrivacyError, ProtocolError, SettingsError
from fedbary.guard.envelope import Envelope
from fedbary.guard.ledger import Ledger
from fedbary.guard.owner_folder import load_owner_view
from fedbary.notes import Note
from fedbary.protocols.interpolation import draw_t
from fedbary.protocols.interpolation import server as server_module
from fedbary.protocols.messages import Reply
from fedbary.valuation.outcome import Status

QUICK = {"poll": 0.001, "timeout": 0.05, "retries": 1}


def simulation(tmp_path, clients=5, **more):
    """Nodes of a simulation and their run config."""
    nodes = {
        100 + i: {"partition-id": i, "num-partitions": clients, "state-path": str(tmp_path)} for i in range(clients)
    }
    config = {"dataset": "digits", "partition": "case-5", "clients": clients, "rows": 60, "seed": 3, **QUICK}
    return nodes, config | {"output": str(tmp_path / "out"), "timeout": 60.0, **more}


def local(config, protocol, *, reference=True):
    pool = fb.datasets.load("digits")
    clients, rows = config["clients"], config["rows"]
    tables = fb.partitions.paper_case(pool.train, 5, clients=clients, rows=rows * clients, seed=config["seed"]).clients
    return fb.value(tables, pool.test if reference else None, protocol=protocol, seed=config["seed"])


# --- same numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        (fb.Sketch(), {}),
        (fb.Sketch(policy="coarsen"), {"policy": "coarsen"}),
        (fb.Cards(), {}),
        (fb.Cards(policy="guarded"), {"policy": "guarded"}),
        (fb.Cards(worth=True), {"worth": True}),
        (fb.Interpolation(rounds=3), {"rounds": 3}),
        (fb.Triangle(), {}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_every_protocol_gives_the_numbers_of_the_local_engine(tmp_path, protocol, options):
    nodes, config = simulation(tmp_path, **{"protocol": protocol.name, **options})
    expected = local(config, protocol, reference=protocol.name != "cards" or protocol.worth)
    found = valued(InProcessGrid(app, nodes), RunConfig.of(config))
    assert found.clients["client"].tolist() == expected.clients["client"].tolist()
    for column in ("rows", "distance", "low", "high", "share", "excess", "quality"):
        np.testing.assert_allclose(
            found.clients[column].astype(float), expected.clients[column].astype(float), atol=1e-9, rtol=0
        )
    if expected.scores is not None:
        np.testing.assert_allclose(found.scores.values, expected.scores.values, atol=1e-9)
    with pytest.raises(PrivacyError, check=coded("valuation.rows-at-their-owner")):
        found.rows("client_1")
    (file,) = tmp_path.glob("partition-0/results/*/rows.parquet")
    own = expected.rows("client_1")
    np.testing.assert_allclose(pd.read_parquet(file)["value"], own["value"], atol=1e-9)


def test_value_takes_any_engine(tmp_path):
    nodes, config = simulation(tmp_path, protocol="sketch")
    run = RunConfig.of(config)
    engine = FlowerEngine(InProcessGrid(app, nodes), run.attendance, folder=tmp_path / "out", simulation=run.simulation)
    found = fb.value(None, fb.datasets.load("digits").test, engine=engine, seed=config["seed"])
    expected = local(config, fb.Sketch())
    np.testing.assert_allclose(found.clients["distance"], expected.clients["distance"], atol=1e-9, rtol=0)
    with pytest.raises(SettingsError, check=coded("engines.rows-are-at-the-nodes")):
        fb.value({"a": ([[1.0]], [0])}, fb.datasets.load("digits").test, engine=engine)


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_many_nodes_with_files_of_their_own(tmp_path, count):
    tables, reference = many(count)
    nodes = files(tmp_path, tables)
    config = RunConfig.of({"reference": reference_file(tmp_path, reference), "lower": "triangle", "num-nodes": count,
                           "output": str(tmp_path / "out"), "timeout": 60.0, "poll": 0.001})  # fmt: skip
    found = valued(InProcessGrid(app, nodes), config)
    # An owner without a policy file answers guardedly, whatever the server asks for.
    expected = fb.value(tables, reference, protocol=fb.Sketch(lower="triangle", policy="coarsen"), seed=0)
    assert found.clients["client"].tolist() == list(tables)
    for column in ("distance", "share", "quality"):
        np.testing.assert_allclose(found.clients[column], expected.clients[column], atol=1e-9, rtol=0)


@pytest.mark.parametrize("count", [5, 100])
def test_owners_without_a_policy_file_send_guarded_cards(tmp_path, count):
    tables, _ = many(count)
    grid = InProcessGrid(app, files(tmp_path, tables))
    config = {"num-nodes": count, "output": str(tmp_path / "out"), "timeout": 60.0, "poll": 0.001}
    found = valued(grid, RunConfig.of(config))
    assert (found.settings["protocol"], found.failed) == ("cards", {})
    expected = fb.value(tables, protocol=fb.Cards(policy="guarded"), seed=0)
    for column in ("distance", "share", "quality", "wrong_labels", "missing"):
        np.testing.assert_allclose(found.clients[column], expected.clients[column], atol=1e-9, rtol=0)
    own = pd.read_parquet(next(tmp_path.glob("s/site-0/results/*/rows.parquet")))
    np.testing.assert_allclose(own["value"], expected.rows("site 0")["value"], atol=1e-9)
    ledger = Ledger(tmp_path / "s" / "site-0" / "ledger.jsonl").read()
    assert [(entry.what, entry.kind) for entry in ledger.entries] == [
        ("question", "card"), ("reply", "card"), ("reply", "fit"), ("reply", "model")
    ]  # fmt: skip


def test_cards_with_epsilon_come_in_the_coordinators_public_coordinates_and_nothing_else_comes(tmp_path):
    tables, reference = many(5, rows=300)
    grid = InProcessGrid(app, files(tmp_path, tables))
    config = {"protocol": "cards", "epsilon": 8.0, "reference": reference_file(tmp_path, reference), "num-nodes": 5}
    found = valued(grid, RunConfig.of({**config, "output": str(tmp_path / "out"), "timeout": 60.0, "poll": 0.001}))
    assert found.failed == {}
    assert np.isfinite(found.clients["distance"]).all()
    ledger = Ledger(tmp_path / "s" / "site-0" / "ledger.jsonl")
    assert ledger.spent() == 8.0
    assert [(entry.what, entry.kind) for entry in ledger.read().entries] == [("question", "card"), ("reply", "card")]
    assert found.clients["odd_features"].isna().all()
    assert len(list(tmp_path.glob("s/*/results/*/rows.parquet"))) == 5  # the model is used at home


@pytest.mark.parametrize("protocol", ["sketch", "cards"])
def test_an_owner_has_a_report_of_its_rows_and_can_make_it_again(tmp_path, protocol):
    tables, reference = many(3)
    nodes = files(tmp_path, tables)
    policy = tmp_path / "policy.toml"
    policy.write_text("trust_server = true\n")
    nodes = {node: config | {"policy": str(policy)} for node, config in nodes.items()}
    nodes[1000] |= {"report": True}
    sketched = protocol == "sketch"
    given = {"reference": reference_file(tmp_path, reference)} if sketched else {}
    given |= {"num-nodes": 3, "output": str(tmp_path / "out"), "timeout": 60.0, "poll": 0.001}
    assert valued(InProcessGrid(app, nodes), RunConfig.of(given)).failed == {}
    (folder,) = tmp_path.glob("s/site-0/results/*")
    target = {"target.npy"} if sketched else set()
    assert {path.name for path in folder.iterdir()} == {
        "owner.json", "report.html", "rows.csv", "rows.parquet", "schema.json", *target
    }  # fmt: skip
    kept = [path for path in (tmp_path / "s").rglob("*") if path.name != "s"]
    assert {oct(path.stat().st_mode & 0o777) for path in kept if path.is_file()} == {"0o600"}
    assert {oct(path.stat().st_mode & 0o777) for path in kept if path.is_dir()} == {"0o700"}
    assert not list(tmp_path.glob("s/site-1/results/*/report.html"))
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert all(said in text for said in ("This report holds rows of", "Where the rows lie"))
    assert ("Stars are points" in text) == sketched
    assert "nothing left it" not in text

    view = load_owner_view(folder)
    assert view.settings["owner"] == "site 0"
    assert not sketched or view.target.shape[1] == view.schema.point_width
    (folder / "report.html").unlink()
    arguments = ["report", str(folder), "--data", str(tmp_path / "data-0.parquet"), "--label", "label"]
    assert main(arguments) == 0
    assert (folder / "report.html").read_text(encoding="utf-8") == text


def test_a_report_that_cannot_be_drawn_does_not_stop_the_run(tmp_path, monkeypatch):
    tables, reference = many(1)
    nodes = {node: config | {"report": True} for node, config in files(tmp_path, tables).items()}

    def fails(*_, **__):
        raise RuntimeError("no ink")

    monkeypatch.setattr(fb.Valuation, "report", fails)
    config = RunConfig.of(
        {
            "reference": reference_file(tmp_path, reference),
            "num-nodes": 1,
            "output": str(tmp_path / "out"),
            "timeout": 60.0,
            "poll": 0.001,
        }
    )
    assert valued(InProcessGrid(app, nodes), config).failed == {}
    (reason,) = tmp_path.glob("s/site-0/results/*/no-report.txt")
    assert reason.read_text() == "RuntimeError: no ink\n"
    assert reason.with_name("rows.csv").is_file()


def many(count, rows=20):
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 1.0]])

    def drawn(rows):
        codes = rng.integers(0, 2, rows)
        columns = {f"x{i}": column for i, column in enumerate((centres[codes] + rng.normal(size=(rows, 3))).T)}
        return fb.Table(columns, np.array(["no", "yes"])[codes])

    return {f"site {i}": drawn(rows) for i in range(count)}, drawn(120)


def files(tmp_path, tables):
    """One Parquet file for each node, under a path of its own."""
    nodes = {}
    for place, (name, table) in enumerate(tables.items()):
        file = tmp_path / f"data-{place}.parquet"
        pd.DataFrame({**table.columns, "label": table.labels}).to_parquet(file)
        nodes[1000 + place] = {
            "data-path": str(file),
            "label": "label",
            "name": name,
            "table": f"site-{place}",
            "state-path": str(tmp_path / "s"),
            "report": False,  # a thousand of them would take minutes
        }
    return nodes


def reference_file(tmp_path, table):
    file = tmp_path / "reference.parquet"
    pd.DataFrame({**table.columns, "label": table.labels}).to_parquet(file)
    return str(file)


# --- nodes that misbehave -----------------------------------------------------------------------------


def garbage(change):
    def fault(message, honest):
        reply = honest()
        scalars = dict(reply.content["scalars"])
        change(reply, scalars)
        for key, value in scalars.items():
            reply.content["scalars"][key] = value
        return reply

    return fault


def replayed():
    first = []

    def fault(message, honest):
        reply = honest()
        first.append(reply.content)
        reply.content = first[0]
        return reply

    return fault


def test_bad_nodes_are_named_with_a_reason_and_all_others_are_valued(tmp_path):
    """10 % raise, 5 % are silent, 5 % send garbage."""
    tables, reference = many(100)
    nodes = files(tmp_path, tables)
    names = list(nodes)
    faults = dict.fromkeys(names[:10], raised) | dict.fromkeys(names[10:15], silent)
    faults |= {
        names[15]: garbage(lambda reply, scalars: scalars.update(cost=float("nan"))),
        names[16]: garbage(lambda reply, scalars: scalars.update(rows=-1)),
        names[17]: garbage(lambda reply, scalars: scalars.update(cost=1e300)),
        names[18]: garbage(lambda reply, scalars: reply.content.pop("arrays")),
        names[19]: garbage(lambda reply, scalars: reply.content["fedbary"].update(session="0" * 32)),
    }
    config = RunConfig.of({"reference": reference_file(tmp_path, reference), "num-nodes": 100, "lower": "triangle",
                           "output": str(tmp_path / "out"), **QUICK})  # fmt: skip
    found = valued(InProcessGrid(app, nodes, faults), config)
    assert len(found.failed) == 20
    healthy = found.clients[~found.clients["client"].isin(list(found.failed))]
    assert len(healthy) == 80
    guarded = fb.Sketch(lower="triangle", policy="coarsen")
    expected = fb.value(tables, reference, protocol=guarded, seed=0).clients.set_index("client")
    np.testing.assert_allclose(healthy["distance"], expected.loc[healthy["client"], "distance"], atol=1e-9)
    codes = Counter(outcome.notes[0].code for outcome in found.outcomes.values() if not outcome.ok)
    assert codes == {
        "engines.app-failed": 10,
        "engines.no-answer": 5,
        "protocols.number-unfit": 3,
        "engines.incomplete": 1,
        "engines.reply-of-another-run": 1,
    }
    assert Counter(outcome.status for outcome in found.outcomes.values()) == {"ok": 80, "failed": 15, "silent": 5}
    assert "secret.parquet" not in " | ".join(found.failed.values())


def test_a_replayed_round_and_a_lost_state_are_noticed(tmp_path):
    nodes, config = simulation(tmp_path, protocol="interpolation", rounds=3)

    def forgetful(message, honest):
        for file in tmp_path.glob("partition-1/runs/*/state.npz"):
            file.unlink()
        return honest()

    found = valued(InProcessGrid(app, nodes, {100: replayed(), 101: forgetful}), RunConfig.of(config))
    assert found.outcomes["client_1"].has("engines.reply-not-asked")
    assert found.outcomes["client_2"].notes == (Note("guard.out-of-step", {"asked": 2, "here": 1}),)
    assert len(found.failed) == 2


def test_a_node_whose_answer_was_lost_is_asked_again_and_says_the_same(tmp_path):
    nodes, config = simulation(tmp_path, protocol="interpolation", rounds=3, **QUICK)
    lost = []

    def unlucky(message, honest):
        reply = honest()
        if len(lost) < 3 and message.metadata.message_type not in lost:
            lost.append(len(lost))
            return None
        return reply

    found = valued(InProcessGrid(app, nodes, {102: unlucky}), RunConfig.of({**config, "timeout": 1.0, "retries": 3}))
    assert not found.failed
    expected = local(config, fb.Interpolation(rounds=3))
    np.testing.assert_allclose(found.clients["distance"], expected.clients["distance"], atol=1e-9)


def test_too_few_nodes_are_said_and_enough_go_on_with_a_note(tmp_path):
    nodes, config = simulation(tmp_path, clients=3)
    grid = InProcessGrid(app, {node: nodes[node] for node in list(nodes)[:2]})
    late = {**config, "join-deadline": 0.01}
    with pytest.raises(ProtocolError, check=coded("engines.too-few-nodes")):
        valued(grid, RunConfig.of(late))
    found = valued(grid, RunConfig.of({**late, "min-nodes": 2}))
    assert Note("engines.absent-nodes", {"count": 1}) in found.notes
    assert len(found.clients) == 2


def interrupted(monkeypatch, grid, config):
    """A run whose server dies when it is about to ask for the fourth time."""
    rounds = []
    whole = FlowerEngine.deliver

    def dying(*arguments, **more):
        rounds.append(1)
        if len(rounds) == 4:
            raise KeyboardInterrupt
        return whole(*arguments, **more)

    monkeypatch.setattr(FlowerEngine, "deliver", dying)
    with pytest.raises(KeyboardInterrupt):
        valued(grid, RunConfig.of(config))
    monkeypatch.undo()


def test_a_killed_server_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    nodes, config = simulation(tmp_path, protocol="interpolation", rounds=4, t=0.5)
    straight = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "output": str(tmp_path / "straight")}))
    interrupted(monkeypatch, InProcessGrid(app, nodes), config)
    found = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "resume": True}))
    pd.testing.assert_frame_equal(found.clients, straight.clients)


def test_all_parties_keep_their_own_t_when_a_killed_server_goes_on(tmp_path, monkeypatch):
    """The last γ of each node follows from the t of all rounds before, the server's and its own."""
    tables, reference = many(3)
    nodes = files(tmp_path, tables)
    (tmp_path / "policy.toml").write_text('protocols = ["interpolation"]\n')
    nodes = {node: config | {"policy": str(tmp_path / "policy.toml")} for node, config in nodes.items()}
    config = {"protocol": "interpolation", "rounds": 4, "tolerance": 0.0, "num-nodes": 3, "timeout": 60.0}
    config |= {"reference": reference_file(tmp_path, reference), "output": str(tmp_path / "out"), "poll": 0.001}
    interrupted(monkeypatch, InProcessGrid(app, nodes), config)
    before = read_arrays(tmp_path / "out" / "checkpoint.npz")
    drawn = []
    monkeypatch.setattr(server_module, "draw_t", lambda *arguments: drawn.append(arguments[1]) or draw_t(*arguments))
    found = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "resume": True}))
    assert not found.failed
    assert set(drawn) == {int(before["server/t_seed"])} != {0}
    assert found.history.groupby("client")["round"].max().tolist() == [4, 4, 4]


def test_a_resumed_run_waits_for_its_nodes_but_not_for_those_that_had_failed(tmp_path, monkeypatch):
    nodes, config = simulation(tmp_path, clients=3, protocol="interpolation", rounds=2, **QUICK)
    config |= {"timeout": 60.0, "join-deadline": 60.0}
    interrupted(monkeypatch, InProcessGrid(app, nodes, {102: raised}), config)

    class Late(InProcessGrid):
        online = ([], [100], [100], [100, 101])
        looks = 0

        def get_node_ids(self):
            self.looks += 1
            return self.online[min(self.looks, len(self.online)) - 1]

        def push_messages(self, messages):
            # Flower answers for a node that is not online with an error at once.
            assert self.get_node_ids() == [100, 101]
            return super().push_messages(messages)

    found = valued(Late(app, nodes), RunConfig.of({**config, "resume": True}))
    assert found.clients.set_index("client").loc[["client_1", "client_2"], "status"].tolist() == ["ok", "ok"]
    assert list(found.failed) == ["node-102"]


# --- the owner's policy and ledger ---------------------------------------------------------------------


def test_the_owners_policy_refuses_and_its_ledger_remembers(tmp_path):
    tables, reference = many(3)
    nodes = files(tmp_path, tables)
    (tmp_path / "strict.toml").write_text("min_group = 50\n")
    (tmp_path / "open.toml").write_text('protocols = ["sketch", "interpolation"]\nshare_flag_counts = true\n')
    nodes[1000]["policy"], nodes[1001]["policy"] = str(tmp_path / "strict.toml"), str(tmp_path / "open.toml")
    config = {"reference": reference_file(tmp_path, reference), "num-nodes": 3, "timeout": 60.0, "poll": 0.001}
    found = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "output": str(tmp_path / "out")}))
    assert found.outcomes["site 0"].status is Status.REFUSED
    assert found.outcomes["site 0"].notes == (Note("guard.min-group", {"asked": 5, "least": 50}),)
    assert list(found.failed) == ["site 0"]
    ledger = Ledger(tmp_path / "s" / "site-1" / "ledger.jsonl").read()
    assert [(entry.what, entry.kind) for entry in ledger.entries][:2] == [("question", "sketch"), ("reply", "sketch")]
    refused = Ledger(tmp_path / "s" / "site-0" / "ledger.jsonl").read()
    assert [(entry.what, entry.kind) for entry in refused.entries] == [("refusal", "sketch")]
    config = {"protocol": "interpolation", "num-nodes": 3, "timeout": 60.0, "poll": 0.001}
    again = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "rounds": 2, "output": str(tmp_path / "two")}))
    assert again.outcomes["site 2"].status is Status.REFUSED
    assert again.outcomes["site 2"].has("guard.protocol-not-allowed")  # no file: sketch and cards alone


def owners(tmp_path, policy=""):
    """Three nodes with files, one policy for all, and the run config of a coordinator with a reference."""
    tables, reference = many(3)
    file = tmp_path / "policy.toml"
    file.write_text(policy)
    nodes = {node: config | {"policy": str(file)} for node, config in files(tmp_path, tables).items()}
    config = {"reference": reference_file(tmp_path, reference), "num-nodes": 3, "timeout": 60.0, "poll": 0.001}
    return nodes, config | {"output": str(tmp_path / "out")}


def lines(tmp_path, site):
    return [entry.what for entry in Ledger(tmp_path / "s" / site / "ledger.jsonl").read(head_needed=True).entries]


def test_a_run_that_is_started_again_is_the_same_question(tmp_path):
    """With other ids of the same nodes, as after a new registration; the noise is the same, too."""
    nodes, config = owners(tmp_path, "epsilon_budget = 1.0\n")
    config |= {"epsilon": 1.0}
    first = valued(InProcessGrid(app, nodes), RunConfig.of(config))
    again = valued(InProcessGrid(app, {node + 50: own for node, own in nodes.items()}), RunConfig.of(config))
    assert not first.failed
    pd.testing.assert_frame_equal(first.clients.drop(columns="node"), again.clients.drop(columns="node"))
    assert lines(tmp_path, "site-0") == ["question", "reply"]
    other = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "seed": 5}))
    assert {outcome.notes[0].code for outcome in other.outcomes.values()} == {"guard.budget-spent"}


def test_a_killed_server_goes_on_with_the_same_question(tmp_path, monkeypatch):
    nodes, config = owners(tmp_path, 'protocols = ["interpolation"]\n')
    config |= {"protocol": "interpolation", "rounds": 4}
    interrupted(monkeypatch, InProcessGrid(app, nodes), config)
    found = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "resume": True}))
    assert not found.failed
    assert lines(tmp_path, "site-0").count("question") == 1
    assert set(lines(tmp_path, "site-0")) == {"question", "reply"}
    another = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "output": str(tmp_path / "two")}))
    assert {outcome.notes[0].code for outcome in another.outcomes.values()} == {"guard.no-further-question"}


# --- what leaves --------------------------------------------------------------------------------------


def test_a_canary_in_a_file_and_in_its_path_reaches_nobody(tmp_path):
    tables, reference = many(4)
    home = tmp_path / "very-secret-canary-folder"
    home.mkdir()
    nodes = files(home, tables)
    frame = pd.read_parquet(nodes[1001]["data-path"]).astype({"label": object})
    frame.loc[0, "x0"] = 987654.321012345
    frame.to_parquet(nodes[1001]["data-path"])
    broken = frame.assign(x1=frame["x1"].astype(object))
    broken.loc[2, "x1"] = "canary-in-a-cell"
    nodes[1002]["data-path"] = str(home / "broken.csv")
    broken.to_csv(nodes[1002]["data-path"], index=False)
    config = {
        "reference": reference_file(tmp_path, reference),
        "num-nodes": 4,
        "output": str(tmp_path / "out"),
        **QUICK,
    }
    grid = InProcessGrid(app, nodes)
    found = valued(grid, RunConfig.of({**config, "timeout": 60.0}))
    found.save(tmp_path / "out")
    assert "site 2" in found.failed
    seen = b"".join(_everything(reply.content) for reply in grid.received)
    seen += b"".join(file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file())
    for canary in ("canary", "very-secret", str(tmp_path), "987654.32"):
        assert canary.encode() not in seen
    assert np.float64(987654.321012345).tobytes() not in seen


def _everything(content):
    parts = []
    for record in content.values():
        for key, value in record.items():
            parts.append(str(key).encode() + (value.data if hasattr(value, "data") else str(value).encode()))
    return b"".join(parts)


def test_a_node_without_data_or_with_a_strange_server_answers_with_a_sentence(tmp_path):
    nodes, config = simulation(tmp_path, clients=2)
    nodes[100] = {"state-path": str(tmp_path)}
    found = valued(InProcessGrid(app, nodes), RunConfig.of(config))
    assert found.outcomes["node-100"].has("guard.no-data")


@pytest.mark.parametrize(
    ("config", "code", "named"),
    [
        ({"protocol": "magic"}, "settings.no-protocol", {"name": "magic"}),
        ({"protocol": "sketch", "rounds": 3}, "engines.unknown-run-config", {"key": "rounds"}),
        ({"space-colour": "red"}, "engines.unknown-run-config", {"key": "space-colour"}),
    ],
)
def test_a_wrong_run_config_gets_one_sentence(config, code, named):
    with pytest.raises(SettingsError, check=coded(code)) as caught:
        RunConfig.of(config)
    assert caught.value.note.facts.items() >= named.items()


def test_replies_survive_the_records_and_strangers_do_not():
    notes = (Note("schema.ignores-columns", {"count": 2}),)
    arrays = {"m": np.arange(6.0).reshape(2, 3), "i": np.arange(3)}
    reply = Reply(3, {"a": 1, "b": 2.5, "c": "x", "d": True}, arrays, notes)
    envelope = Envelope("f" * 32, "step", 3, 2, name="north")
    again, head = unpacked_reply(unpack(pack(packed_reply(reply, envelope))))
    assert (again.scalars, again.notes) == (reply.scalars, notes)
    assert head.name == "north"
    for name, array in reply.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
        assert again.arrays[name].dtype == array.dtype
    with pytest.raises(ProtocolError, check=coded("engines.node-lost-its-state")):
        require_answer_to(replace(envelope, step=5), head, again)
