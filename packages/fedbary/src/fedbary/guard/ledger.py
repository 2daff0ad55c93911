"""`Ledger`: an owner's record of every question and of all that left: a chain that nobody cuts unnoticed.

`Account` is what its lines say, and what they leave an owner to answer.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from fedbary.data.atomic import write_atomically
from fedbary.errors import DataError, PrivacyError, SettingsError
from fedbary.wording import as_plain

# What a server brings about: a question is opened, answered, failed or refused, and flags are counted.
QUESTION, REPLY, FAILURE, REFUSAL, FLAGS = "question", "reply", "failure", "refusal", "flags"
# And what leaves though no question is counted: an answer that left before, or that a model has come.
FREE = "free"
# What the owner decides, and what a crash left.
ALLOW, RESET, ACCEPT, TORN = "allow", "reset", "accept", "torn"
DECISIONS = (ALLOW, RESET, ACCEPT)
HEAD = "head"
_LONGEST = 400
# A server that is refused, or told again, may ask again for ever; the lines of that must not fill the disk.
_MOST_REFUSALS = 1000


@dataclass(frozen=True)
class Entry:
    """One line: what left, in numbers and names, never a row's value.

    ``what`` happened: a question was opened, before any row was looked at for it; what left for one of its messages: an
    answer, or that there is none (the rows, or something inside, had a say in that); a refusal, in which no row had a
    say; a count of flags; a decision of the owner; or that a crash had left an unfinished line.
    """

    what: str = REPLY
    run: str = ""  # the server's name of it; nothing is counted by it
    question: int = 0  # the owner's number; 0 where none is open
    protocol: str = ""
    kind: str = ""
    round: int = 0
    message: str = ""  # digest of what was asked
    asked: str = ""  # digest of the question's first message and of the settings in force
    data: str = ""  # digest of the table's rows
    bytes: int = 0
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # names and shapes
    scalars: tuple[str, ...] = ()
    digest: str = ""  # of what left
    epsilon: float = 0.0  # what the question costs
    delta: float = 0.0
    left: float | None = None  # of the budget of ε, afterwards
    more_questions: int = 0  # what the owner allows beyond the policy
    more_epsilon: float = 0.0
    more_delta: float = 0.0
    time: str = ""  # UTC, ISO 8601
    note: str = ""  # why it was refused, allowed, reset or accepted
    terms: Mapping[str, Any] = field(default_factory=dict)  # what was in force, for a disclosure record
    previous: str = ""  # digest of the line before; of the whole file before it where a damaged one was accepted

    def to_json(self) -> str:
        """One line of plain ASCII."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Entry:
        """Read a line back; raises ValueError or TypeError where it is not one."""
        content = json.loads(line)
        if not isinstance(content, dict):
            raise ValueError("not a line of a ledger")
        content = {"delta": 0.0, "more_delta": 0.0, "terms": {}, **content}  # an owner's older lines have none
        if set(content) != {f.name for f in fields(cls)}:
            raise ValueError("not a line of a ledger")
        shapes = {str(name): tuple(map(int, shape)) for name, shape in dict(content["arrays"]).items()}
        entry = cls(**{**content, "arrays": shapes, "scalars": tuple(content["scalars"])})
        for cost in (entry.epsilon, entry.delta, entry.more_epsilon, entry.more_delta):
            check_cost(cost)
        if not isinstance(entry.terms, dict):
            raise ValueError("not a line of a ledger")
        if any(type(number) is not int for number in (entry.question, entry.more_questions)):
            raise ValueError("not a line of a ledger")
        return entry


