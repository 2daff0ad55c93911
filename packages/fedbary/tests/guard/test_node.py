"""An owner's node against a dishonest server, and with an honest one that repeats itself."""

import json
import logging
import multiprocessing
import os
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.data.atomic import read_arrays
from fedbary.data.files import read_any_cells
from fedbary.errors import DataError, SettingsError
from fedbary.guard import node as node_module
from fedbary.guard import node_config as node_config_module
from fedbary.guard.ledger import Ledger
from fedbary.guard.node import FINISH, Envelope, Question, answer
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_files import log_error, owner_log
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.protocols.sketch.client import SketchClient
from fedbary.space.encode import row_points
from fedbary.valuation.rows import RowRules


def rows(count, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, count)
    features = rng.normal(size=(count, 3)) + 3.0 * codes[:, None]
    return pd.DataFrame(features, columns=["x0", "x1", "x2"]).assign(label=np.array(["no", "yes"])[codes])


REFERENCE = fb.Table.from_frame(rows(120, 9))


def server_of(asked, seed=0):
    return asked.server(["me"], REFERENCE, asked.space(None), rules=RowRules(), seed=seed)


@lru_cache
def question(asked=None, seed=0):
    return server_of(asked or fb.Sketch(), seed).tasks()["me"]


class Owner:
    """A file, a policy and a node's config; the node is a new process for every message, as in Flower."""

    def __init__(self, home, policy="", **config):
        self.home, self.file = home, home / "mine.csv"
        rows(60, 1).to_csv(self.file, index=False)
        (home / "policy.toml").write_text(policy)
        self.config = {
            "data-path": str(self.file),
            "policy": str(home / "policy.toml"),
            "state-path": str(home / "state"),
            "table": "mine",
            "report": False,
            "name": "north",
            **config,
        }

    def node(self, number=7):
        return NodeConfig.of(self.config, number)

    def ask(self, message, session=None, *, asked=None, step=1, node=7, rules=None):
        return self.ask_all(message, session, asked=asked, step=step, node=node, rules=rules)[0]

    def ask_all(self, message, session=None, *, asked=None, step=1, node=7, rules=None):
        settings = Question(asked or fb.Sketch(), rules or RowRules(), {}).to_json()
        session = session or secrets.token_hex(16)
        envelope = Envelope(session, message.kind, message.round, step, settings=settings)
        return answer(message, envelope, self.node(node))

    @property
    def ledger(self):
        return Ledger(self.home / "state" / "mine" / "ledger.jsonl")

    @property
    def lines(self):
        return [entry.what for entry in self.ledger.read().entries if entry.what != "free"]

    @property
    def log(self):
        return (self.home / "state" / "mine" / "owner.log").read_text()

    def size(self):
        return sum(file.stat().st_size for file in self.home.rglob("*") if file.is_file())


@pytest.fixture
def owner(tmp_path):
    return Owner(tmp_path)


def other_masses(message, seed):
    """A sketch that an honest server could have sent; answers to several of them read a table."""
    weights = np.random.default_rng(seed).dirichlet(np.full(len(message.arrays["weights"]), 50.0))
    return replace(message, arrays={**message.arrays, "weights": weights})


# --- a dishonest server -------------------------------------------------------------------------------


def test_a_server_that_names_new_runs_gets_one_answer(owner):
    """Under the default policy 800 sketches in 800 runs once read a table of 120 rows to seven digits."""
    message = question()
    assert isinstance(owner.ask(message), Reply)
    size = owner.size()
    for number in range(30):
        found = owner.ask(other_masses(message, number))
        assert found.note == Note("guard.no-further-question", {"protocol": "sketch"})
    assert owner.lines == ["question", "reply"] + ["refusal"] * 30
    assert (owner.size() - size) / 30 < 2000
    assert len(list((owner.home / "state" / "mine" / "runs").iterdir())) == 1
    assert len(list((owner.home / "state" / "mine" / "results").iterdir())) == 1


def test_a_second_message_in_the_same_run_gets_no_answer_either(owner):
    session, message = secrets.token_hex(16), question()
    first = owner.ask(message, session)
    for step in (1, 2):
        found = owner.ask(other_masses(message, step), session, step=step)
        assert found.note.code in ("guard.out-of-step", "guard.run-over")
    assert owner.ask(message, session).scalars == first.scalars


