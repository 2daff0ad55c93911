"""A guarded client: its owner's policy and ledger come before every answer, and words that leave tell nothing."""

import logging
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, PrivacyError, ProtocolError, SchemaError, SettingsError, TransportError
from fedbary.guard.guarded_client import OF_THE_QUESTION, Declared, GuardedClient, reply_bytes, reply_digest
from fedbary.guard.ledger import Ledger
from fedbary.guard.policy import OwnerPolicy
from fedbary.notes import Note
from fedbary.protocols.halves import UnusableClient
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.sentences import sentence
from fedbary.valuation.rows import RowRules, ScoredRows

CANARY, PATH = "Xq7canary", "/home/ann smith/zz9ward.csv"
MISSING = SchemaError("schema.missing-values", column="age", count=3, rows=40)
UNFIT, INSIDE = Failure(Note("guard.rows-unfit")), Failure(Note("guard.failed-inside"))


@pytest.fixture(scope="module")
def tables(digits):
    parts = fb.partitions.by_size(digits, [60, 300], seed=0).clients
    return parts["client_1"], parts["client_2"]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.jsonl")


def served(asked, reference, seed=0):
    return asked.server(["me"], reference, asked.space(None), rules=RowRules(), seed=seed)


def question(asked, reference, seed=0):
    return served(asked, reference, seed).tasks()["me"]


def another(message):
    """A sketch of the same points with other masses."""
    weights = message.arrays["weights"] * np.linspace(0.9, 1.1, len(message.arrays["weights"]))
    return replace(message, arrays={**message.arrays, "weights": weights / weights.sum()})


def guarded(tables, ledger, asked, **policy):
    own = OwnerPolicy(**policy)
    return GuardedClient.for_table(tables[0], asked, policy=own, ledger=ledger, run="may", seed=1)


class Counting:
    """Counts how often the rows were asked."""

    def __init__(self, *outcomes):
        self.outcomes, self.asked = list(outcomes), 0

    def answer(self, message):
        self.asked += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def row_values(self):
        return ScoredRows({"value": np.zeros(12), "flag": np.arange(12) < 6})

    def state(self):
        return {"inner": np.arange(3)}

    def restore(self, state):
        self.restored = dict(state)


def wrapped(inner, ledger, settings=None, run="r", **policy):
    return GuardedClient(
        inner, settings or fb.Sketch(epsilon=1.0), policy=OwnerPolicy(**policy), ledger=ledger, run=run, data="d"
    )


def lines(ledger):
    """Without those of answers that cost nothing."""
    return [line.what for line in ledger.read().entries if line.what != "free"]


# --- what is written before it leaves -----------------------------------------------------------------


def test_the_question_and_every_answer_are_lines_before_they_leave(tables, ledger):
    asked = fb.Sketch()
    mine, message = guarded(tables, ledger, asked), question(asked, tables[1])
    reply = mine.answer(message)
    opened, line = ledger.read().entries
    assert (opened.what, opened.question, opened.protocol, opened.message) == ("question", 1, "sketch", message.digest)
    assert (line.what, line.question, line.kind, line.run) == ("reply", 1, "sketch", "may")
    assert (line.bytes, line.digest) == (reply_bytes(reply), reply_digest(reply))
    assert reply.notes
    assert line.scalars == (*reply.scalars, "notes")
    assert opened.epsilon == line.epsilon == 0.0
    assert mine.row_values().frame["value"].notna().all()


def test_the_question_is_written_before_a_row_is_looked_at(ledger):
    class Looking(Counting):
        def answer(self, message):
            assert lines(ledger) == ["question"]
            return super().answer(message)

    inner = Looking(Reply(0))
    wrapped(inner, ledger, epsilon_budget=1.0).answer(Message("sketch", 0))
    assert (inner.asked, lines(ledger), ledger.spent()) == (1, ["question", "reply"], 1.0)


def test_notes_leave_too_and_are_counted(ledger):
    bare = Reply(0, {"cost": 1.0})
    noted = replace(bare, notes=(Note("schema.ignores-columns", {"count": 2}),))
    assert reply_bytes(noted) > reply_bytes(bare)
    assert reply_digest(noted) != reply_digest(bare)
    wrapped(Counting(noted), ledger, fb.Sketch()).answer(Message("sketch", 0))
    assert ledger.read().entries[1].scalars == ("cost", "notes")