@dataclass(frozen=True)
class Account:
    """What a ledger says: its lines in order, and ``head``, the digest of the last one.

    ``torn`` and ``damaged`` are numbers of lines that a crash left unfinished, and of those that the owner accepted as
    they are; ``digests`` are of all whole lines, and ``rest`` is how many bytes a crash left after them.
    """

    entries: tuple[Entry, ...]
    head: str = ""
    torn: tuple[int, ...] = ()
    damaged: tuple[int, ...] = ()
    digests: frozenset[str] = field(default=frozenset(), compare=False)
    rest: int = field(default=0, compare=False)

    @property
    def current(self) -> tuple[Entry, ...]:
        """Entries since the last reset."""
        return self._since(RESET)

    def spent(self) -> float:
        """ε since the last reset."""
        return float(_total(entry.epsilon for entry in self.current))

    def spent_delta(self) -> float:
        """δ since the last reset."""
        return float(_total(entry.delta for entry in self.current))

    def exact_answers(self) -> int:
        """Answers since the last reset to questions that cost no ε."""
        costs = {entry.question: entry.epsilon for entry in self.current if entry.what == QUESTION}
        return sum(entry.what == REPLY and not costs.get(entry.question) for entry in self.current)

    def questions(self, protocol: str) -> int:
        """Questions of a protocol that were opened since the last reset."""
        return sum(entry.what == QUESTION and entry.protocol == protocol for entry in self.current)

    def budget(self, of_policy: float | None) -> float | None:
        """The policy's ε budget, with what the owner allowed beyond it."""
        if of_policy is None:
            return None
        return float(_total((of_policy, *(entry.more_epsilon for entry in self.current))))

    def left(self, protocol: str, most: int | None) -> int | None:
        """Questions of a protocol that may still be opened, where ``most`` are allowed by the policy."""
        if most is None:
            return None
        more = sum(entry.more_questions for entry in self.current if entry.protocol == protocol)
        return max(most + more - self.questions(protocol), 0)

    def afford(
        self, entry: Entry, *, budget: float | None, most: int | None, most_delta: float | None = None
    ) -> float | None:
        """What is left of the budget of ε once this question is opened; refuses where it may not be."""
        asked = entry.protocol
        if self.left(asked, most) == 0:
            raise PrivacyError("guard.no-further-question", protocol=asked, asked=self.questions(asked))
        if most_delta is not None and entry.delta:
            most_in_all = _total((most_delta, *(old.more_delta for old in self.current)))
            spent = _total(old.delta for old in self.current)
            if spent + Decimal(repr(float(entry.delta))) > most_in_all:
                raise PrivacyError("guard.delta-spent", spent=float(spent), most=float(most_in_all), cost=entry.delta)
        whole = self.budget(budget)
        if whole is None:
            return None
        spent = _total(old.epsilon for old in self.current)
        left = Decimal(repr(whole)) - spent - Decimal(repr(float(entry.epsilon)))
        if left < 0 and entry.epsilon > 0:
            raise PrivacyError("guard.budget-spent", spent=float(spent), budget=whole, cost=entry.epsilon)
        return float(max(left, Decimal(0)))

    def lines_after(self, head: str) -> int | None:
        """How many lines came after the one with this digest; None where no line has it."""
        # By what each line says of the one before: a line that was accepted as it is vouches for none.
        digests = [*(entry.previous for entry in self.entries[1:]), self.head]
        return len(digests) - 1 - digests.index(head) if head and head in digests else None

    @property
    def next_question(self) -> int:
        """The number of the next question."""
        return 1 + max((entry.question for entry in self.entries), default=0)

    def messages(self, question: int) -> int:
        """Messages of a question for which something left, or that nothing could."""
        return sum(entry.question == question and entry.what in (REPLY, FAILURE) for entry in self.entries)

    def unanswered(self, run: str, asked: str) -> int | None:
        """The question that a run opened with exactly this, if nothing left for it: the node was killed meanwhile."""
        mine = [entry for entry in self.current if entry.what == QUESTION and entry.run == run]
        if not mine or mine[-1].asked != asked or self.messages(mine[-1].question):
            return None
        return mine[-1].question

    def answered(self, asked: str) -> str | None:
        """The run in which exactly this was answered since the owner's last decision."""
        recent = self._since(*DECISIONS)
        runs = [e.run for e in recent if e.what == QUESTION and e.asked == asked and self.messages(e.question)]
        return runs[-1] if runs else None

    def recent(self, what: str) -> int:
        """Lines of a kind since the owner's last decision."""
        return sum(entry.what == what for entry in self._since(*DECISIONS))

    def _since(self, *what: str) -> tuple[Entry, ...]:
        last = max((at for at, entry in enumerate(self.entries) if entry.what in what), default=-1)
        return self.entries[last + 1 :]


def check_cost(epsilon: object) -> None:
    """Refuse what is neither ε nor δ."""
    fits = isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool)
    if not fits or not math.isfinite(epsilon) or epsilon < 0:  # type: ignore[operator,arg-type]
        raise ValueError(f"epsilon must be a finite number, zero or above, not {epsilon!r}")


def _total(costs: Iterable[float]) -> Decimal:
    """A sum as the owner reads it: three times 0.1 is 0.3, which no sum of floats says."""
    return sum((Decimal(repr(float(cost))) for cost in costs), Decimal(0))