def test_a_node_s_id_is_the_server_s_and_decides_nothing(tmp_path):
    """The ledger once lay in a folder of that name, so that a new id was a new budget."""
    owner = Owner(tmp_path, "require_epsilon = true\nepsilon_budget = 1.0\n")
    asked = fb.Sketch(epsilon=1.0)
    messages = [other_masses(question(asked), seed) for seed in range(5)]
    found = [owner.ask(message, asked=asked, node=node) for node, message in enumerate(messages)]
    assert [isinstance(one, Reply) for one in found] == [True, False, False, False, False]
    assert [one.note for one in found[1:]] == [Note("guard.budget-spent")] * 4
    assert owner.ledger.spent() == 1.0
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["mine"]


def test_a_table_is_not_even_read_when_no_question_is_left(owner, monkeypatch):
    message = question()
    owner.ask(message)
    monkeypatch.setattr(node_module, "_readable", lambda _: pytest.fail("the table was read"))
    assert owner.ask(other_masses(message, 1)).note.code == "guard.no-further-question"
    assert isinstance(owner.ask(message), Reply)


def test_an_edited_cell_is_no_fresh_budget(owner):
    message = question()
    owner.ask(message)
    frame = pd.read_csv(owner.file)
    frame.loc[3, "x0"] += 1.0
    frame.to_csv(owner.file, index=False)
    assert owner.ask(other_masses(message, 1)).note.code == "guard.no-further-question"
    # Nor does the same message tell that a cell was edited.
    again = owner.ask(message)
    assert isinstance(again, Reply)
    assert owner.lines.count("question") == 1


@pytest.mark.parametrize("name", ["", "../../etc", "x" * 32, "0" * 31, "0" * 33, "A" * 32, "0" * 31 + "\n"])
def test_a_run_s_name_leads_nowhere(owner, name):
    envelope = Envelope(name, "sketch", 0, 1, settings=Question(fb.Sketch(), RowRules(), {}).to_json())
    found, _ = answer(question(), envelope, owner.node())
    assert found.note == Note("guard.not-a-session")
    assert owner.lines == ["refusal"]


def test_every_kind_of_refusal_is_in_the_ledger_and_in_the_log(owner):
    message, session = question(), secrets.token_hex(16)
    unknown = Envelope(session, "sketch", 0, 1, settings='{"protocol": "magic"}')
    assert answer(message, unknown, owner.node())[0].note == Note("guard.settings-unknown")
    assert owner.ask(message, session, step=3).note == Note("guard.out-of-step", {"asked": 3, "here": 1})
    assert owner.ask(message, asked=fb.Sketch(min_group=2)).note.code == "guard.min-group"
    assert owner.ask(message, asked=fb.Interpolation()).note.code == "guard.protocol-not-allowed"
    assert owner.ask(Message(FINISH, 0)).note == Note("protocols.not-started")
    (owner.home / "policy.toml").write_text("min_groop = 3")
    assert owner.ask(message).note == Note("guard.policy-unusable")
    assert owner.lines == ["refusal"] * 6
    for said in ("guard.settings-unknown", "guard.out-of-step", "guard.min-group", "min_groop"):
        assert said in owner.log


def test_refusals_without_end_do_not_fill_the_disk(owner, monkeypatch):
    monkeypatch.setattr("fedbary.guard.ledger._MOST_REFUSALS", 5)
    monkeypatch.setattr("fedbary.guard.owner_files._MOST_BYTES", 2000)
    for _ in range(60):
        owner.ask(question(), "nowhere")
    size = owner.size()
    for _ in range(60):
        owner.ask(question(), "nowhere")
    assert abs(owner.size() - size) < 2500
    assert len(list((owner.home / "state" / "mine").glob("owner.log*"))) == 4


def test_old_runs_are_forgotten(tmp_path, monkeypatch):
    owner = Owner(tmp_path, "max_questions = 9\n")
    monkeypatch.setattr(node_config_module, "_MOST_RUNS", 3)
    for seed in range(6):
        assert isinstance(owner.ask(other_masses(question(), seed)), Reply)
    home = tmp_path / "state" / "mine"
    assert [len(list((home / part).iterdir())) for part in ("runs", "results")] == [3, 3]
    assert owner.lines.count("question") == 6


