"""The state of a run on disk: one NPZ file of plain arrays, replaced atomically after every round."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.protocols.messages import State, below, under

NAME = "checkpoint.npz"


def save_checkpoint(folder: Path, identity: str, server: State, clients: Mapping[str, State]) -> None:
    """Write the states of the server and of the clients that run in this process."""
    arrays: dict[str, np.ndarray] = {"identity": np.array(identity)}
    arrays |= under("server/", server)
    for index, state in enumerate(clients.values()):
        arrays |= under(f"client/{index}/", state)
    temporary = folder / (NAME + ".part")
    with temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    temporary.replace(folder / NAME)


def load_checkpoint(folder: Path, identity: str, clients: list[str]) -> tuple[State, dict[str, State]] | None:
    """Read the states back; None where there is no checkpoint, an error where it is another run's."""
    file = folder / NAME
    if not file.is_file():
        return None
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ProtocolError(f"The checkpoint '{file}' cannot be read ({error}): delete it to start anew.") from error
    if str(arrays.get("identity")) != identity:
        raise ProtocolError(
            f"The checkpoint '{file}' belongs to a run with other settings or clients: "
            "use the same ones, or another folder."
        )
    return below(arrays, "server/"), {name: below(arrays, f"client/{index}/") for index, name in enumerate(clients)}
