"""The state of a run on disk: one NPZ file of plain arrays, replaced atomically after every round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.data.atomic import read_arrays, write_arrays
from fedbary.engines.run import Engine, Observer
from fedbary.errors import ProtocolError
from fedbary.protocols.messages import ServerProtocol, State, array_text, below, injective_digest, text_array, under

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

NAME = "checkpoint.npz"
_SEAL = "digest"


class Checkpoint(Observer):
    """Keeps the states of the protocol and of the engine after every round, until the run is finished.

    Parameters
    ----------
    folder : path
        Where the file is.
    resume : bool
        Whether to read what an interrupted run left there.
    keep : bool
        Whether the file stays when the run is finished, so that the same call gives its result again.
    """

    def __init__(self, folder: Path, *, resume: bool, keep: bool = False) -> None:
        self._file, self._keep = folder / NAME, keep
        self._stored = _read(self._file) if resume else {}
        self._identity = ""

    @property
    def engine(self) -> State:
        """The engine's state before the interruption; empty where there was none."""
        return below(self._stored, "engine/")

    def restore(self, protocol: ServerProtocol, identity: str) -> None:
        """Let the protocol go on, if there is something to go on from and it is of the same run."""
        self._identity = identity
        if not self._stored:
            return
        if "identity" not in self._stored or array_text(self._stored["identity"]) != identity:
            raise ProtocolError("engines.checkpoint-of-another-run", file=str(self._file))
        protocol.restore(below(self._stored, "server/"))

    def absorbed(self, protocol: ServerProtocol, engine: Engine) -> None:
        """Write both states."""
        arrays = {"identity": text_array(self._identity)}
        arrays |= under("server/", protocol.state()) | under("engine/", engine.state())
        write_arrays(self._file, {**arrays, _SEAL: text_array(injective_digest(NAME, {}, arrays))})

    def finished(self, result: Valuation) -> None:  # noqa: ARG002 - an observer's signature
        """Nothing is left to go on with."""
        if not self._keep:
            self._file.unlink(missing_ok=True)


def _read(file: Path) -> State:
    try:
        stored = read_arrays(file)
        if stored and array_text(stored.pop(_SEAL, text_array(""))) != injective_digest(NAME, {}, stored):
            raise ValueError("it was changed")
        return stored
    except ValueError as error:
        raise ProtocolError("engines.checkpoint-damaged", file=str(file), why=str(error)) from error