def test_arrays_are_recorded_by_shape(tables, ledger):
    asked = fb.Interpolation(support=20, rounds=3)
    mine = guarded(tables, ledger, asked, protocols=("interpolation",))
    server = served(asked, tables[1])
    server.absorb({"me": mine.answer(server.tasks()["me"])})
    reply = mine.answer(server.tasks()["me"])
    _, start, step = ledger.read().entries
    assert (dict(start.arrays), dict(step.arrays)) == ({}, {"gamma": reply.arrays["gamma"].shape})


def test_a_ledger_that_cannot_be_written_stops_the_answer(ledger):
    inner = Counting(Reply(0, {"cost": 1.0}))
    ledger.path.mkdir()
    found = wrapped(inner, ledger).respond(Message("sketch", 0))
    assert found.note in (Note("guard.ledger-unreadable"), Note("guard.ledger-unwritable"))
    assert inner.asked == 0


def test_a_ledger_that_was_cut_stops_the_answer(ledger):
    wrapped(Counting(Reply(0)), ledger, max_questions=9).answer(Message("sketch", 0))
    ledger.path.write_bytes(b"")
    inner = Counting(Reply(0))
    assert wrapped(inner, ledger, max_questions=9).respond(Message("sketch", 1)).note == Note("guard.ledger-cut")
    assert inner.asked == 0


# --- counting -----------------------------------------------------------------------------------------


def test_one_question_of_one_message_unless_the_owner_says_more(tables, ledger):
    """Whatever the server calls its runs."""
    asked = fb.Sketch()
    first = question(asked, tables[1])
    second = another(first)
    mine = guarded(tables, ledger, asked)
    mine.answer(first)
    with pytest.raises(PrivacyError, check=coded("guard.no-further-message")):
        mine.answer(second)
    with pytest.raises(PrivacyError, check=coded("guard.no-further-question")):
        guarded(tables, ledger, asked).answer(second)
    ledger.allow("sketch", 1, 0.0, "for June")
    guarded(tables, ledger, asked).answer(second)
    with pytest.raises(PrivacyError, check=coded("guard.no-further-question")):
        guarded(tables, ledger, asked).answer(another(second))
    assert lines(ledger) == ["question", "reply", "refusal", "refusal", "allow", "question", "reply", "refusal"]


def test_an_edited_table_is_no_fresh_budget(tables, ledger):
    asked, own = fb.Sketch(epsilon=1.0), OwnerPolicy(epsilon_budget=1.0)
    message = question(asked, tables[1])
    for table in (tables[0], tables[0].take(range(1, 60))):
        client = GuardedClient.for_table(table, asked, policy=own, ledger=ledger, run="r", seed=1)
        found = client.respond(message)
    assert found.note.code == "guard.budget-spent"
    assert ledger.spent() == 1.0


