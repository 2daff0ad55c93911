"""`GuardedClient`: a client whose every answer passes its owner's policy and ledger before it leaves."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.errors import DataError, FedbaryError, PrivacyError, ProtocolError
from fedbary.forms import array_text, text_array
from fedbary.guard.ledger import FAILURE, FLAGS, FREE, REFUSAL, REPLY, Entry, Ledger
from fedbary.guard.owner_files import log_error
from fedbary.guard.policy import (
    FLAGGED,
    OwnerPolicy,
    asked_digest,
    message_key,
    most_messages,
    settings_digest,
    tells_nothing,
)
from fedbary.guard.released_tables import ReleasedTables, keep_reply, kept_reply
from fedbary.notes import Note, notes_to_text
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.client import card_of, card_reply
from fedbary.protocols.cards.exact_card import widths_in
from fedbary.protocols.forms import Exchange
from fedbary.protocols.halves import UnusableClient
from fedbary.protocols.messages import (
    ClientProtocol,
    Failure,
    Message,
    Reply,
    Scalar,
    Settings,
    State,
    injective_digest,
)
from fedbary.protocols.registry import exchanges_of
from fedbary.space.encode import column_widths, require_widths
from fedbary.space.row_identity import content_digest
from fedbary.space.schema import Schema
from fedbary.valuation.outcome import Status
from fedbary.valuation.rows import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.rows import ScoredRows

_GUARD, _CARDS = "guard", "cards"
# Raised by an owner's half for the message alone, or for what is declared of a table: its row count and column names.
OF_THE_QUESTION = frozenset({
    "guard.table-unreadable", "protocols.asked-otherwise", "protocols.card-needs-schema",
    "protocols.gaussian-labels-with-epsilon", "protocols.label-kind-changed", "protocols.message-unfit",
    "protocols.not-started", "protocols.points-not-agreed", "protocols.round-skipped", "protocols.server-array",
    "protocols.sketch-masses", "protocols.sketch-too-large", "protocols.target-incomplete",
    "protocols.too-many-rounds", "protocols.unknown-message", "schema.beyond-bounds", "schema.changed",
    "schema.columns-missing", "schema.columns-without-names", "schema.impossible", "schema.not-a-schema",
    "schema.other-fingerprint", "schema.other-version", "schema.read-otherwise", "schema.too-few-rows",
    "schema.too-wide-for-rows",
})  # fmt: skip
_ABOUT_ROWS = frozenset({"data", "protocols", "schema", "transport", "valuation"})
_UNFIT = Failure(Note("guard.rows-unfit"))
_INSIDE = Failure(Note("guard.failed-inside"))


@dataclass(frozen=True)
class Declared:
    """What a server may know of a table without asking: its row count, and the names and widths of its columns.

    With ε rows are persons, where the owner says whose each row is: how many a person has is that person's own.
    """

    rows: int
    columns: Mapping[str, int | None]

    @classmethod
    def of(cls, table: Table, *, private: bool = False) -> Declared:
        """What is declared of a table, for a ``private`` answer or for an exact one."""
        rows = len(table)
        if private and table.persons is not None:
            rows = len(np.unique(table.persons))
        return cls(rows, column_widths(table))

    def check(self, message: Message, min_group: int) -> None:
        """Refuse a message for itself, or for what is declared; a schema is read without any row."""
        if self.rows < min_group:
            raise DataError("schema.too-few-rows", rows=self.rows, least=min_group)
        if "schema" not in message.scalars:
            return
        schema = Schema.from_json(str(message.scalars["schema"]))
        if "fingerprint" in message.scalars:
            schema.require(str(message.scalars["fingerprint"]))
        require_widths(widths_in(self.columns, schema), self.rows, schema)


class GuardedClient:
    """Wraps an owner's half of a protocol for one question; the policy and the ledger decide, whatever it would answer.

    The question is a line of the ledger before a row is looked at for it, with its whole ε; so is everything that
    leaves, before it leaves. The last message gets the same bytes again. Once the question is open, an error of the
    half leaves as one of a few codes that tell nothing of the rows, and the question is used up all the same. Why, in
    full, is in the owner's log (`fedbary.guard.owner_files`).

    A card that left for a question leaves again for the same one, in any run, until the owner decides otherwise, and
    counts once. The model that comes back is looked at also where nothing about it may leave: the owner's rows are
    valued by it at home.

    ``settings`` are what `OwnerPolicy.applied` returned, and ``inner`` was made with them; by ``run``, the server's
    name, nothing is counted; ``data`` is the digest of the table's rows, ``declared`` what is declared of it, ``rules``
    how the server wants rows flagged (part of the question, as counts of flags may leave), ``cards`` the folder of
    cards that left before, ``release`` the table's released rows, and ``table`` all of them.
    """

    def __init__(
        self,
        inner: ClientProtocol,
        settings: Settings,
        *,
        policy: OwnerPolicy,
        ledger: Ledger,
        run: str,
        data: str = "",
        declared: Declared | None = None,
        rules: RowRules | None = None,
        cards: Path | None = None,
        release: ReleasedTables | None = None,
        table: Table | None = None,
    ) -> None:
        policy.check(settings)
        self._inner, self.settings, self._policy, self._ledger = inner, settings, policy, ledger
        self._run, self._data, self._declared, self._rules = run, data, declared, rules or RowRules()
        self._cards, self._release, self._table = cards, release, table
        self._question, self.messages, self._flags_told = 0, 0, False
        self._last: tuple[str, Reply | Failure] | None = None

    @classmethod
    def for_table(
        cls,
        table: Table,
        asked: Settings,
        *,
        policy: OwnerPolicy,
        ledger: Ledger,
        run: str,
        seed: int,
        rules: RowRules | None = None,
    ) -> GuardedClient:
        """The owner's half for a server's settings, as strict as the policy; ``seed`` is the owner's secret."""
        settings = policy.applied(asked)
        secret = secrets.randbits(62) if getattr(settings, "fresh_secret", False) else seed
        release = None if policy.trust_server else ReleasedTables(ledger, secret=seed)
        if release is not None and not settings.trust.epsilon:
            release.require(table.label_name)
        inner: ClientProtocol
        try:
            inner = settings.client(table, rules=rules or RowRules(), seed=secret, release=release)
        except Exception as error:
            inner = UnusableClient(error)
        return cls(
            inner,
            settings,
            policy=policy,
            ledger=ledger,
            run=run,
            data=content_digest(table),
            declared=Declared.of(table, private=settings.trust.epsilon > 0.0),
            rules=rules,
            cards=ledger.path.parent / _CARDS,
            release=release,
            table=table,
        )

    def respond(self, message: Message) -> Reply | Failure:
        """What leaves for a message, whatever happens: the answer, or a code that tells nothing of the rows."""
        key = message_key(message)
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        try:
            free = self._without_a_question(message)
            if free is None:
                self._admit(message)
        except Exception as error:
            log_error(error, "refused")
            return self._refused(message, refusal(error))
        found: Reply | Failure
        if free is not None:
            found = free
        else:
            self.messages += 1
            try:
                found = self._kept(message, self._inner.answer(message))
            except Exception as error:
                log_error(error, "failed")
                found = failure(Failure.of(error))
        try:
            outcome = self._outcome(message, found)
            self._ledger.record(outcome if free is None else replace(outcome, what=FREE, question=0, data=""))
        except Exception as error:
            self.messages -= free is None
            log_error(error, "not sent")
            return refusal(error)
        self._last = key, found
        return found

    def answer(self, message: Message) -> Reply:
        """What `respond` gives, with a failure raised."""
        found = self.respond(message)
        if isinstance(found, Failure):
            raise as_error(found)
        return found

    def flag_count(self) -> int | None:
        """How many rows are flagged, if the owner shares that and they are ``min_group`` at least; else None.

        It is told once for a question, of the released rows. A server that chose the scoring model could single out
        rows by a smaller count. With ε nothing is said, as it would not be covered.
        """
        if not self._policy.share_flag_counts or self.settings.trust.epsilon or self._flags_told:
            return None
        if isinstance(self.settings, Cards) and not self._question:  # the card left before, and no question is open
            return None
        half, least = self._inner, self.settings.min_group
        if self._release is not None and (released := self._release.kept()) is not None:
            half, least = self.settings.client(released.rows, rules=self._rules, seed=0), released.least
            half.restore(self._inner.state())
        rows = half.row_values()
        count = rows.flagged
        if count is None or min(count, len(rows) - count) < least:
            return None
        reply = Reply(0, {"flagged": count})
        self._ledger.record(replace(self._outcome(Message(FLAGS, 0), reply), what=FLAGS))
        self._flags_told = True
        return count

    def row_values(self) -> ScoredRows:
        """Values of the owner's rows; never part of a `Reply`."""
        return self._inner.row_values()

    def state(self) -> State:
        """The inner half's state, and how far the question is."""
        own = {
            "question": self._question,
            "messages": self.messages,
            "flags_told": self._flags_told,
            "settings": settings_digest(self.settings),
            "rules": asdict(self._rules),
        }
        return {**self._inner.state(), _GUARD: text_array(json.dumps(own))}

    def restore(self, state: State) -> None:
        """Go on from what `state` returned; refuses if the server has changed its settings since."""
        own = json.loads(array_text(state[_GUARD]))
        if own["settings"] != settings_digest(self.settings) or own["rules"] != asdict(self._rules):
            raise PrivacyError("guard.settings-changed")
        self._question, self.messages = int(own["question"]), int(own["messages"])
        self._flags_told = bool(own["flags_told"])
        inner = {key: array for key, array in state.items() if key != _GUARD}
        if not inner:
            return
        try:
            self._inner.restore(inner)
        except Exception as error:  # the rows may have a say in it, so it is an answer like any other
            self._inner = UnusableClient(error)
            self._inner.restore(inner)

    def _admit(self, message: Message) -> None:
        """Count the message, and its question before the first one; refuses by what no row has a say in."""
        if self._question:
            if self._ledger.read().messages(self._question) != self.messages:
                raise PrivacyError("guard.state-behind")
            most = most_messages(self.settings)
            if self.messages >= most:
                raise PrivacyError("guard.no-further-message", protocol=self.settings.name, most=most)
        if self._declared is not None:
            self._declared.check(message, self.settings.min_group)
        if self._question:
            return
        asked = asked_digest(self.settings, message)
        waiting = self._ledger.read().unanswered(self._run, asked)
        if waiting is None:
            entry = replace(self._entry(message), asked=asked, data=self._data)
            entry = replace(entry, epsilon=float(self.settings.trust.epsilon), delta=float(self.settings.trust.delta))
            waiting = self._ledger.open_question(entry, **self._policy.limits).question
        self._question = waiting

    def _without_a_question(self, message: Message) -> Reply | None:
        """What leaves though no question is counted: a card that left before, or that a model has come.

        A card leaves again for the very question for which it left since the owner's last decision.
        """
        if not isinstance(self.settings, Cards) or self._declared is None:
            return None
        if message.kind == "card":
            asked = asked_digest(self.settings, message)
            if self._cards is None or self._question or self._ledger.read(head_needed=True).answered(asked) is None:
                return None
            kept = kept_reply(self._cards / f"{asked}.npz")
            return None if kept is None else replace(self._with_consent(kept), round=message.round)
        if message.kind not in ("model", "evidence", "flags"):
            return None
        spent = not self._question and self._ledger.read().left(self.settings.name, self._policy.most_questions) == 0
        if not spent and not tells_nothing(self.settings, message):
            return None
        # The owner's half reads it, and nothing leaves but that it has come.
        self._declared.check(message, self.settings.min_group)
        try:
            self._inner.answer(message)
        except Exception as error:
            log_error(error, "failed")
        return Reply(message.round, {"rows": self._declared.rows} if message.kind == "model" else {})

    def _kept(self, message: Message, made: Reply) -> Reply:
        """A card that is about to leave is kept before."""
        if self._cards is None or not isinstance(self.settings, Cards) or message.kind != "card":
            return made
        card = self._with_consent(made)
        keep_reply(self._cards / f"{asked_digest(self.settings, message)}.npz", card)
        return card

    def _with_consent(self, reply: Reply) -> Reply:
        """An exact card with what its owner says today of sharing it."""
        assert isinstance(self.settings, Cards)
        if self.settings.epsilon is not None:
            return reply
        return replace(card_reply(replace(card_of(reply), shared=self.settings.shared)), round=reply.round)

    def _refused(self, message: Message, found: Failure) -> Failure:
        try:
            self._ledger.record(replace(self._entry(message), what=REFUSAL, note=str(found.note)))
        except Exception as error:
            log_error(error, "not recorded")
        return found

    def _entry(self, message: Message) -> Entry:
        return Entry(
            run=self._run,
            question=self._question,
            protocol=self.settings.name,
            kind=message.kind,
            round=message.round,
            message=message.digest,
        )

    def _terms(self, message: Message, found: Reply | Failure) -> dict[str, Any]:
        """What is in force as something leaves: thresholds, and the lines of the policy that allow it."""
        settings, policy = self.settings, self._policy
        private, least = settings.trust.epsilon > 0.0, settings.min_group
        trusted = policy.trust_server and getattr(settings, "policy", "trusted") == "trusted"
        keys = ["protocols", "min_group", "max_questions"]
        keys += ["epsilon_budget", "max_epsilon", "max_delta"] if private else ["trust_server"] if trusted else []
        if isinstance(found, Reply):
            record = exchanges_of(settings.name).get(message.kind, Exchange()).reply
            fields = FLAGGED.fields if "flagged" in found.scalars else record.fields
            names = (*found.scalars, *found.arrays)
            keys += dict.fromkeys(fields[name].withheld_by for name in names if name in fields)
        terms: dict[str, Any] = {
            "version": version("fedbary"),
            "trust": "epsilon" if private else "trusted" if trusted else "guarded",
            "allowed_by": [policy.line(key) for key in keys if key],
            "rows": None if self._declared is None else self._declared.rows,
        }
        released = None if self._release is None else self._release.latest
        if released is not None and self._table is not None:
            least = max(least, released.least)
            classes = None
            if released.kind == "classes":
                classes = len(set(self._table.labels.tolist())) - len(set(released.rows.labels.tolist()))
            left_out = released.declared - len(released.rows)
            terms["suppressed"] = {"rows": left_out, "classes": classes, "columns": len(released.naming)}
        return terms | ({"epsilon": float(settings.trust.epsilon)} if private else {"min_group": least})

    def _outcome(self, message: Message, found: Reply | Failure) -> Entry:
        terms: dict[str, Any] = {}
        try:
            terms = self._terms(message, found)
        except Exception as error:  # whether something leaves must not depend on what is written down of it
            log_error(error, "terms not written down")
        entry = replace(self._entry(message), data=self._data, terms=terms)
        if isinstance(found, Failure):
            reason = str(found.note)
            return replace(entry, what=FAILURE, note=reason, bytes=len(reason.encode()))
        shapes = {name: tuple(int(n) for n in np.asarray(array).shape) for name, array in found.arrays.items()}
        size, digest = reply_bytes(found), reply_digest(found)
        return replace(entry, what=REPLY, bytes=size, arrays=shapes, scalars=tuple(_scalars(found)), digest=digest)


