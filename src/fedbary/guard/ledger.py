"""`Ledger`: an owner's record of everything that left the machine, and the account of its ε budget."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from fedbary.errors import DataError, PrivacyError, SettingsError

REPLY, REFUSAL, DECLINED, RESET = "reply", "refusal", "declined", "reset"
# Ends what a crash left of a line. It was never whole, so its reply never left.
_TORN = json.dumps({"what": "torn"})
_LONGEST = 200


@dataclass(frozen=True)
class Entry:
    """One line: what left, in numbers and names, never a row's value.

    Parameters
    ----------
    what : {"reply", "refusal", "declined", "reset"}
        An answer; words on why there is none, in which the rows had a say, or in which they had not; or the owner's
        beginning of a new account.
    run, session : str
        The engine's name of the run, and the owner's: a client that is begun anew is another session.
    data : str
        Digest of the table's rows.
    protocol, kind, round, question
        What was asked; ``question`` is the message's digest.
    bytes, arrays, scalars, digest
        Size of what left, names and shapes of its arrays, names of its scalars, and its digest.
    epsilon, left : float
        What it cost, and what is left of the budget afterwards.
    time : str
        UTC, ISO 8601.
    note : str
        Why it was refused or reset.
    """

    what: str = REPLY
    run: str = ""
    session: str = ""
    data: str = ""
    protocol: str = ""
    kind: str = ""
    round: int = 0
    question: str = ""
    bytes: int = 0
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    scalars: tuple[str, ...] = ()
    digest: str = ""
    epsilon: float = 0.0
    left: float | None = None
    time: str = ""
    note: str = ""

    def to_json(self) -> str:
        """One line of plain ASCII."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Entry:
        """Read a line back; raises ValueError where it is not one."""
        content = json.loads(line)
        if not isinstance(content, dict) or set(content) != {f.name for f in fields(cls)}:
            raise ValueError("not a line of a ledger")
        shapes = {str(name): tuple(map(int, shape)) for name, shape in dict(content["arrays"]).items()}
        entry = cls(**{**content, "arrays": shapes, "scalars": tuple(content["scalars"])})
        _cost(entry.epsilon)
        return entry


@dataclass(frozen=True)
class Account:
    """What a ledger says: its entries in order, and the numbers of lines that a crash left unfinished."""

    entries: tuple[Entry, ...]
    torn: tuple[int, ...] = ()

    @property
    def current(self) -> tuple[Entry, ...]:
        """Entries since the last reset."""
        last = max((at for at, entry in enumerate(self.entries) if entry.what == RESET), default=-1)
        return self.entries[last + 1 :]

    def spent(self, data: str | None = None) -> float:
        """ε since the last reset, for all rows or for the table with this digest."""
        return float(_total(entry.epsilon for entry in self.current if data in (None, entry.data)))

    def sessions(self) -> set[str]:
        """Runs for which the rows were looked at since the last reset."""
        return {entry.session for entry in self.current if entry.what in (REPLY, REFUSAL)}