def test_runs_do_not_fill_the_disk_however_large_their_messages(tmp_path, monkeypatch):
    """A budget pays for thousands of tiny epsilons, and half a gigabyte may come with each of them."""
    owner, runs = Owner(tmp_path, "max_questions = 10\n"), [secrets.token_hex(16) for _ in range(4)]
    sizes = []
    for number, run in enumerate(runs):
        if number == 2:
            monkeypatch.setattr(node_config_module, "_MOST_BYTES", sizes[1])
        assert isinstance(owner.ask(other_masses(question(), number), run), Reply)
        sizes.append(owner.size())
    state = owner.home / "state" / "mine"
    for kind in ("runs", "results"):
        assert runs[-1] in [folder.name for folder in (state / kind).iterdir()]
        assert runs[0] not in [folder.name for folder in (state / kind).iterdir()]
    assert sizes[3] < sizes[1] * 1.5
    monkeypatch.setattr(node_config_module, "_MOST_BYTES", 0)
    owner.ask(other_masses(question(), 9), last := secrets.token_hex(16))
    assert [folder.name for folder in (state / "runs").iterdir()] == [last]


def test_a_cut_ledger_answers_nothing_until_the_owner_decides(tmp_path):
    owner = Owner(tmp_path, "max_questions = 2\n")
    message = question()
    owner.ask(message)
    owner.ask(other_masses(message, 1))
    kept = owner.ledger.path.read_bytes()
    owner.ledger.path.write_bytes(b"".join(kept.splitlines(keepends=True)[:2]))
    for asked in (message, other_masses(message, 2)):  # not even what was answered before
        assert owner.ask(asked).note == Note("guard.ledger-cut")
    assert "guard.ledger-cut" in owner.log
    owner.ledger.accept("restored last night's copy")
    assert isinstance(owner.ask(other_masses(message, 3)), Reply)


# --- which nodes are simulated ------------------------------------------------------------------------


@pytest.mark.parametrize("partition", [False, True])
@pytest.mark.parametrize("policy", [False, True])
@pytest.mark.parametrize("data", [False, True])
def test_only_a_node_with_neither_data_nor_policy_is_simulated(tmp_path, data, policy, partition):
    """A partition-id in a node's config once switched the owner's policy and ledger off."""
    owner = Owner(tmp_path, "require_epsilon = true\nmax_epsilon = 1.0\n")
    given = {"data-path": data, "policy": policy}
    config = {key: value for key, value in owner.config.items() if given.get(key, True)}
    config |= {"partition-id": 0, "num-partitions": 5} if partition else {}
    simulation = {"dataset": "digits", "partition": "case-5", "clients": 5, "rows": 20}
    asked = fb.Sketch(epsilon=1.0) if data and policy else fb.Sketch()
    message = question()
    if not data and (policy or not partition):
        with pytest.raises(SettingsError, check=coded("guard.no-data")):
            NodeConfig.of(config, 7)
        return
    node = NodeConfig.of(config, 7)
    if not data:
        digits = fb.datasets.load("digits").test
        message = asked.server(["me"], digits, asked.space(None), rules=RowRules(), seed=0).tasks()["me"]
    envelope = Envelope("0" * 32, "sketch", 0, 1, settings=Question(asked, RowRules(), simulation).to_json())
    found, _ = answer(message, envelope, node)
    assert isinstance(found, Reply)
    ledgers = list((tmp_path / "state").rglob("ledger.jsonl"))
    assert len(ledgers) == (1 if data else 0)
    if data and policy:
        exact = Envelope("1" * 32, "sketch", 0, 1, settings=Question(fb.Sketch(), RowRules(), {}).to_json())
        assert answer(message, exact, node)[0].note.code == "guard.exact-answers"


# --- what leaves --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "text"), [(None, 'x0,label\n"Xq7canary,1\n'), (1.0, "x0,label,\1Xq7canary\n1,1,1\n")]
)
def test_a_table_that_cannot_be_read_uses_up_the_question(owner, epsilon, text):
    asked = fb.Sketch(epsilon=epsilon)
    owner.file.write_text(text)
    found = owner.ask(question(asked), asked=asked)
    assert found == Failure(Note("guard.table-unreadable"))
    assert owner.lines == ["question", "failure"]
    rows(60, 1).to_csv(owner.file, index=False)
    assert owner.ask(question(asked, 1), asked=asked).note.code == "guard.no-further-question"
    owner.ledger.allow("sketch", 1, 0.0, "the file is in order now")
    assert isinstance(owner.ask(question(asked), asked=asked), Reply)