@pytest.mark.parametrize(
    ("settings", "most"),
    [(fb.Sketch(), 1), (fb.Interpolation(rounds=3), 6), (fb.Cards(), 4)],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_question_has_as_many_messages_as_an_honest_run_needs(ledger, settings, most):
    inner = Counting(Reply(0))
    mine = wrapped(inner, ledger, settings, protocols=(settings.name,), trust_server=True)
    for number in range(most):
        assert isinstance(mine.respond(Message("step", number)), Reply)
    assert mine.respond(Message("step", most)).note.code == "guard.no-further-message"
    assert inner.asked == most
    assert mine.settings == settings


def test_an_honest_run_of_every_protocol_is_one_question(tables, tmp_path):
    for asked in (fb.Sketch(), fb.Interpolation(rounds=2)):
        for reference in (tables[1], None):
            if (reference is None) == (asked.name == "sketch"):
                continue
            ledger = Ledger(tmp_path / f"{asked.name}{reference is None}" / "ledger.jsonl")
            mine = guarded(tables, ledger, asked, protocols=(asked.name,), trust_server=True)
            server = served(asked, reference)
            while tasks := server.tasks():
                server.absorb({"me": mine.answer(tasks["me"])})
            assert lines(ledger).count("question") == 1
            assert server.result().outcomes["me"].ok


def test_the_same_message_gets_the_same_bytes_and_counts_once(tables, ledger):
    asked = fb.Sketch(epsilon=0.5)
    mine, message = guarded(tables, ledger, asked, epsilon_budget=0.5), question(asked, tables[1])
    first, second = mine.answer(message), mine.answer(message)
    assert first is second
    assert lines(ledger) == ["question", "reply"]
    assert ledger.spent() == 0.5


def test_a_half_that_would_answer_otherwise_is_not_asked_again(ledger):
    """Fresh noise for the same question would tell more."""
    inner = Counting(Reply(0, {"cost": 1.0}), Reply(0, {"cost": 2.0}))
    mine = wrapped(inner, ledger, epsilon_budget=1.5)
    assert mine.answer(Message("sketch", 0)).scalars == mine.answer(Message("sketch", 0)).scalars == {"cost": 1.0}
    assert inner.asked == 1


def test_a_client_begun_anew_pays_for_fresh_noise(tables, ledger):
    asked = fb.Sketch(epsilon=0.5)
    message = question(asked, tables[1])
    for _ in range(2):
        guarded(tables, ledger, asked, epsilon_budget=1.0).answer(message)
    assert ledger.spent() == 1.0
    assert guarded(tables, ledger, asked, epsilon_budget=1.0).respond(message).note == Note("guard.budget-spent")


def test_a_node_that_was_killed_before_it_answered_answers_the_same_question(ledger):
    class Killed(Counting):
        def answer(self, message):
            raise KeyboardInterrupt

    message = Message("sketch", 0)
    with pytest.raises(KeyboardInterrupt):
        wrapped(Killed(), ledger, epsilon_budget=1.0).respond(message)
    # Not in another run, nor with another message or more ε under the same name: these are other questions.
    for other in (
        wrapped(Counting(Reply(0)), ledger, run="other", epsilon_budget=1.0).respond(message),
        wrapped(Counting(Reply(0)), ledger, epsilon_budget=1.0).respond(Message("sketch", 0, {"n": 2})),
        wrapped(Counting(Reply(0)), ledger, fb.Sketch(epsilon=0.9), epsilon_budget=1.0).respond(message),
    ):
        assert other.note.code == "guard.budget-spent"
    assert isinstance(wrapped(Counting(Reply(0)), ledger, epsilon_budget=1.0).respond(message), Reply)
    assert lines(ledger).count("question") == lines(ledger).count("reply") == 1
    assert ledger.spent() == 1.0


def test_a_restored_client_goes_on_with_its_question(ledger):
    settings, policy = fb.Interpolation(rounds=1), dict(protocols=("interpolation",))
    inner = Counting(Reply(0))
    first = wrapped(inner, ledger, settings, **policy)
    first.answer(Message("start", 0))
    again = wrapped(inner, ledger, settings, **policy)
    again.restore(first.state())
    assert list(inner.restored) == ["inner"]
    again.answer(Message("step", 1))
    assert (again.messages, lines(ledger)) == (2, ["question", "reply", "reply"])
    # A state from before the last answer is not gone on with: another answer would be a second one to one message.
    old = wrapped(inner, ledger, settings, **policy)
    old.restore(first.state())
    assert old.respond(Message("step", 1, {"n": 2})).note == Note("guard.state-behind")


def test_settings_that_change_during_a_run_are_refused(ledger):
    state = wrapped(Counting(Reply(0)), ledger, fb.Sketch(epsilon=1.0)).state()
    with pytest.raises(PrivacyError, check=coded("guard.settings-changed")):
        wrapped(Counting(Reply(0)), ledger, fb.Sketch(epsilon=2.0)).restore(state)


def test_beyond_the_budget_the_rows_are_not_even_looked_at(ledger):
    wrapped(Counting(Reply(0)), ledger, epsilon_budget=1.5).answer(Message("sketch", 0, {"n": 1}))
    inner = Counting(Reply(0))
    with pytest.raises(PrivacyError, check=coded("guard.budget-spent")):
        wrapped(inner, ledger, epsilon_budget=1.5).answer(Message("sketch", 0, {"n": 2}))
    assert inner.asked == 0
    assert lines(ledger) == ["question", "reply", "refusal"]


def test_flags_are_counted_once_and_only_where_the_owner_shares_them(ledger):
    settings = fb.Sketch()
    assert wrapped(Counting(Reply(0)), ledger, settings).flag_count() is None
    sharing = wrapped(Counting(Reply(0)), ledger, settings, share_flag_counts=True)
    assert (sharing.flag_count(), sharing.flag_count()) == (6, None)
    assert wrapped(Counting(Reply(0)), ledger, fb.Sketch(min_group=7), share_flag_counts=True).flag_count() is None
    assert wrapped(Counting(Reply(0)), ledger, fb.Sketch(epsilon=1.0), share_flag_counts=True).flag_count() is None
    (line,) = ledger.read().entries
    assert (line.what, line.scalars) == ("flags", ("flagged",))


def test_the_constructor_checks_the_policy_too(ledger):
    with pytest.raises(PrivacyError, check=coded("guard.min-group")):
        wrapped(Counting(Reply(0)), ledger, fb.Sketch(min_group=2))


# --- what leaves when there is no answer --------------------------------------------------------------

ERRORS = [
    DataError("data.no-such-column", where=PATH, role="label", wanted="y", columns=2, names=(CANARY, "age"), guess=""),
    DataError("data.foreign-values", where=PATH, column=CANARY, kind="text", example=CANARY, expected="numbers"),
    DataError("protocols.too-few-different-rows", rows=7, least=5),
    SchemaError("schema.missing-values", where="zz9ward.csv", column="age", count=3, rows=40),
    PrivacyError("protocols.answer-shows-rows"),
    PrivacyError("protocols.kind-differs", column="age", kind="numeric", own=CANARY),
    TransportError("transport.not-finite"),
    ProtocolError("protocols.rows-changed", where=PATH),
    SettingsError("guard.policy-not-toml", file=PATH, why=CANARY),
    DataError("formats.damaged", where=PATH, kind="CSV", why=f"line 3: {CANARY}"),
    ZeroDivisionError(f"{CANARY} in {PATH}"),
    MemoryError(),
]


@pytest.mark.parametrize("epsilon", [None, 1.0])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: getattr(error, "code", type(error).__name__))
def test_once_rows_were_looked_at_one_of_two_sentences_leaves_and_the_question_is_used_up(ledger, error, epsilon):
    mine = wrapped(UnusableClient(error), ledger, fb.Sketch(epsilon=epsilon))
    found = mine.respond(Message("sketch", 0, {"n": 1}))
    assert found in (UNFIT, INSIDE)
    assert mine.respond(Message("sketch", 0, {"n": 1})) is found
    assert (lines(ledger), ledger.spent()) == (["question", "failure"], epsilon or 0.0)
    again = wrapped(UnusableClient(error), ledger, fb.Sketch(epsilon=epsilon))
    assert again.respond(Message("sketch", 0)).note.code == "guard.no-further-question"
    for text in (repr(found), ledger.path.read_text()):
        assert not any(secret in text for secret in (CANARY, "ann smith", "zz9ward"))


