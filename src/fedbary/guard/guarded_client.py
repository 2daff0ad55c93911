"""`GuardedClient`: a client whose every answer passes its owner's policy and ledger before it leaves."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedbary.errors import FedbaryError, PrivacyError, ProtocolError, SettingsError
from fedbary.guard.ledger import DECLINED, REFUSAL, REPLY, Entry, Ledger
from fedbary.guard.policy import OwnerPolicy
from fedbary.notes import Note, notes_to_text
from fedbary.protocols.messages import (
    ClientProtocol,
    Failure,
    Message,
    Reply,
    Scalar,
    Settings,
    State,
    array_text,
    injective_digest,
    text_array,
)
from fedbary.space.row_identity import content_digest
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.scored_rows import ScoredRows

_GUARD = "guard"
_FLAGS = "flags"


class GuardedClient:
    """Wraps an owner's half of a protocol; the policy and the ledger decide, whatever the half would answer.

    Every answer, and every refusal in words, is a line of the ledger before it leaves. An answer with ε is paid for
    when it is given first; the same question gets the same answer again at no cost, as that tells nothing new. A
    refusal in which the rows had a say costs as much as the answer would have.

    Parameters
    ----------
    inner : ClientProtocol
        The owner's half, made with ``settings``.
    settings : Settings
        What `OwnerPolicy.applied` returned.
    policy, ledger
        The owner's.
    run : str
        The engine's name of the run.
    data : str
        Digest of the table's rows (`fedbary.space.row_identity.content_digest`).

    Examples
    --------
    >>> import tempfile
    >>> import fedbary as fb
    >>> from fedbary.guard.guarded_client import GuardedClient
    >>> from fedbary.guard.ledger import Ledger
    >>> from fedbary.guard.policy import OwnerPolicy
    >>> from fedbary.valuation.rules import RowRules
    >>> digits, asked, rules = fb.datasets.load("digits"), fb.Sketch(epsilon=1.0), RowRules()
    >>> server = asked.server(["me"], digits.test, asked.space(None), rules=rules, seed=0)
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.jsonl")
    >>> rows, policy = digits.train.take(range(50)), OwnerPolicy(epsilon_budget=1.0)
    >>> mine = GuardedClient.for_table(rows, asked, policy=policy, ledger=ledger, run="may", seed=7)
    >>> sorted(mine.answer(server.tasks()["me"]).scalars)
    ['cost', 'error', 'lower', 'noise', 'relaxed', 'rows']
    >>> ledger.spent()
    1.0
    """

    def __init__(
        self,
        inner: ClientProtocol,
        settings: Settings,
        *,
        policy: OwnerPolicy,
        ledger: Ledger,
        run: str,
        data: str,
    ) -> None:
        policy.check(settings)
        self._inner, self._settings, self._policy, self._ledger = inner, settings, policy, ledger
        self._run, self._data = run, data
        self._session = secrets.token_hex(8)
        # The digest of what left for each question, by the question's digest.
        self._answered: dict[str, str] = {}

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
        inner = settings.client(table, rules=rules or RowRules(), seed=seed)
        data = content_digest(table)
        return cls(inner, settings, policy=policy, ledger=ledger, run=run, data=data)

    def answer(self, message: Message) -> Reply:
        """The inner half's answer, once it is in the ledger; raises where policy, budget or data forbid it.

        What is raised may name files and cells: it is for the owner. `respond` gives what may leave.
        """
        question = message.digest
        entry = self._entry(message, 0.0 if question in self._answered else self._epsilon)
        try:
            self._afford(entry)
        except FedbaryError as error:
            self._record_refusal(entry, DECLINED, error)
            raise
        try:
            reply = self._inner.answer(message)
        except Exception as error:
            what = DECLINED if isinstance(error, ProtocolError) else REFUSAL
            self._record_refusal(entry, what, error)
            if what == REFUSAL:
                self._answered.setdefault(question, "")
            raise
        digest = reply_digest(reply)
        if self._answered.get(question, digest) != digest:
            entry = replace(entry, epsilon=self._epsilon)  # another answer than before tells more
        self._charge(_filled(entry, reply, digest))
        self._answered[question] = digest
        return reply

    def respond(self, message: Message, log: Callable[[Exception], None] | None = None) -> Reply | Failure:
        """What leaves for a message, whatever happens: the answer, or a code with facts that may be passed on.

        ``log`` is told the whole error, for the owner.
        """
        try:
            return self.answer(message)
        except Exception as error:
            if log is not None:
                log(error)
            return self._failure(error)

    def flag_count(self) -> int | None:
        """How many rows are flagged, if the owner shares that and they are ``min_group`` at least; else None.

        A server that chose the scoring model could single out rows by a smaller count. With ε nothing is said, as it
        would not be covered.
        """
        if not self._policy.share_flag_counts or self._epsilon:
            return None
        flags = self._inner.row_values().frame["flag"]
        if flags.isna().any():
            return None
        count = int(flags.astype(bool).sum())
        if min(count, len(flags) - count) < self._settings.min_group:
            return None
        reply = Reply(0, {"flagged": count})
        digest = reply_digest(reply)
        if self._answered.setdefault(_FLAGS, digest) != digest:
            raise PrivacyError("guard.flags-counted-before")
        self._charge(_filled(self._entry(Message(_FLAGS, 0), 0.0), reply, digest))
        return count

    @property
    def settings(self) -> Settings:
        """The settings in force: what the server asked for, as strict as the policy."""
        return self._settings

    def row_values(self) -> ScoredRows:
        """Values of the owner's rows; never part of a `Reply`."""
        return self._inner.row_values()

    def state(self) -> State:
        """The inner half's state, and what was answered in this run."""
        own = {"session": self._session, "answered": self._answered, "settings": _fingerprint(self._settings)}
        return {**self._inner.state(), _GUARD: text_array(json.dumps(own))}

    def restore(self, state: State) -> None:
        """Go on from what `state` returned; refuses if the server has changed its settings since."""
        if _GUARD in state:
            own = json.loads(array_text(state[_GUARD]))
            if own["settings"] != _fingerprint(self._settings):
                raise PrivacyError("guard.settings-changed")
            self._session, self._answered = str(own["session"]), dict(own["answered"])
        self._inner.restore({key: array for key, array in state.items() if key != _GUARD})

    @property
    def _epsilon(self) -> float:
        return float(getattr(self._settings, "epsilon", None) or 0.0)

    def _entry(self, message: Message, epsilon: float) -> Entry:
        return Entry(
            run=self._run,
            session=self._session,
            data=self._data,
            protocol=self._settings.name,
            kind=message.kind,
            round=message.round,
            question=message.digest,
            epsilon=epsilon,
        )

    def _afford(self, entry: Entry) -> None:
        self._ledger.afford(entry, budget=self._policy.epsilon_budget, max_runs=self._policy.max_runs)

    def _charge(self, entry: Entry) -> None:
        self._ledger.charge(entry, budget=self._policy.epsilon_budget, max_runs=self._policy.max_runs)

    def _failure(self, error: Exception) -> Failure:
        return redacted_failure(error, self._epsilon)

    def _record_refusal(self, entry: Entry, what: str, error: Exception) -> None:
        reason = str(self._failure(error).note)
        cost = entry.epsilon if what == REFUSAL else 0.0
        self._charge(replace(entry, what=what, note=reason, bytes=len(reason.encode()), epsilon=cost))