def test_nothing_after_the_answer_changes_it(owner, monkeypatch):
    (owner.home / "policy.toml").write_text("share_flag_counts = true\nmax_questions = 2\n")
    message = question()
    honest = owner.ask(message)

    def fails(*_, **__):
        raise DataError("data.no-rows")

    monkeypatch.setattr(SketchClient, "row_values", fails)
    monkeypatch.setattr(node_module, "save_rows", fails)
    monkeypatch.setattr(NodeConfig, "forget_old_runs", fails)
    owner.ledger.allow("sketch", 1, 0.0, "again")
    session = secrets.token_hex(16)
    assert owner.ask(message, session).scalars == honest.scalars
    assert owner.lines[-2:] == ["question", "reply"]
    assert "no row values: data.no-rows" in owner.log
    assert owner.ask(message, session).scalars == honest.scalars


def test_what_a_node_keeps_is_its_owner_s_alone(owner):
    old = os.umask(0)
    try:
        owner.config |= {"report": True, "output-path": str(owner.home / "out" / "deep")}
        owner.ask(question())
    finally:
        os.umask(old)
    for folder in ("state", "out"):
        for path in [owner.home / folder, *(owner.home / folder).rglob("*")]:
            assert path.stat().st_mode & 0o077 == 0, path
    (folder,) = (owner.home / "out" / "deep").iterdir()
    assert {path.name for path in folder.iterdir()} >= {"rows.csv", "rows.parquet", "report.html", "owner.json"}
    assert owner.ledger.read().head in (folder / "report.html").read_text(encoding="utf-8")


def test_the_log_quotes_cells_at_the_level_debug_alone(tmp_path):
    spoilt = rows(60, 1).assign(x1=[*["1.5"] * 59, "Xq7canary"])
    for level, quoted in (("info", False), ("debug", True)):
        home = tmp_path / level
        home.mkdir()
        owner = Owner(home, **{"log-level": level})
        spoilt.to_csv(owner.file, index=False)
        owner.ask(question())
        assert ("Xq7canary" in owner.log) == quoted
        assert "data.cells-unread mine.csv: column 'x1' is read as a number" in owner.log
    with pytest.raises(SettingsError, check=coded("guard.log-level")):
        NodeConfig.of({**owner.config, "log-level": "loud"}, 1)


