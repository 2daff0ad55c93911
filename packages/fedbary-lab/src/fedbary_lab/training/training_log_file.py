"""A training log on disk: one NPZ file of plain arrays, versioned, no pickle."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from fedbary.data.atomic import write_atomically
from fedbary.errors import DataError
from fedbary_lab.training.training_log import Head, Round, TrainingLog

VERSION = 1
_MAX_ROUNDS = 100_000


def save(log: TrainingLog, path: str | Path) -> Path:
    """Write a log to exactly this path; an earlier file stays whole until the new one is.

    Examples
    --------
    >>> import tempfile
    >>> log = TrainingLog(("ann",), [3], [0.0], [Round([0], [[1.0]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(save(log, Path(folder) / "log.npz")).final
    array([1.])
    """
    arrays = {
        "fedbary_training_log": np.array(VERSION),
        "names": np.array(log.names),
        "counts": log.counts,
        "initial": log.initial,
        "head": np.array(log.head or (), dtype=np.int64),
        "rounds": np.array(len(log.rounds)),
    }
    for turn, entry in enumerate(log.rounds):
        arrays |= {f"selected_{turn}": entry.selected, f"models_{turn}": entry.models}
    file = Path(path)
    try:
        return save_arrays(file, arrays)
    except OSError as error:
        raise DataError("research.training-log-unwritable", file=str(file), why=str(error)) from error


def save_arrays(file: Path, arrays: Mapping[str, np.ndarray]) -> Path:
    """Write an NPZ file that is there as a whole or not at all."""

    def save(draft: Path) -> None:
        with draft.open("wb") as stream:  # given a name, NumPy would add a suffix
            np.savez(stream, allow_pickle=False, **arrays)

    return write_atomically(file, save)


def load(path: str | Path) -> TrainingLog:
    """Read a log; a foreign or damaged file is refused, and nothing is read beyond the file's own size.

    Examples
    --------
    >>> load("no-such-log.npz")
    Traceback (most recent call last):
    fedbary.errors.DataError: There is no training log 'no-such-log.npz': check the path.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError("research.no-training-log", file=str(file))
    try:
        arrays = _arrays(file)
        version = int(arrays["fedbary_training_log"])
        if version != VERSION:
            raise DataError("valuation.other-version", file=str(file), version=repr(version), own=VERSION)
        count = int(arrays["rounds"])
        if not 0 < count <= _MAX_ROUNDS:
            raise ValueError(f"it claims {count} rounds")
        return TrainingLog(
            tuple(str(name) for name in arrays["names"]),
            arrays["counts"],
            arrays["initial"],
            tuple(Round(arrays[f"selected_{turn}"], arrays[f"models_{turn}"]) for turn in range(count)),
            head=Head(*(int(place) for place in arrays["head"])) if arrays["head"].size else None,
        )
    except DataError as error:
        raise error if "file" in error.note.facts else error.at(f"'{file}'") from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise DataError("research.not-a-training-log", file=str(file), why=str(error)) from error


def _arrays(file: Path) -> dict[str, np.ndarray]:
    """All arrays of the file; each must have the size that it claims before memory is given to it."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        # `save` does not compress, so what claims to be more than the file can only be there to fill the memory.
        if sum(member.file_size for member in members) > file.stat().st_size:
            raise ValueError("it claims to hold more than its size")
        if len(members) > 2 * _MAX_ROUNDS + 6:
            raise ValueError("it holds too many arrays")
        arrays = {}
        for member in members:
            with archive.open(member) as stream:
                _check_header(stream, member)
            with archive.open(member) as stream:
                arrays[member.filename.removesuffix(".npy")] = npy.read_array(stream, allow_pickle=False)
        return arrays


def _check_header(stream: IO[bytes], member: zipfile.ZipInfo) -> None:
    if npy.read_magic(stream) != (1, 0):
        raise ValueError(f"'{member.filename}' has an unknown layout")
    shape, _, dtype = npy.read_array_header_1_0(stream)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"'{member.filename}' is not what its header says")