class Ledger:
    """An append-only file of JSON lines that only its owner can read, and the ε account that it keeps.

    A line is on disk before its reply may leave, and several processes may write at a time. What a crash left
    unfinished is kept and reported; a file that was damaged otherwise is refused, as its account cannot be trusted.

    The budget is the owner's, not a table's: a table to which rows came holds the old ones, too, so all ε counts
    until the owner resets the account.

    Parameters
    ----------
    path : path
        The file; it and its folder are made with the first line.

    Examples
    --------
    >>> import tempfile
    >>> from fedbary.guard.ledger import Entry, Ledger
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.jsonl")
    >>> ledger.charge(Entry(kind="sketch", epsilon=0.5), budget=0.7).left
    0.2
    >>> ledger.charge(Entry(kind="sketch", epsilon=0.5), budget=0.7)
    Traceback (most recent call last):
        ...
    fedbary.errors.PrivacyError: The answer would go beyond the owner's epsilon_budget (0.5 of 0.7 is spent, it ...
    >>> ledger.spent()
    0.5
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def read(self) -> Account:
        """All lines; a ledger that does not exist yet has none."""
        try:
            with self._locked(os.O_RDONLY) as file:
                return _parsed(_content(file))[0]
        except FileNotFoundError:
            return Account(())
        except OSError as error:
            raise DataError("guard.ledger-unreadable", path=str(self.path), why=error.strerror) from error

    def spent(self, data: str | None = None) -> float:
        """ε since the last reset, for all rows or for the table with this digest."""
        return self.read().spent(data)

    def afford(self, entry: Entry, *, budget: float | None = None, max_runs: int | None = None) -> None:
        """Refuse what `charge` would refuse now, and write nothing."""
        _afford(self.read(), entry, budget, max_runs)

    def charge(self, entry: Entry, *, budget: float | None = None, max_runs: int | None = None) -> Entry:
        """Write the line of what is about to leave, or refuse; once this returns, the line is on the disk.

        Reading the account and writing the line are one step for all processes, so no two can spend the same ε.
        """
        _cost(entry.epsilon)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._locked(os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
                account, before = _parsed(_content(file))
                left = _afford(account, entry, budget, max_runs)
                written = replace(entry, left=left, time=entry.time or _now(), **_shortened(entry))
                _append(file, before + written.to_json() + "\n")
        except OSError as error:
            raise PrivacyError("guard.ledger-unwritable", path=str(self.path), why=error.strerror) from error
        return written

    def reset(self, note: str) -> Entry:
        """Begin a new account; what left before stays in the file."""
        if not note.strip():
            raise SettingsError("guard.reset-without-reason")
        return self.charge(Entry(RESET, note=note))

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


def _afford(account: Account, entry: Entry, budget: float | None, max_runs: int | None) -> float | None:
    """What is left of the budget after the entry; refuses where there is not enough."""
    if max_runs is not None and entry.what in (REPLY, REFUSAL):
        runs = account.sessions()
        if entry.session not in runs and len(runs) >= max_runs:
            raise PrivacyError("guard.no-further-run", answered=max_runs)
    if budget is None:
        return None
    spent = _total(old.epsilon for old in account.current)
    left = Decimal(repr(float(budget))) - spent - Decimal(repr(float(entry.epsilon)))
    if left < 0 and entry.epsilon > 0:
        raise PrivacyError("guard.budget-spent", spent=float(spent), budget=float(budget), cost=entry.epsilon)
    return float(max(left, Decimal(0)))


def _total(costs: Iterable[float]) -> Decimal:
    """A sum as the owner reads it: three times 0.1 is 0.3, which no sum of floats says."""
    return sum((Decimal(repr(float(cost))) for cost in costs), Decimal(0))


def _cost(epsilon: object) -> None:
    fits = isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool)
    if not fits or not math.isfinite(epsilon) or epsilon < 0:  # type: ignore[operator,arg-type]
        raise ValueError(f"epsilon must be a finite number, zero or above, not {epsilon!r}")


def _parsed(content: bytes) -> tuple[Account, str]:
    """The account, and what must stand before the next line: an end for the last one, and a mark if it is torn."""
    entries: list[Entry] = []
    torn: list[int] = []
    broken: list[int] = []
    for place, line in enumerate(content.split(b"\n"), start=1):
        if line == _TORN.encode():
            torn, broken = torn + broken, []
        elif line:
            try:
                entry = Entry.from_json(line.decode("ascii"))
            except (ValueError, TypeError) as error:
                # What a crash cuts off begins as every line does, or was never filled in by the file system.
                if not line.startswith((b"{", b"\0")):
                    raise DataError("guard.ledger-damaged", line=place) from error
                broken.append(place)
                continue
            if broken:
                raise DataError("guard.ledger-damaged", line=broken[0])
            entries.append(entry)
    end = "" if not content or content.endswith(b"\n") else "\n"
    return Account(tuple(entries), tuple(torn + broken)), end + (f"{_TORN}\n" if broken else "")


def _content(file: int) -> bytes:
    with open(file, "rb", closefd=False) as stream:
        return stream.read()


def _append(file: int, text: str) -> None:
    """All of it and on the disk, or nothing."""
    before = os.fstat(file).st_size
    rest = text.encode("ascii")
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, before)
        raise


def _shortened(entry: Entry) -> dict[str, Any]:
    """A server chooses some of these texts."""
    return {name: str(getattr(entry, name))[:_LONGEST] for name in ("run", "kind", "note")}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
