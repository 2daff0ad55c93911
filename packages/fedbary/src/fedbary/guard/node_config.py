"""A node's config: where its rows are, what it remembers of them, its secret, and its own results.

A table has one account, by whatever name its file is reached. Its folder is named after the real path, and notes in
``places`` by which names the table was reached, and which file it was: another link to that file, or a link that leads
to each month's file in turn, finds the account again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_letters, digits
from typing import Any

from fedbary.checks import one_of
from fedbary.compute.device import DEVICES
from fedbary.data.atomic import private_folder
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath, file_of, identity, is_url, place_name, resolved
from fedbary.errors import DataError, ProtocolError, SettingsError
from fedbary.guard.ledger import QUESTION, Ledger
from fedbary.guard.owner_files import write_private
from fedbary.notes import Note
from fedbary.strict_json import read_json

_PLACES, _LEDGER, _LONGEST = "places", "ledger.jsonl", 2**20
_LONGEST_NAME = 64
_OF_A_NAME = frozenset(ascii_letters + digits + "-_.")
_READING = ReadOptions.keys()
_SESSION_LENGTH = 32
# Runs of which something is kept; the ledger has all of them.
_MOST_RUNS = 100
# And what they may take together: a server decides how large its messages are.
_MOST_BYTES = 4 * 2**30
# Simulated nodes share that, and of a simulation few look at more than the last runs.
_MOST_SIMULATED_RUNS = 10


@dataclass(frozen=True)
class TableSource:
    """Rows that an app loads by itself, where no file is named.

    ``load`` returns what holds the rows (`fedbary.data.objects`); ``simulated`` says that the network is certain that
    it is a simulation, where one party is all nodes. A partition in a node's config does not say so: deployed nodes
    have one, too.
    """

    load: Callable[[], Any]
    label: str | None = None
    simulated: bool = False


@dataclass(frozen=True)
class NodeConfig:
    """What an owner configured: where its rows are, where the node keeps things, and what it is called."""

    home: Path  # secret, ledger, log, and a folder for each run; one for a table with all its versions
    output: Path  # where row values and flags are written, for the owner alone
    name: str  # in the owner's own report; to the server it is a claim
    data: str | Path | None = None  # file, folder or database
    label: str = "label"
    id: str | None = None
    policy: Path | None = None
    partition: int | None = None  # of a named data set; only a node with neither data nor policy is simulated
    report: bool = True
    log_level: str = "info"  # debug may quote cells
    reading: ReadOptions = field(default_factory=ReadOptions)
    partitions: int = 1  # simulated nodes that share the disk
    source: TableSource | None = None  # what loads the rows, where an app does
    train: bool = False  # whether it may take part in a training, too
    device: str = "auto"

    @classmethod
    def of(cls, config: Mapping[str, Any], node: int | str, source: TableSource | None = None) -> NodeConfig:
        """From a node's config: data-path, table, label, id, name, state-path, output-path, policy, report and others.

        These are log-level, device, and how the data is read, by the names of `ReadOptions`: ``sep=";" drop="street"``.

        The server gave the node its id, so no folder is named after it: what a table was asked is kept under the name
        that its owner gave it (``table``), or under its file's. What an app loads by itself (``source``) has one name
        for each ``partition-id`` of the owner's config, if it has neither.
        """
        state = Path(str(config.get("state-path") or _usual_state()))
        data, policy = (None if config.get(key) is None else str(config[key]) for key in ("data-path", "policy"))
        part = config.get("partition-id")
        # Rows that an app loads are somebody's, unless this is a simulation for certain.
        simulated = data is policy is None and (source is None or source.simulated)
        partition = part if simulated else None
        if partition is not None:
            home = state / f"partition-{int(partition)}"
        elif data is not None or (source is not None and config.get("table") is not None):
            home = account_folder(state, config.get("table"), data or "")
        elif source is not None:
            home = state / ("loaded" if part is None else f"loaded-{int(part)}")
        else:
            raise SettingsError("guard.no-data")
        label = source.label if source is not None and source.label else "label"
        level, device = str(config.get("log-level", "info")), str(config.get("device", "auto"))
        if level not in ("debug", "info", "warning"):
            raise SettingsError("guard.log-level", name=level)
        one_of(config.get("device", "auto"), "device", "the node's config", DEVICES)
        return cls(
            home,
            Path(str(config.get("output-path") or home / "results")),
            str(config.get("name") or (f"node-{node}" if partition is None else f"client_{int(partition) + 1}")),
            data,
            str(config.get("label", label)),
            None if "id" not in config else str(config["id"]),
            None if policy is None else Path(policy),
            None if partition is None else int(partition),
            bool(config.get("report", True)),
            level,
            ReadOptions.of({key: value for key, value in config.items() if key in _READING}),
            max(int(config.get("num-partitions", 1)), 1) if partition is not None else 1,
            source,
            config.get("train") is True,
            device,
        )

    @property
    def ledger(self) -> Ledger:
        """The record of the table's questions."""
        return Ledger(self.home / _LEDGER)

    def copies(self) -> tuple[Note, ...]:
        """Notes for the owner: other accounts that counted questions about the very same rows."""
        return same_rows_elsewhere(self.home, _usual_state())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One answer at a time, also where several processes answer for the same table."""
        import fcntl

        private_folder(self.home)
        file = os.open(self.home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if self.data is not None:
                with suppress(OSError):  # where it cannot be written, neither can the ledger
                    note_places(self.home, self.data)
            yield
        finally:
            os.close(file)

    def run_folder(self, session: str) -> Path:
        """Where a run's state is; the server's name for it must not lead anywhere else."""
        if len(session) != _SESSION_LENGTH or not set(session) <= set("0123456789abcdef"):
            raise ProtocolError("guard.not-a-session")
        return self.home / "runs" / session

    def forget_old_runs(self) -> None:
        """Bound the disk: of the runs that were answered longest ago neither the state nor the results are kept.

        Runs that used up a question stay longest: a server has others for nothing, and must not wash away by them what
        an owner has not read yet, nor the answer that it may ask for again.
        """
        import shutil

        runs = sorted((self.home / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns, reverse=True)
        most, counted = _MOST_SIMULATED_RUNS, set[str]()
        if self.partition is None:
            most, counted = _MOST_RUNS, {entry.run for entry in self.ledger.read().entries if entry.what == QUESTION}
        kept = 0
        # The newest may be under way.
        for age, run in enumerate([*runs[:1], *sorted(runs[1:], key=lambda run: run.name not in counted)]):
            folders = run, self.output / run.name
            kept += sum(_size(folder) for folder in folders)
            if age >= most or (age and kept > _MOST_BYTES // self.partitions):
                for folder in folders:
                    shutil.rmtree(folder, ignore_errors=True)

    def secret(self) -> int:
        """A number that only this owner knows; made once."""
        file = self.home / "secret"
        private_folder(self.home)
        try:
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as fresh:
                fresh.write(str(secrets.randbits(62)))
        except FileExistsError:
            pass
        text = file.read_text().strip()
        if not text.isdecimal():
            raise DataError("guard.secret-damaged")
        return int(text)


def _usual_state() -> Path:
    return Path(os.environ.get("FEDBARY_STATE") or Path.home() / ".fedbary")


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir()) if folder.is_dir() else 0


def account_folder(state: Path, name: object, data: str) -> Path:
    """The folder of a table with all its versions: by the name that its owner gave it, or by its place.

    Where older releases began several accounts of one file, the one with most in it goes on.
    """
    if name is not None:
        text = str(name)
        if not 1 <= len(text) <= _LONGEST_NAME or not set(text) <= _OF_A_NAME or text.startswith("."):
            raise SettingsError("guard.not-a-lineage", name=text)
        return state / text
    own = state / _folder_name(identity(data), identity(data))
    # As it was named before places were normalised.
    older = state / _folder_name(data, resolved(data) if is_url(data) else _as_given(data))
    names, seen = {identity(data), _as_given(data)}, _seen(data)
    found = [file.parent for file in sorted(state.glob(f"*/{_PLACES}")) if _is_of(_noted(file.parent), names, seen)]
    return max((home for home in (own, older, *found) if home.is_dir()), key=_written, default=own)


def note_places(home: Path, data: AnyPath) -> None:
    """Write down by which names a table is reached, and which file it is by now."""
    before = _noted(home)
    names = sorted({*before.get("names", ()), identity(data), _as_given(data)})
    after = {"names": names, "seen": _seen(data) or before.get("seen")}
    if after != before:
        write_private(home / _PLACES, json.dumps(after))


def same_rows_elsewhere(home: Path, state: Path) -> tuple[Note, ...]:
    """A note for every other account that counted a question about the very rows of this one's last question."""
    digest = next((line for line in reversed(list(_digests(home / _LEDGER)))), None)
    if digest is None:
        return ()
    others = {file.resolve() for folder in (home.parent, state) for file in folder.glob(f"*/{_LEDGER}")}
    copies = sorted(file for file in others - {(home / _LEDGER).resolve()} if digest in _digests(file))
    return tuple(Note("guard.same-rows-elsewhere", {"path": str(file)}) for file in copies)