def reply_bytes(reply: Reply) -> int:
    """Size of a reply's content: the bytes of its arrays, and its scalars and notes as text."""
    text = json.dumps(_scalars(reply), default=str)
    return len(text.encode()) + sum(np.asarray(array).nbytes for array in reply.arrays.values())


def reply_digest(reply: Reply) -> str:
    """A hash of a reply's content."""
    return injective_digest("reply", _scalars(reply), reply.arrays)


def _scalars(reply: Reply) -> dict[str, Scalar]:
    """Everything in a reply but its arrays, by name."""
    notes = tuple(note.redacted() for note in reply.notes)
    return {**reply.scalars, **({"notes": notes_to_text(notes)} if notes else {})}


def refusal(error: Exception) -> Failure:
    """What leaves of an error that was raised before any row was looked at: its code and public facts."""
    return Failure.of(error).redacted() if isinstance(error, FedbaryError) else _INSIDE


def failure(found: Failure) -> Failure:
    """What leaves where an owner's half failed with the rows in its hands.

    A code of a list that depends on the question alone; of all others nothing but whether the table does not fit or
    something failed.
    """
    if found.note.code in OF_THE_QUESTION:
        return found.redacted()
    return _UNFIT if found.note.code.partition(".")[0] in _ABOUT_ROWS else _INSIDE


def as_error(found: Failure) -> FedbaryError:
    """What left, as an exception."""
    kind = PrivacyError if found.status is Status.REFUSED else ProtocolError
    return kind(found.note.code, **found.note.facts)
