"""A guarded client: its owner's policy and ledger come before every answer, and words that leave tell nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, FedbaryError, PrivacyError, ProtocolError, SchemaError, SettingsError
from fedbary.guard.guarded_client import GuardedClient, reply_bytes, reply_digest
from fedbary.guard.ledger import Ledger
from fedbary.guard.policy import OwnerPolicy
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.protocols.unusable_client import UnusableClient
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import ScoredRows

CANARY, PATH = "Xq7canary", "/home/ann smith/zz9ward.csv"
MISSING = SchemaError("schema.missing-values", column="age", count=3, rows=40)


@pytest.fixture(scope="module")
def tables(digits):
    parts = fb.partitions.by_size(digits, [60, 300], seed=0).clients
    return parts["client_1"], parts["client_2"]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.jsonl")


def question(asked, reference, seed=0):
    server = asked.server(["me"], reference, asked.space(None), rules=RowRules(), seed=seed)
    return server.tasks()["me"]


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
        return ScoredRows(pd.DataFrame({"flag": pd.array([True] * 6 + [False] * 6, dtype="boolean")}))

    def state(self):
        return {"inner": np.arange(3)}

    def restore(self, state):
        self.restored = dict(state)


def wrapped(inner, ledger, settings=None, **policy):
    return GuardedClient(
        inner, settings or fb.Sketch(epsilon=1.0), policy=OwnerPolicy(**policy), ledger=ledger, run="r", data="d"
    )


def test_every_answer_is_a_line_before_it_leaves(tables, ledger):
    asked = fb.Sketch()
    mine, message = guarded(tables, ledger, asked), question(asked, tables[1])
    reply = mine.answer(message)
    (line,) = ledger.read().entries
    assert (line.kind, line.protocol, line.run, line.what) == ("sketch", "sketch", "may", "reply")
    assert (line.bytes, line.digest) == (reply_bytes(reply), reply_digest(reply))
    assert reply.notes
    assert line.scalars == (*reply.scalars, "notes")
    assert line.epsilon == 0.0
    assert mine.row_values().frame["value"].notna().all()


def test_notes_leave_too_and_are_counted(ledger):
    bare = Reply(0, {"cost": 1.0})
    noted = replace(bare, notes=(Note("schema.ignores-columns", {"count": 2}),))
    assert reply_bytes(noted) > reply_bytes(bare)
    assert reply_digest(noted) != reply_digest(bare)
    wrapped(Counting(noted), ledger, fb.Sketch()).answer(Message("sketch", 0))
    assert ledger.read().entries[0].scalars == ("cost", "notes")


def test_the_owner_s_policy_is_applied_to_the_half_that_answers(tables, ledger):
    """The server asks for trust; the client answers one sketch, and as `coarsen` does."""
    asked = fb.Sketch()
    mine = guarded(tables, ledger, asked)
    mine.answer(question(asked, tables[1]))
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        mine.answer(question(asked, tables[1], seed=1))


def test_arrays_are_recorded_by_shape(tables, ledger):
    asked = fb.Interpolation(support=20)
    mine = guarded(tables, ledger, asked, protocols=("interpolation",))
    reply = mine.answer(question(asked, tables[1]))
    assert dict(ledger.read().entries[0].arrays) == {"gamma": reply.arrays["gamma"].shape}


def test_the_same_question_gets_the_same_answer_at_no_cost(tables, ledger):
    asked = fb.Sketch(epsilon=0.5)
    mine, message = guarded(tables, ledger, asked, epsilon_budget=0.5), question(asked, tables[1])
    first, second = mine.answer(message), mine.answer(message)
    assert first.scalars == second.scalars
    assert [line.epsilon for line in ledger.read().entries] == [0.5, 0.0]
    assert ledger.spent() == 0.5


def test_a_restored_client_repeats_itself_at_no_cost_and_one_begun_anew_pays_for_fresh_noise(tables, ledger):
    asked = fb.Sketch(epsilon=0.5)
    first, message = guarded(tables, ledger, asked, epsilon_budget=1.0), question(asked, tables[1])
    answer = first.answer(message)
    again = guarded(tables, ledger, asked, epsilon_budget=1.0)
    again.restore(first.state())
    assert again.answer(message).scalars == answer.scalars
    assert ledger.spent() == 0.5
    anew = guarded(tables, ledger, asked, epsilon_budget=1.0)
    anew.answer(message)
    assert ledger.spent() == 1.0
    assert len(ledger.read().sessions()) == 2


def test_the_inner_state_passes_through_unchanged(ledger):
    inner = Counting(Reply(0))
    mine = wrapped(inner, ledger)
    mine.restore(mine.state())
    assert list(inner.restored) == ["inner"]
    mine.restore({"inner": np.arange(2)})
    assert inner.restored["inner"].tolist() == [0, 1]


def test_settings_that_change_during_a_run_are_refused(ledger):
    state = wrapped(Counting(Reply(0)), ledger, fb.Sketch(epsilon=1.0)).state()
    with pytest.raises(PrivacyError, check=coded("guard.settings-changed")):
        wrapped(Counting(Reply(0)), ledger, fb.Sketch(epsilon=2.0)).restore(state)


def test_beyond_the_budget_the_rows_are_not_even_looked_at(ledger):
    inner = Counting(Reply(0, {"cost": 1.0}), Reply(0, {"cost": 2.0}))
    mine = wrapped(inner, ledger, epsilon_budget=1.5)
    mine.answer(Message("sketch", 0, {"n": 1}))
    with pytest.raises(PrivacyError, check=coded("guard.budget-spent")):
        mine.answer(Message("sketch", 0, {"n": 2}))
    assert inner.asked == 1
    assert [line.what for line in ledger.read().entries] == ["reply", "declined"]
    assert ledger.spent() == 1.0


def test_another_answer_to_the_same_question_is_paid_again(ledger):
    """Fresh noise for the same question tells more; a half that did that must not be free."""
    mine = wrapped(Counting(Reply(0, {"cost": 1.0}), Reply(0, {"cost": 2.0})), ledger, epsilon_budget=1.5)
    mine.answer(Message("sketch", 0))
    with pytest.raises(PrivacyError, check=coded("guard.budget-spent")):
        mine.answer(Message("sketch", 0))


def test_a_refusal_in_which_the_rows_had_a_say_costs_as_much_as_an_answer(ledger):
    mine = wrapped(Counting(MISSING), ledger, epsilon_budget=2.0)
    for _ in range(2):
        with pytest.raises(SchemaError):
            mine.answer(Message("sketch", 0))
    assert [(line.what, line.epsilon) for line in ledger.read().entries] == [("refusal", 1.0), ("refusal", 0.0)]


def test_a_message_that_does_not_follow_the_protocol_costs_nothing(ledger):
    mine = wrapped(Counting(ProtocolError("protocols.not-started")), ledger, epsilon_budget=1.0)
    assert mine.respond(Message("sketch", 0)) == Failure(Note("protocols.not-started"))
    assert (ledger.spent(), ledger.read().entries[0].what) == (0.0, "declined")


def test_a_ledger_that_cannot_be_written_stops_the_answer(ledger):
    inner = Counting(Reply(0, {"cost": 1.0}))
    ledger.path.mkdir()
    found = wrapped(inner, ledger).respond(Message("sketch", 0))
    assert isinstance(found, Failure)
    assert found.note.code == "guard.ledger-unwritable"
    assert not found.note.facts


def test_flags_are_counted_only_where_the_owner_shares_them(ledger):
    settings = fb.Sketch()
    assert wrapped(Counting(Reply(0)), ledger, settings).flag_count() is None
    assert wrapped(Counting(Reply(0)), ledger, settings, share_flag_counts=True).flag_count() == 6
    assert wrapped(Counting(Reply(0)), ledger, fb.Sketch(min_group=7), share_flag_counts=True).flag_count() is None
    assert wrapped(Counting(Reply(0)), ledger, fb.Sketch(epsilon=1.0), share_flag_counts=True).flag_count() is None
    (line,) = ledger.read().entries
    assert (line.kind, line.scalars) == ("flags", ("flagged",))


ERRORS = [
    DataError("data.no-such-column", where=PATH, role="label", wanted="y", columns=2, names=(CANARY, "age"), guess=""),
    DataError("data.foreign-values", where=PATH, column=CANARY, kind="text", example=CANARY, expected="numbers"),
    SchemaError("schema.columns-missing", where="zz9ward.csv", count=1, missing=("a",), extra=(CANARY,)),
    ProtocolError("protocols.rows-changed", where=PATH),
    SettingsError("guard.policy-not-toml", file=PATH, why=CANARY),
    DataError("data.not-csv", where=PATH, why=f"line 3: {CANARY}"),
    ZeroDivisionError(f"{CANARY} in {PATH}"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: getattr(error, "code", type(error).__name__))
def test_no_cell_and_no_path_leaves_in_words_or_stays_in_the_ledger(ledger, error):
    mine = wrapped(UnusableClient(error), ledger, fb.Sketch())
    failure = mine.respond(Message("sketch", 0, {"schema": "{}"}))
    assert failure.note.code == getattr(error, "code", "internal.error")
    for text in (repr(failure), str(failure.note), ledger.path.read_text()):
        assert not any(secret in text for secret in (CANARY, "ann smith", "zz9ward"))


def test_names_that_the_server_sent_may_go_back_to_it(ledger):
    """A schema's columns are the server's own; how many cells are empty is not told."""
    error = SchemaError("schema.missing-values", where="ward.csv", column="age", count=3, rows=40)
    mine = wrapped(UnusableClient(error), ledger, fb.Sketch())
    assert mine.respond(Message("sketch", 0)).note == Note("schema.missing-values", {"column": "age"})
    assert error.private == {"where": "ward.csv", "count": 3, "rows": 40}


def test_with_epsilon_no_count_of_cells_leaves(ledger):
    mine = wrapped(Counting(MISSING), ledger)
    assert mine.respond(Message("sketch", 0)) == Failure(Note("internal.withheld"))


def test_a_real_table_with_a_canary_leaves_no_trace(ledger, tmp_path):
    """A unique category, a unique label and a unique file name, through a whole consensus and a failing sketch."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.normal(size=40), "city": ["Bern", "Oslo"] * 20, "label": ["a", "a", "b", "b"] * 10}
    )
    frame.loc[3, ["city", "label"]] = [CANARY, CANARY + "2"]
    frame.to_csv(tmp_path / "zz9ward.csv", index=False)
    table = fb.read(tmp_path / "zz9ward.csv", label="label")
    asked = fb.Consensus(rounds=2)
    mine = GuardedClient.for_table(
        table, asked, policy=OwnerPolicy(protocols=("consensus",)), ledger=ledger, run="r", seed=1
    )
    server = asked.server(["me"], None, asked.space(None), rules=RowRules(), seed=0)
    replies = []
    while tasks := server.tasks():
        replies.append(mine.respond(tasks["me"]))
        server.absorb({"me": replies[-1]})
    told = repr(replies) + ledger.path.read_text()
    assert len(ledger.read().entries) == len(replies) > 4
    assert not any(secret in told for secret in (CANARY, "zz9ward", str(tmp_path)))


def test_the_constructor_checks_the_policy_too(ledger):
    with pytest.raises(PrivacyError, check=coded("guard.min-group")):
        wrapped(Counting(Reply(0)), ledger, fb.Sketch(min_group=2))
    assert issubclass(PrivacyError, FedbaryError)
