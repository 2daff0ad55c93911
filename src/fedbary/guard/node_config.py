"""A node's config: where its rows are, what it remembers of a run, its secret, and its own results."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.errors import DataError, ProtocolError, SettingsError

if TYPE_CHECKING:
    from fedbary.data.table import Table

_SESSION = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class NodeConfig:
    """What an owner configured: where its rows are, where the node keeps things, and what it is called.

    Parameters
    ----------
    home : path
        For the secret, the ledger, and a folder for each run.
    output : path
        Where row values and flags are written, for the owner alone.
    name : str
        What the client is called in the server's result.
    data : path, optional
        The owner's file; without it the node belongs to a simulation.
    report : bool
        Whether the owner's report is drawn beside the row values.
    """

    home: Path
    output: Path
    name: str
    data: Path | None = None
    label: str = "label"
    id: str | None = None
    policy: Path | None = None
    report: bool = True

    @classmethod
    def of(cls, config: Mapping[str, Any], node: int) -> NodeConfig:
        """From a node's config: data-path, label, id, name, state-path, output-path, policy, report."""
        home = Path(str(config.get("state-path") or os.environ.get("FEDBARY_STATE") or Path.home() / ".fedbary"))
        home = home / f"node-{node}"
        data = config.get("data-path")
        policy = config.get("policy")
        return cls(
            home,
            Path(str(config.get("output-path") or home / "results")),
            str(config.get("name") or _default_name(config, node)),
            None if data is None else Path(str(data)),
            str(config.get("label", "label")),
            None if "id" not in config else str(config["id"]),
            None if policy is None else Path(str(policy)),
            bool(config.get("report", True)),
        )

    def table(self, simulation: Mapping[str, Any], partition: int | None) -> Table:
        """The owner's rows: its file, or one partition of a named data set."""
        if self.data is not None:
            from fedbary.data.files import read

            return read(self.data, self.label, id=self.id)
        if partition is None:
            raise SettingsError("guard.no-data")
        from fedbary.guard.simulated_tables import partition_table

        return partition_table(simulation, partition)

    def run_folder(self, session: str) -> Path:
        """Where a run's state is; the server's name for it must not lead anywhere else."""
        if not _SESSION.fullmatch(session):
            raise ProtocolError("guard.not-a-session")
        folder = self.home / "runs" / session
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def secret(self) -> int:
        """A number that only this owner knows; made once."""
        file = self.home / "secret"
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as fresh:
                fresh.write(str(secrets.randbits(62)))
        except FileExistsError:
            pass
        text = file.read_text().strip()
        if not text.isdecimal():
            raise DataError("guard.secret-damaged")
        return int(text)


def _default_name(config: Mapping[str, Any], node: int) -> str:
    partition = config.get("partition-id")
    return f"node-{node}" if partition is None else f"client_{int(partition) + 1}"