class Ledger:
    """An append-only file of JSON lines that only its owner can read; each holds the digest of the line before.

    A line is on disk before what it stands for may leave, and several processes may write at a time. The digest of the
    last line, the head, is also kept in a file beside it. Only a last line without its end is what a crash left;
    lines that were edited, and a ledger of which the head is gone, stop all answers until the owner decides.

    The account is that of a table with all its versions: a table to which rows came holds the old ones, too, so all
    questions and all ε count until the owner resets it.

    Parameters
    ----------
    path : path
        The file; it and its folder are made with the first line.

    Examples
    --------
    >>> import tempfile
    >>> from fedbary.guard.ledger import Entry, Ledger
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.jsonl")
    >>> ledger.open_question(Entry(protocol="sketch", epsilon=0.5), budget=0.7).left
    0.2
    >>> ledger.open_question(Entry(protocol="sketch", epsilon=0.5), budget=0.7)
    Traceback (most recent call last):
        ...
    fedbary.errors.PrivacyError: The answer would go beyond the owner's epsilon_budget (0.5 of 0.7 is spent, it ...
    >>> ledger.spent()
    0.5
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def head_path(self) -> Path:
        """The file that holds the head."""
        return self.path.with_name(HEAD)

    def read(self, *, head_needed: bool = False) -> Account:
        """All lines; a ledger that does not exist yet has none. One that was cut or edited is refused.

        With ``head_needed`` also one without its head beside it, which may be a copy.
        """
        try:
            with self._locked(os.O_RDONLY) as file:
                return self._checked(_content(file), head_needed=head_needed)
        except FileNotFoundError as error:
            if self._head() is not None:
                raise DataError("guard.ledger-cut", path=str(self.path)) from error
            return Account(())
        except OSError as error:
            raise DataError("guard.ledger-unreadable", path=str(self.path), why=error.strerror) from error

    def spent(self) -> float:
        """ε since the last reset."""
        return self.read().spent()

    def open_question(
        self, entry: Entry, *, budget: float | None = None, most: int | None = None, most_delta: float | None = None
    ) -> Entry:
        """Count a question, or refuse; once this returns, the line is on the disk, and rows may be looked at.

        Reading the account and writing the line are one step for all processes, so no two can spend the same.
        """
        check_cost(entry.epsilon)
        check_cost(entry.delta)

        def opened(account: Account) -> Entry:
            left = account.afford(entry, budget=budget, most=most, most_delta=most_delta)
            return replace(entry, what=QUESTION, question=account.next_question, left=left)

        written = self._append(opened)
        assert written is not None
        return written

    def record(self, entry: Entry) -> Entry | None:
        """Write the line of what is about to leave; None for one that costs nothing after more than anybody reads."""

        def bounded(account: Account) -> Entry | None:
            paid = entry.question and entry.what not in (REFUSAL, FREE)
            before = 0 if paid else account.recent(entry.what)
            if before < _MOST_REFUSALS:
                return entry
            further = "further refusals: see the log" if entry.what == REFUSAL else "and further ones like it"
            return replace(entry, note=further) if before == _MOST_REFUSALS else None

        return self._append(bounded)

    def allow(self, protocol: str, questions: int, epsilon: float, note: str, *, delta: float = 0.0) -> Entry:
        """Let a server ask more than the policy says; the owner's decision."""
        more = Entry(ALLOW, more_questions=questions, more_epsilon=epsilon, more_delta=delta)
        return self._decided(replace(more, protocol=protocol, note=note))

    def reset(self, note: str) -> Entry:
        """Begin a new account; what left before stays in the file, and released rows are forgotten."""
        decided = self._decided(Entry(RESET, note=note))
        self.released.unlink(missing_ok=True)
        return decided

    @property
    def released(self) -> Path:
        """The file of the rows that exact answers are made of (`fedbary.guard.released_tables`)."""
        return self.path.parent / "released" / "rows.npz"

    def accept(self, note: str) -> Entry:
        """Go on with a ledger that was damaged, cut or edited: all lines that can be read still count."""
        if not note.strip():
            raise SettingsError("guard.decision-without-reason")
        with self._writing() as file:
            content = _content(file)
            if content and not content.startswith(b"{"):
                raise DataError("guard.not-a-ledger", path=str(self.path))
            try:
                self._checked(content, head_needed=True)
            except DataError:
                before = content + (b"" if not content or content.endswith(b"\n") else b"\n")
                entry = _dated(Entry(ACCEPT, note=note, previous=_digest(before)))
                self._write(file, before[len(content) :], entry)
                return entry
        raise SettingsError("guard.nothing-to-accept")

    def _decided(self, entry: Entry) -> Entry:
        if not entry.note.strip():
            raise SettingsError("guard.decision-without-reason")
        written = self._append(lambda _: entry)
        assert written is not None
        return written

    def _append(self, make: Callable[[Account], Entry | None]) -> Entry | None:
        """Write the line that ``make`` makes of the account, chained to the last one."""
        with self._writing() as file:
            content = _content(file)
            found = self._checked(content, head_needed=True)
            entry, head = make(found), found.head
            if entry is None:
                return None
            if found.rest:
                os.ftruncate(file, len(content) - found.rest)
                head = self._write(file, b"", _dated(Entry(TORN, note=f"{found.rest} bytes", previous=head)))
            entry = _dated(replace(entry, previous=head))
            self._write(file, b"", entry)
            return entry

    def _checked(self, content: bytes, *, head_needed: bool = False) -> Account:
        """The lines, refused where the chain is broken or does not hold the head that was noted outside."""
        found = _account(content)
        head = self._head()
        cut = head_needed and bool(found.digests) if head is None else head not in found.digests
        if cut:
            raise DataError("guard.ledger-cut", path=str(self.path))
        return found

    def _head(self) -> str | None:
        try:
            return self.head_path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise DataError("guard.ledger-cut", path=str(self.path)) from error

    def _write(self, file: int, before: bytes, entry: Entry) -> str:
        """All of it and on the disk, or nothing; returns the new head."""
        line = entry.to_json().encode("ascii")
        rest, size = before + line + b"\n", os.fstat(file).st_size
        try:
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
        head = _digest(line)
        write_atomically(self.head_path, lambda draft: draft.write_text(head + "\n", encoding="ascii"), mode=0o600)
        return head

    @contextmanager
    def _writing(self) -> Iterator[int]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._locked(os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
                yield file
        except OSError as error:
            raise PrivacyError("guard.ledger-unwritable", path=str(self.path), why=error.strerror) from error

    @contextmanager
    def _locked(self, flags: int) -> Iterator[int]:
        import fcntl

        file = os.open(self.path, flags, 0o600)
        try:
            writing = bool(flags & os.O_CREAT)
            fcntl.flock(file, fcntl.LOCK_EX if writing else fcntl.LOCK_SH)
            if writing and os.fstat(file).st_mode & 0o077:
                os.fchmod(file, 0o600)
            yield file
        finally:
            os.close(file)


def _account(content: bytes) -> Account:
    *whole, rest = content.split(b"\n")
    if rest and not rest.startswith((b"{", b"\0")):  # a file system may not have filled in what a crash cut off
        raise DataError("guard.ledger-damaged", line=len(whole) + 1)
    entries: list[Entry] = []
    digests: list[str] = []
    torn: list[int] = []
    wrong: list[int] = []  # lines that nobody vouches for yet
    damaged: list[int] = []
    start, previous = 0, ""
    for place, line in enumerate(whole, start=1):
        entry: Entry | None
        try:
            entry = Entry.from_json(line.decode("ascii"))
        except (ValueError, TypeError, RecursionError):
            entry = None
        if entry is not None and entry.what == ACCEPT and entry.previous == _digest(content[:start]):
            damaged, wrong = damaged + wrong, []
        elif entry is None or entry.previous != previous:
            wrong.append(place)
        if entry is not None:
            entries.append(entry)
            torn += [place] if entry.what == TORN else []
        previous = _digest(line)
        digests.append(previous)
        start += len(line) + 1
    if wrong:
        raise DataError("guard.ledger-damaged", line=wrong[0])
    torn += [len(whole) + 1] if rest else []
    return Account(tuple(entries), previous, tuple(torn), tuple(damaged), frozenset(digests), len(rest))


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _content(file: int) -> bytes:
    with open(file, "rb", closefd=False) as stream:
        return stream.read()


def _dated(entry: Entry) -> Entry:
    """With the time, and without what a server made too long."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    run, kind, note = (as_plain(text, _LONGEST) for text in (entry.run, entry.kind, entry.note))
    return replace(entry, time=entry.time or now, run=run, kind=kind, note=note)