def _digests(ledger: Path) -> Iterator[str]:
    try:
        lines = ledger.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        try:
            digest = json.loads(line).get("data")
        except (ValueError, AttributeError, RecursionError):
            continue
        if digest:
            yield digest


def _is_of(noted: dict[str, Any], names: set[str], seen: list[int] | None) -> bool:
    if names & set(noted["names"]):
        return True
    # The number of a file that is gone is soon another's: it counts with its time, or while a noted name leads there.
    return seen is not None and (seen == noted["seen"] or any(_seen(name, 2) == seen[:2] for name in noted["names"]))


def _noted(home: Path) -> dict[str, Any]:
    try:
        content = dict(read_json((home / _PLACES).read_text(encoding="ascii"), longest=_LONGEST))
        return {"names": [str(name) for name in content["names"]], "seen": content["seen"]}
    except (OSError, ValueError, TypeError, KeyError):
        return {"names": [], "seen": None}


def _seen(data: AnyPath, most: int = 3) -> list[int] | None:
    """Device and number of the file, and when it was changed; None where there is none."""
    file = file_of(data)
    try:
        facts = None if file is None else file.stat()
    except (OSError, ValueError):
        return None
    return None if facts is None else [facts.st_dev, facts.st_ino, facts.st_mtime_ns][:most]


def _as_given(data: AnyPath) -> str:
    return identity(data) if is_url(data) else str(Path(data).absolute())


def _folder_name(data: str, place: str) -> str:
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
    stem = "".join(letter if letter in _OF_A_NAME else "-" for letter in place_name(data).partition(".")[0])
    return f"{stem[: _LONGEST_NAME - 9] or 'table'}-{digest}"


def _written(home: Path) -> int:
    ledger = home / _LEDGER
    return ledger.stat().st_size if ledger.is_file() else 0
