"""`Ledger`: an owner's record of every question and of all that left: a chain that nobody cuts unnoticed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fedbary.data.atomic import write_atomically
from fedbary.errors import DataError, PrivacyError, SettingsError
from fedbary.guard.account import (
    ACCEPT,
    ALLOW,
    QUESTION,
    REFUSAL,
    RESET,
    TORN,
    Account,
    Entry,
    check_cost,
)
from fedbary.wording import as_plain

HEAD = "head"
_LONGEST = 400
# A server that is refused may ask again for ever; the lines of that must not fill the disk.
_MOST_REFUSALS = 1000


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
    >>> from fedbary.guard.account import Entry
    >>> from fedbary.guard.ledger import Ledger
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
                return self._checked(_content(file), head_needed=head_needed).account
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
        self,
        entry: Entry,
        *,
        budget: float | None = None,
        most: int | None = None,
        most_delta: float | None = None,
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
        """Write the line of what is about to leave; None for a refusal after so many that nobody reads on."""

        def bounded(account: Account) -> Entry | None:
            before = account.refusals() if entry.what == REFUSAL else 0
            if before < _MOST_REFUSALS:
                return entry
            return replace(entry, note="further refusals: see the log") if before == _MOST_REFUSALS else None

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
        _check_reason(note)
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
        _check_reason(entry.note)
        written = self._append(lambda _: entry)
        assert written is not None
        return written

    def _append(self, make: Callable[[Account], Entry | None]) -> Entry | None:
        """Write the line that ``make`` makes of the account, chained to the last one."""
        with self._writing() as file:
            content = _content(file)
            found = self._checked(content, head_needed=True)
            entry = make(found.account)
            if entry is None:
                return None
            if found.torn:
                os.ftruncate(file, len(content) - found.torn)
                mark = _dated(Entry(TORN, note=f"{found.torn} bytes", previous=found.account.head))
                self._write(file, b"", mark)
                entry = replace(entry, previous=_digest(mark.to_json().encode()))
            else:
                entry = replace(entry, previous=found.account.head)
            entry = _dated(entry)
            self._write(file, b"", entry)
            return entry

    def _checked(self, content: bytes, *, head_needed: bool = False) -> _Lines:
        """The lines, refused where the chain is broken or does not hold the head that was noted outside."""
        found = _lines(content)
        head = self._head()
        if head is None and head_needed and found.digests:
            raise DataError("guard.ledger-cut", path=str(self.path))
        if head is not None and head not in found.digests:
            raise DataError("guard.ledger-cut", path=str(self.path))
        return found

    def _head(self) -> str | None:
        try:
            return self.head_path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise DataError("guard.ledger-cut", path=str(self.path)) from error

    def _write(self, file: int, before: bytes, entry: Entry) -> None:
        line = entry.to_json().encode("ascii")
        _append_bytes(file, before + line + b"\n")
        head = _digest(line)
        write_atomically(self.head_path, lambda draft: draft.write_text(head + "\n", encoding="ascii"), mode=0o600)

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


@dataclass(frozen=True)
class _Lines:
    """What a file holds: the account, the digest of every whole line, and how many bytes a crash left after them."""

    account: Account
    digests: frozenset[str]
    torn: int


def _lines(content: bytes) -> _Lines:
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
        entry = _entry(line)
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
    return _Lines(Account(tuple(entries), previous, tuple(torn), tuple(damaged)), frozenset(digests), len(rest))


def _entry(line: bytes) -> Entry | None:
    try:
        return Entry.from_json(line.decode("ascii"))
    except (ValueError, TypeError, RecursionError):
        return None


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _content(file: int) -> bytes:
    with open(file, "rb", closefd=False) as stream:
        return stream.read()


def _append_bytes(file: int, rest: bytes) -> None:
    """All of it and on the disk, or nothing."""
    before = os.fstat(file).st_size
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, before)
        raise


def _dated(entry: Entry) -> Entry:
    """With the time, and without what a server made too long."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    run, kind, note = (as_plain(text, _LONGEST) for text in (entry.run, entry.kind, entry.note))
    return replace(entry, time=entry.time or now, run=run, kind=kind, note=note)


def _check_reason(note: str) -> None:
    if not note.strip():
        raise SettingsError("guard.decision-without-reason")