def test_a_code_that_depends_on_the_question_alone_leaves(ledger):
    mine = wrapped(Counting(ProtocolError("protocols.unknown-message", protocol="sketch", kind="x")), ledger)
    assert mine.respond(Message("x", 0)).note == Note("protocols.unknown-message", {"protocol": "sketch", "kind": "x"})
    assert lines(ledger) == ["question", "failure"]


def test_every_code_that_may_leave_is_one():
    assert [code for code in OF_THE_QUESTION if sentence(code) is None] == []


def test_what_is_declared_of_a_table_refuses_before_the_question_is_opened(tables, ledger):
    """The row count and the column names; the question costs nothing then."""
    asked = fb.Sketch()
    message = question(asked, tables[1])
    few = Declared(4, {"x": 64})
    inner = Counting(Reply(0))
    found = GuardedClient(inner, asked, policy=OwnerPolicy(), ledger=ledger, run="r", declared=few).respond(message)
    assert found.note == Note("schema.too-few-rows", {"least": 5})
    other = Declared(60, {CANARY: 64})
    found = GuardedClient(inner, asked, policy=OwnerPolicy(), ledger=ledger, run="r", declared=other).respond(message)
    assert found.note == Note("schema.columns-missing", {"missing": ("x",), "count": 1})
    narrow = Declared(60, {"x": 63})
    found = GuardedClient(inner, asked, policy=OwnerPolicy(), ledger=ledger, run="r", declared=narrow).respond(message)
    assert found.note == Note("schema.width", {"column": "x", "width": 63, "expected": 64})
    broken = replace(message, scalars={**message.scalars, "fingerprint": "other"})
    assert guarded(tables, ledger, asked).respond(broken).note.code == "schema.other-fingerprint"
    broken = replace(message, scalars={**message.scalars, "schema": "{}"})
    assert guarded(tables, ledger, asked).respond(broken).note.code == "schema.not-a-schema"
    assert (inner.asked, lines(ledger)) == (0, ["refusal"] * 5)
    assert CANARY not in ledger.path.read_text()
    assert isinstance(guarded(tables, ledger, asked).respond(message), Reply)