def redacted_failure(error: Exception, epsilon: float | None) -> Failure:
    """What may leave of an error; with ε not even its code, unless it is about what was asked and not about the rows.

    Examples
    --------
    >>> from fedbary.errors import DataError
    >>> error = DataError("data.no-rows", where="ward.csv")
    >>> str(redacted_failure(error, None).note), str(redacted_failure(error, 1.0).note)
    ('the table has no rows; expected at least one', "the owner's own log says why")
    """
    found = Failure.of(error).redacted()
    if epsilon and not isinstance(error, (PrivacyError, ProtocolError, SettingsError)):
        return Failure(Note("internal.withheld"), found.status)
    return found


def reply_bytes(reply: Reply) -> int:
    """Size of a reply's content: the bytes of its arrays, and its scalars and notes as text."""
    text = json.dumps(_scalars(reply), default=str)
    return len(text.encode()) + sum(np.asarray(array).nbytes for array in reply.arrays.values())


def reply_digest(reply: Reply) -> str:
    """A hash of a reply's content.

    Examples
    --------
    >>> from fedbary.guard.guarded_client import reply_digest
    >>> from fedbary.protocols.messages import Reply
    >>> reply_digest(Reply(0, {"rows": 7})) == reply_digest(Reply(1, {"rows": 7}))
    True
    """
    return injective_digest("reply", _scalars(reply), reply.arrays)


def _filled(entry: Entry, reply: Reply, digest: str) -> Entry:
    shapes: Mapping[str, tuple[int, ...]] = {
        name: tuple(int(n) for n in np.asarray(array).shape) for name, array in reply.arrays.items()
    }
    return replace(
        entry, what=REPLY, bytes=reply_bytes(reply), arrays=shapes, scalars=tuple(_scalars(reply)), digest=digest
    )


def _fingerprint(settings: Settings) -> str:
    return hashlib.sha256(repr(settings).encode()).hexdigest()


def _scalars(reply: Reply) -> dict[str, Scalar]:
    """Everything in a reply but its arrays, by name."""
    notes = tuple(note.redacted() for note in reply.notes)
    return {**reply.scalars, **({"notes": notes_to_text(notes)} if notes else {})}
