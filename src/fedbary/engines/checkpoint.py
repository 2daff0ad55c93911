"""The state of a run on disk: one NPZ file of plain arrays, replaced atomically after every round."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.protocols.messages import State

NAME = "checkpoint.npz"


def save_checkpoint(folder: Path, identity: str, server: State, clients: Mapping[str, State]) -> None:
    """Write the states of the server and of the clients that run in this process."""
    arrays: dict[str, np.ndarray] = {"identity": np.array(identity)}
    arrays |= {f"server/{key}": array for key, array in server.items()}
    for index, state in enumerate(clients.values()):
        arrays |= {f"client/{index}/{key}": array for key, array in state.items()}
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
    return _below(arrays, "server/"), {name: _below(arrays, f"client/{index}/") for index, name in enumerate(clients)}


def _below(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