def test_rows_that_change_during_a_run_change_nothing_that_leaves(tables, ledger, tmp_path):
    asked, own = fb.Interpolation(support=10, rounds=3), OwnerPolicy(protocols=("interpolation",))
    left = []
    (tmp_path / "b").mkdir()
    for table, book in (
        (tables[0], ledger),
        (tables[0].take(range(1, len(tables[0]))), Ledger(tmp_path / "b" / "b.jsonl")),
    ):
        server = served(asked, tables[1])
        first = GuardedClient.for_table(tables[0], asked, policy=own, ledger=book, run="may", seed=1)
        server.absorb({"me": first.answer(server.tasks()["me"])})
        edited = GuardedClient.for_table(table, asked, policy=own, ledger=book, run="may", seed=1)
        edited.restore({**first.state(), "t_seed": np.array(3)})
        left.append(edited.answer(server.tasks()["me"]).arrays["gamma"])
    np.testing.assert_array_equal(*left)


def test_the_whole_text_is_in_the_owner_s_log(ledger, caplog):
    with caplog.at_level(logging.INFO, logger="fedbary.owner"):
        wrapped(UnusableClient(ERRORS[1]), ledger).respond(Message("sketch", 0))
        wrapped(UnusableClient(ZeroDivisionError(CANARY)), ledger, max_questions=2).respond(Message("sketch", 0))
    first, second = (record.getMessage() for record in caplog.records)
    assert PATH in first
    assert f"column '{CANARY}' holds text values; expected numbers" in first  # a column's name is no cell
    assert "such as" not in first
    assert "internal error (ZeroDivisionError)" in second
    assert "halves.py" in second
    assert CANARY not in second


def test_a_real_table_with_a_canary_leaves_no_trace(ledger, tmp_path):
    """A unique category, a unique label and a unique file name, through a whole run without a reference."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.normal(size=40), "city": ["Bern", "Oslo"] * 20, "label": ["a", "a", "b", "b"] * 10}
    )
    frame.loc[3, ["city", "label"]] = [CANARY, CANARY + "2"]
    frame.to_csv(tmp_path / "zz9ward.csv", index=False)
    table = fb.read(tmp_path / "zz9ward.csv", label="label")
    asked = fb.Interpolation(rounds=3)
    own = OwnerPolicy(protocols=("interpolation",))
    mine = GuardedClient.for_table(table, asked, policy=own, ledger=ledger, run="r", seed=1)
    server = served(asked, None)
    replies = []
    while tasks := server.tasks():
        replies.append(mine.respond(tasks["me"]))
        server.absorb({"me": replies[-1]})
    told = repr(replies) + ledger.path.read_text()
    assert len(ledger.read().entries) == len(replies) + 1 > 5
    assert not any(secret in told for secret in (CANARY, "zz9ward", str(tmp_path)))