def test_a_node_answers_on_the_device_of_its_config(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(node_module, "computing_on", lambda device, _: asked.append(device) or nullcontext())
    Owner(tmp_path, device="cpu").ask(question())
    assert asked == ["cpu"]
    with pytest.raises(SettingsError, check=parameter("device")):
        NodeConfig.of({"data-path": "mine.csv", "device": "tpu"}, 1)


@pytest.mark.parametrize("level", ["info", "debug"])
def test_what_a_half_logs_by_itself_is_in_the_owner_s_log_too(tmp_path, level):
    """Such as a private answer that failed inside; its server got noise."""
    with owner_log(tmp_path, level):
        try:
            float("Xq7canary")
        except ValueError:
            logging.getLogger("fedbary.owner").exception("A private answer failed inside.")
    text = (tmp_path / "owner.log").read_text()
    assert "A private answer failed inside." in text
    assert "test_node.py" in text
    assert "ValueError" in text
    assert ("could not convert string to float: 'Xq7canary'" in text) == (level == "debug")


def test_the_log_goes_nowhere_else_and_a_full_disk_stops_nothing(tmp_path, caplog):
    with owner_log(tmp_path / "nowhere"):
        log_error(DataError("data.no-rows"), "failed")
    assert not caplog.records
    log_error(DataError("data.no-rows"), "failed")
    assert len(caplog.records) == 1


def test_owners_who_are_answered_for_at_the_same_time_have_logs_of_their_own(tmp_path, caplog):
    both, alone = threading.Barrier(2), threading.Barrier(2)

    def one(name):
        with owner_log(tmp_path / name):
            both.wait(300)
            log_error(DataError("data.no-rows"), name)
            alone.wait(300)

    for name in ("ann", "bob"):
        (tmp_path / name).mkdir()
    with ThreadPoolExecutor(2) as owners:
        list(owners.map(one, ("ann", "bob")))
    texts = {name: (tmp_path / name / "owner.log").read_text() for name in ("ann", "bob")}
    assert {name: [other in text for other in texts] for name, text in texts.items()} == {
        "ann": [True, False],
        "bob": [False, True],
    }
    assert not caplog.records


# --- an honest coordinator ----------------------------------------------------------------------------


def test_a_message_that_comes_again_gets_the_stored_bytes(tmp_path):
    owner = Owner(tmp_path, "epsilon_budget = 1.0\n")
    asked, session = fb.Sketch(epsilon=1.0), secrets.token_hex(16)
    first = owner.ask(question(asked), session, asked=asked)
    assert owner.ask(question(asked), session, asked=asked).scalars == first.scalars
    assert owner.lines == ["question", "reply"]


def test_a_run_that_is_started_again_gets_the_stored_bytes_and_counts_once(tmp_path):
    """The coordinator does not know that it asked before: a new run, and for the node a new name."""
    owner = Owner(tmp_path, "epsilon_budget = 1.0\n")
    asked = fb.Sketch(epsilon=1.0)
    first, again = (owner.ask(question(asked), asked=asked) for _ in range(2))
    assert first.scalars == again.scalars
    assert (owner.lines, owner.ledger.spent()) == (["question", "reply"], 1.0)
    # Not with other settings, and not in the middle of a run.
    less = fb.Sketch(epsilon=0.5)
    assert owner.ask(question(asked), asked=less).note.code == "guard.budget-spent"
    assert owner.ask(question(asked), asked=asked, step=2).note.code == "guard.out-of-step"


def test_what_the_owner_allows_is_answered_anew(owner):
    message = question()
    first = owner.ask(message)
    frame = pd.concat([rows(60, 1), rows(40, 2)])
    frame.to_csv(owner.file, index=False)
    assert owner.ask(message).scalars == first.scalars
    owner.ledger.allow("sketch", 1, 0.0, "forty rows came")
    assert owner.ask(message).scalars != first.scalars
    assert owner.lines.count("question") == 2


def test_corrected_rows_are_answered_for_after_a_reset(owner):
    message = question()
    first = owner.ask(message)
    frame = rows(60, 1)
    frame.loc[:9, "label"] = frame.loc[:9, "label"].map({"no": "yes", "yes": "no"})
    frame.to_csv(owner.file, index=False)
    owner.ledger.allow("sketch", 1, 0.0, "ten labels were corrected")
    assert owner.ask(message).scalars == first.scalars
    owner.ledger.reset("ten labels were corrected")
    assert owner.ask(message).scalars != first.scalars


def test_a_whole_run_of_several_messages_is_one_question(tmp_path):
    owner = Owner(tmp_path, 'protocols = ["interpolation"]\n')
    asked, session = fb.Interpolation(rounds=3, support=10), secrets.token_hex(16)
    server, step = server_of(asked), 0
    while tasks := server.tasks():
        step += 1
        message = tasks["me"]
        first = owner.ask(message, session, asked=asked, step=step)
        again = owner.ask(message, session, asked=asked, step=step)  # its answer was lost, or the server killed
        assert first.scalars == again.scalars
        assert message.kind == "start" or np.array_equal(first.arrays["gamma"], again.arrays["gamma"])
        server.absorb({"me": first})
    assert server.result().outcomes["me"].ok
    assert isinstance(owner.ask(Message(FINISH, 2**30), session, asked=asked, step=step + 1), Reply)
    assert owner.lines == ["question"] + ["reply"] * step
    (results,) = (owner.home / "state" / "mine" / "results").iterdir()
    assert (results / "rows.csv").is_file()
    # The next run is another question.
    found = owner.ask(server_of(asked).tasks()["me"], asked=asked)
    assert found.note.code == "guard.no-further-question"


def test_rounds_do_not_begin_again_within_a_question(tmp_path):
    """Messages that an honest run with a reference does not need would pay for further averages of the rows."""
    owner = Owner(tmp_path, 'protocols = ["interpolation"]\n')
    asked, session = fb.Interpolation(rounds=4, support=10), secrets.token_hex(16)
    server, sent = server_of(asked), []
    while tasks := server.tasks():
        sent.append(tasks["me"])
        server.absorb({"me": owner.ask(tasks["me"], session, asked=asked, step=len(sent))})
    assert [message.kind for message in sent] == ["start", *["step"] * 4]
    other = replace(sent[1], arrays={"eta_q": sent[1].arrays["eta_q"] + 0.5})
    for message in (sent[0], other, sent[0], other):
        assert isinstance(owner.ask(message, session, asked=asked, step=6), Failure)


def test_a_file_that_cannot_be_read_for_a_while_ends_no_run(tmp_path):
    owner = Owner(tmp_path, 'protocols = ["interpolation"]\n')
    asked, session = fb.Interpolation(rounds=3, support=10), secrets.token_hex(16)
    server = server_of(asked)
    server.absorb({"me": owner.ask(server.tasks()["me"], session, asked=asked)})
    message = server.tasks()["me"]
    whole = owner.file.read_text()
    owner.file.unlink()
    assert owner.ask(message, session, asked=asked, step=2).note == Note("guard.table-unreadable")
    owner.file.write_text(whole)
    later = replace(message, arrays={**message.arrays, "eta_q": message.arrays["eta_q"] + 1e-9})
    assert isinstance(owner.ask(later, session, asked=asked, step=2), Reply)


def test_settings_that_change_during_a_run_are_refused(tmp_path):
    owner = Owner(tmp_path, 'protocols = ["interpolation"]\n')
    session = secrets.token_hex(16)
    asked, other = fb.Interpolation(rounds=3, support=10), fb.Interpolation(rounds=4, support=10)
    server = server_of(asked)
    server.absorb({"me": owner.ask(server.tasks()["me"], session, asked=asked)})
    found = owner.ask(server.tasks()["me"], session, asked=other, step=2)
    assert found.note == Note("guard.settings-changed")


def test_flags_are_counted_by_the_rules_of_the_question(tmp_path):
    """With other rules at the end of the run a server could look for those by which enough rows are flagged."""
    policy = 'protocols = ["interpolation"]\nshare_flag_counts = true\n'
    owner, session, asked = Owner(tmp_path, policy), secrets.token_hex(16), fb.Interpolation(rounds=3, support=10)
    first = owner.ask(question(asked), session, asked=asked, rules=RowRules(fdr=0.01))
    assert isinstance(first, Reply)
    found, told = owner.ask_all(Message(FINISH, 1), session, asked=asked, step=2, rules=RowRules(rule="sign"))
    assert found.note == Note("guard.settings-changed")
    assert told.flagged is None


@pytest.mark.parametrize("asked", [fb.Sketch(), fb.Interpolation(rounds=3, support=10)], ids=lambda asked: asked.name)
def test_a_run_ends_once_and_leaves_nothing_but_its_last_answer(tmp_path, monkeypatch, asked):
    owner = Owner(tmp_path, 'protocols = ["sketch", "interpolation"]\n')
    session, step, message = secrets.token_hex(16), 1, question(asked)
    assert isinstance(owner.ask(message, session, asked=asked), Reply)
    state = owner.home / "state" / "mine" / "runs" / session / "state.npz"
    if not asked.row_values_after:
        assert any(name.startswith("client.") for name in read_arrays(state))
        step, message = 2, Message(FINISH, 1)
        assert isinstance(owner.ask(message, session, asked=asked, step=step), Reply)
    assert not any(name.startswith(("client.", "reading")) for name in read_arrays(state))
    monkeypatch.setattr(node_module, "_readable", None)
    assert isinstance(owner.ask(message, session, asked=asked, step=step), Reply)
    for later in (Message(FINISH, 2), message):
        assert owner.ask(later, session, asked=asked, step=step + 1).note.code == "guard.run-over"
    assert owner.lines.count("question") == 1


@pytest.mark.parametrize("asked", [fb.Sketch(), fb.Interpolation(rounds=3, support=10)], ids=lambda asked: asked.name)
def test_what_cannot_be_written_down_does_not_leave(tmp_path, monkeypatch, asked):
    """The ledger has the answer, the disk is full then: neither the answer nor where it was to be written leaves."""
    owner = Owner(tmp_path, 'protocols = ["sketch", "interpolation"]\n')
    session, message = secrets.token_hex(16), question(asked)

    def full(*_, **__):
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr(node_module, "write_arrays", full)
    assert owner.ask(message, session, asked=asked) == Failure(Note("guard.state-unwritable"))
    assert owner.lines == ["question", "reply", "refusal"]
    assert "No space left on device" in owner.log
    monkeypatch.undo()
    # The answer counts as given: whether it arrived, nobody at the node can know.
    assert isinstance(owner.ask(message, session, asked=asked), Failure)
    assert owner.lines.count("question") == 1


def asking(home, sessions, gate, results):
    owner = Owner.__new__(Owner)
    owner.home, owner.file = home, home / "mine.csv"
    owner.config = json.loads((home / "config.json").read_text())
    message, asked = question(fb.Sketch(epsilon=0.4)), fb.Sketch(epsilon=0.4)
    gate.wait()
    for number, session in enumerate(sessions):
        found = owner.ask(other_masses(message, number), session, asked=asked)
        results.put(json.dumps(dict(found.scalars)) if isinstance(found, Reply) else found.note.code)


def test_two_processes_that_answer_at_once_spend_nothing_twice(tmp_path):
    owner = Owner(tmp_path, "epsilon_budget = 1.0\n")
    (tmp_path / "config.json").write_text(json.dumps(owner.config))
    context = multiprocessing.get_context("fork")
    gate, results = context.Event(), context.Queue()
    sessions = [secrets.token_hex(16) for _ in range(3)]
    workers = [context.Process(target=asking, args=(tmp_path, sessions, gate, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    gate.set()
    found = [results.get(timeout=300) for _ in range(6)]
    for worker in workers:
        worker.join(300)
    # Two questions are paid for, and whoever comes second gets what the first one got.
    assert owner.ledger.spent() == 0.8
    assert owner.lines.count("question") == owner.lines.count("reply") == 2
    assert found.count("guard.budget-spent") == 2
    assert len(set(found)) == 3


# --- the name of a table ------------------------------------------------------------------------------


def test_a_table_without_a_name_is_known_by_its_place(tmp_path):
    config = {"state-path": str(tmp_path), "data-path": str(tmp_path / "ward 7.csv.gz")}
    home = NodeConfig.of(config, 1).home
    assert home == NodeConfig.of(config, 2).home
    assert home.name.startswith("ward-7-")
    elsewhere = NodeConfig.of({**config, "data-path": str(tmp_path / "other" / "ward 7.csv.gz")}, 1).home
    assert elsewhere != home


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "x" * 65, "ä", "a b", "a\n"])
def test_a_table_s_name_cannot_lead_elsewhere(tmp_path, name):
    with pytest.raises(SettingsError, check=coded("guard.not-a-lineage")):
        NodeConfig.of({"data-path": "mine.csv", "state-path": str(tmp_path), "table": name}, 1)


# --- whether a file can be read -----------------------------------------------------------------------

ODD_CELLS = {
    "no label": {"label": ""},
    "an id twice": {"id": "0"},
    "text among numbers": {"age": "53y"},
    "an infinite number": {"age": "inf"},
    "a number without end": {"age": "9" * 400},
    "a label among numbers": {"label": "unknown"},
}


@pytest.mark.parametrize("odd", ODD_CELLS)
def test_with_epsilon_no_cell_decides_whether_there_is_an_answer(tmp_path, odd):
    """A file that no table can be made of is answered in the same form, and its other rows cost what they cost."""
    rng = np.random.default_rng(0)
    rows = [{"id": str(i), "age": f"{rng.normal(50, 9):.3f}", "label": str(i % 2)} for i in range(60)]
    plain, changed = pd.DataFrame(rows), pd.DataFrame([rows[0] | ODD_CELLS[odd], *rows[1:]][::-1])
    replies, costs = [], []
    schema = fb.fit_schema(fb.Table.from_frame(plain.astype({"age": float}).drop(columns="id"), "label"))
    for name, frame in (("plain", plain[::-1]), ("changed", changed)):
        folder = tmp_path / name
        folder.mkdir()
        frame.to_csv(folder / "mine.csv", index=False)
        config = NodeConfig.of(
            {"data-path": str(folder / "mine.csv"), "id": "id", "state-path": str(folder / "s"), "report": False}, 1
        )
        asked = fb.Sketch(epsilon=1.0)
        server = asked.server(["me"], fb.Table.from_frame(plain.astype({"age": float}).drop(columns="id"), "label"),
                              asked.space(None), rules=RowRules(), seed=0)  # fmt: skip
        envelope = Envelope("a" * 32, "sketch", 0, 1, settings=Question(asked, RowRules(), {}).to_json())
        replies.append(answer(server.tasks()["me"], envelope, config)[0])
        costs.append(row_points(read_any_cells(folder / "mine.csv", "label", id="id"), schema))
    assert all(isinstance(reply, Reply) for reply in replies)
    assert replies[0].scalars.keys() == replies[1].scalars.keys()
    np.testing.assert_array_equal(costs[0][:, :-1], costs[1][:, :-1])
    strict = row_points(fb.read(tmp_path / "plain" / "mine.csv", "label", id="id"), schema)
    np.testing.assert_array_equal(strict, costs[0])


# --- cards --------------------------------------------------------------------------------------------


def cards_run(owner, asked, session, reference=None):
    """A whole run with four more clients beside the owner; returns what left the owner, and the result."""
    others = {f"client {number}": fb.Table.from_frame(rows(60, 20 + number)) for number in range(4)}
    clients = {name: asked.client(table, rules=RowRules(), seed=0) for name, table in others.items()}
    server = asked.server(["me", *clients], reference, asked.space(None), rules=RowRules(), seed=0)
    left = []
    while tasks := server.tasks():
        replies = {name: clients[name].answer(message) for name, message in tasks.items() if name != "me"}
        if "me" in tasks:
            left.append(owner.ask(tasks["me"], session, asked=asked, step=1 + len(left)))
            replies["me"] = left[-1]
        server.absorb(replies)
    return left, server.result()


def test_runs_that_cost_a_server_nothing_wash_no_other_away(owner, monkeypatch):
    """The owner may not have read the results yet, and the coordinator may ask for the answer again."""
    monkeypatch.setattr(node_config_module, "_MOST_RUNS", 3)
    asked, paid = fb.Cards(), secrets.token_hex(16)
    answered = owner.ask(question(), paid)
    server = asked.server(["me"], None, asked.space(None), rules=RowRules(), seed=0)
    message = server.tasks()["me"]
    for _ in range(6):
        assert isinstance(owner.ask(message, asked=asked), Reply)
    home = owner.home / "state" / "mine"
    assert len(list((home / "runs").iterdir())) == 3
    assert (home / "results" / paid / "rows.parquet").is_file()
    assert owner.ask(question(), paid).scalars == answered.scalars
    assert owner.lines.count("question") == 2


def test_cards_are_one_question_and_later_runs_are_read_at_home(owner):
    first, second = secrets.token_hex(16), secrets.token_hex(16)
    card, model, evidence, flags = cards_run(owner, fb.Cards(), first)[0]
    assert (list(model.arrays), "likelihood" in evidence.arrays) == (["weights"], True)
    assert (flags.scalars, dict(flags.arrays)) == ({}, {})
    assert owner.lines == ["question", *["reply"] * 4]
    left, result = cards_run(owner, fb.Cards(robust=False), second)
    assert all(np.array_equal(card.arrays[name], array) for name, array in left[0].arrays.items())
    assert [(reply.scalars, dict(reply.arrays)) for reply in left[1:]] == [({"rows": 60}, {}), ({}, {})]
    assert owner.lines == ["question", *["reply"] * 4]
    assert result.outcomes["me"].ok
    for session in (first, second):
        assert (owner.home / "state" / "mine" / "results" / session / "rows.parquet").is_file()


def test_a_second_model_in_a_run_is_not_answered(owner):
    session = secrets.token_hex(16)
    server = fb.Cards().server(["me"], REFERENCE, fb.Cards().space(None), rules=RowRules(), seed=0)
    message = server.tasks()["me"]
    card = owner.ask(message, session, asked=fb.Cards())
    server.absorb({"me": card})
    for step in (1, 2):
        other = replace(message, scalars={**message.scalars, "task": "regression"})
        found = owner.ask(other, session, asked=fb.Cards(), step=step)
        assert found.note.code in ("guard.out-of-step", "protocols.asked-otherwise")


@pytest.mark.parametrize("numbers", [True, False])
def test_owners_who_share_no_numbers_send_the_card_alone(tmp_path, numbers):
    owner = Owner(tmp_path, f"share_numbers = {str(numbers).lower()}")
    left, result = cards_run(owner, fb.Cards(), secrets.token_hex(16))
    assert any(reply.arrays for reply in left[1:]) == numbers
    assert result.outcomes["me"].ok


def strange(frame, what):
    if what == "no row with a known class":
        return frame.assign(label="unheard of")
    if what == "no number":
        return frame.assign(x1="text")
    if what == "nothing":
        return frame.assign(x0=np.nan, x1=np.nan, x2=np.nan)
    return pd.concat([frame.head(1)] * len(frame)) if what == "one row only" else frame


@pytest.mark.parametrize("what", ["ordinary", "no row with a known class", "no number", "nothing", "one row only"])
def test_with_epsilon_nothing_but_the_noise_depends_on_rows(tmp_path, what):
    pytest.importorskip("dp_accounting")
    owner, asked = Owner(tmp_path, "epsilon_budget = 2.0"), fb.Cards(epsilon=1.0)
    strange(rows(60, 1), what).to_csv(owner.file, index=False)
    schema = asked.server(["me"], REFERENCE, asked.space(None), rules=RowRules(), seed=0).tasks()["me"]
    session = secrets.token_hex(16)
    card = owner.ask(schema, session, asked=asked)
    assert isinstance(card, Reply)
    assert (card.scalars["rows"], json.loads(card.scalars["card"])["classes"]) == (60, ["no", "yes"])
    assert owner.lines == ["question", "reply"]
    again = owner.ask(schema, asked=asked)
    assert all(np.array_equal(again.arrays[name], array) for name, array in card.arrays.items())
    assert (owner.ledger.read().spent(), owner.ledger.read().spent_delta()) == (1.0, 1e-6)
