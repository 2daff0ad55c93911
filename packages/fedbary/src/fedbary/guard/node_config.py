"""A node's config: where its rows are, what it remembers of them, its secret, and its own results."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedbary.checks import one_of
from fedbary.compute.device import DEVICES
from fedbary.data.atomic import private_folder
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError, ProtocolError, SettingsError
from fedbary.guard.account import QUESTION
from fedbary.guard.account_folder import account_folder, note_places, same_rows_elsewhere
from fedbary.guard.ledger import Ledger
from fedbary.notes import Note

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

    Parameters
    ----------
    load : callable
        Returns what holds the rows (`fedbary.data.objects`).
    label : str, optional
        Their label column.
    simulated : bool
        Whether the network is certain that it is a simulation, where one party is all nodes. A partition in a node's
        config does not say so: deployed nodes have one, too.
    """

    load: Callable[[], Any]
    label: str | None = None
    simulated: bool = False


@dataclass(frozen=True)
class NodeConfig:
    """What an owner configured: where its rows are, where the node keeps things, and what it is called.

    Parameters
    ----------
    home : path
        For the secret, the ledger, the log, and a folder for each run; one for a table with all its versions.
    output : path
        Where row values and flags are written, for the owner alone.
    name : str
        What the owner calls the node, in its own report; to the server it is a claim.
    data : str, optional
        The owner's file, folder or database.
    reading : ReadOptions
        How it is read.
    partition : int, optional
        Which part of a named data set a simulated node holds; only a node with neither data nor policy is simulated.
    partitions : int
        How many simulated nodes share the disk.
    report : bool
        Whether the owner's report is drawn beside the row values.
    log_level : str
        From which level on the owner's log is written; ``debug`` may quote cells.
    train : bool
        Whether the node may take part in a training, too.
    source : TableSource, optional
        What loads the rows, where an app does.
    device : str
        Where arithmetic on many rows runs: ``auto``, ``cpu`` or ``cuda``.
    """

    home: Path
    output: Path
    name: str
    data: str | Path | None = None
    label: str = "label"
    id: str | None = None
    policy: Path | None = None
    partition: int | None = None
    report: bool = True
    log_level: str = "info"
    reading: ReadOptions = field(default_factory=ReadOptions)
    partitions: int = 1
    source: TableSource | None = None
    train: bool = False
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
            _level(config.get("log-level", "info")),
            ReadOptions.of({key: value for key, value in config.items() if key in _READING}),
            max(int(config.get("num-partitions", 1)), 1) if partition is not None else 1,
            source,
            config.get("train") is True,
            _device(config.get("device", "auto")),
        )

    @property
    def ledger(self) -> Ledger:
        """The record of the table's questions."""
        return Ledger(self.home / "ledger.jsonl")

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


def _level(name: object) -> str:
    if name not in ("debug", "info", "warning"):
        raise SettingsError("guard.log-level", name=str(name))
    return str(name)


def _device(name: object) -> str:
    one_of(name, "device", "the node's config", DEVICES)
    return str(name)
