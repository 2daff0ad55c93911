"""Where the files of the named data sets are: local folders first, then OpenML."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from fedbary.columns.arrays import Array
from fedbary.data.atomic import write_atomically
from fedbary.data.encoders import cache_folder
from fedbary.errors import DataError, DatasetUnavailable
from fedbary.notes import Note

Arrays: TypeAlias = dict[str, Array]

KEYS = ("X_train", "y_train", "X_test", "y_test")
OPENML_SECONDS = 10.0


@dataclass(frozen=True)
class Source:
    """The file of a data set and, where there is one, its name on OpenML.

    Parameters
    ----------
    file
        Name of the ``.npz`` file.
    openml
        Name on OpenML, or "" where it is not there.
    split
        Rows of the train and test part cut from OpenML's single table.
    shape
        Shape of one row in the file.
    planar
        Whether OpenML keeps images colour plane by colour plane.

    Examples
    --------
    >>> Source("mnist.npz", "mnist_784").openml
    'mnist_784'
    """

    file: str
    openml: str = ""
    split: tuple[int, int] = (20000, 5000)
    shape: tuple[int, ...] = ()
    planar: bool = False


def folders() -> list[Path]:
    """List the folders that are searched, in order.

    They are ``$FEDBARY_DATA``, where it is set, and the user's cache.

    Examples
    --------
    >>> folders()[-1] == cache_folder()
    True
    """
    named = os.environ.get("FEDBARY_DATA")
    return [*([Path(named)] if named else []), cache_folder()]


def find(source: Source) -> Path | None:
    """Return the first folder's file of a data set, or None.

    Examples
    --------
    >>> find(Source("no-such-file.npz")) is None
    True
    """
    return next((folder / source.file for folder in folders() if (folder / source.file).is_file()), None)


def arrays(name: str, source: Source) -> Arrays:
    """Read a data set from its file, or fetch it once from OpenML.

    Raises
    ------
    DatasetUnavailable
        Where it is in no folder and cannot be fetched, saying what to do.

    Examples
    --------
    >>> arrays("nothing", Source("no-such-file.npz"))
    Traceback (most recent call last):
    fedbary.errors.DatasetUnavailable: the data set 'nothing' ...
    """
    path = find(source)
    if path is not None:
        return _read_npz(path)
    if not source.openml:
        fetched: Arrays | Note = Note("data.not-on-openml")
    elif os.environ.get("FEDBARY_OFFLINE") == "1":
        fetched = Note("data.offline")
    else:
        fetched = _fetch_in_time(source)
    if isinstance(fetched, Note):
        searched = ", ".join(map(str, folders()))
        raise DatasetUnavailable(
            "data.dataset-unavailable", name=name, folders=searched, why=fetched, file=source.file, keys=", ".join(KEYS)
        )
    return fetched


def split_openml(source: Source, features: Array, labels: Array, names: list[str]) -> Arrays:
    """Cut OpenML's single table into train and test arrays of the layout of our files.

    Examples
    --------
    >>> X, y = np.arange(8.0).reshape(8, 1), np.array(["a", "b"] * 4)
    >>> parts = split_openml(Source("t.npz", split=(4, 2)), X, y, ["size"])
    >>> parts["X_train"].shape, parts["y_test"].tolist(), parts["classes"].tolist()
    ((4, 1), [...], ['a', 'b'])
    """
    from sklearn.model_selection import train_test_split

    classes, codes = np.unique(labels.astype(str), return_inverse=True)
    train_rows, test_rows = source.split
    train, test = train_test_split(
        np.arange(len(codes)), train_size=train_rows, test_size=test_rows, stratify=codes, random_state=0
    )
    if source.planar:
        height, width, colours = source.shape
        features = features.reshape(-1, colours, height, width).transpose(0, 2, 3, 1)
    if source.shape:
        rows = features.reshape(-1, *source.shape).astype(np.uint8)
    else:
        rows = ((features - features[train].mean(axis=0)) / features[train].std(axis=0)).astype(np.float32)
    parts = {"X_train": rows[train], "y_train": codes[train], "X_test": rows[test], "y_test": codes[test]}
    return parts | {"classes": classes, "feature_names": np.array(names, dtype=str)}


def _read_npz(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as stored:
            content = {key: stored[key] for key in stored.files}
    except Exception as error:  # a damaged file can fail in zipfile, in zlib or in NumPy
        raise DataError("data.not-npz", where=str(path)) from error
    missing = [key for key in KEYS if key not in content]
    if missing:
        raise DataError("data.arrays-missing", where=str(path), missing=", ".join(missing), keys=", ".join(KEYS))
    return content


def _fetch_in_time(source: Source) -> Arrays | Note:
    """Fetch in a thread, as a download has no overall time limit of its own.

    A thread that comes too late still fills the cache for the next call.
    """
    outcome: list[Arrays | Note] = []

    def fetch() -> None:
        try:
            from sklearn.datasets import fetch_openml

            data = fetch_openml(source.openml, version=1, as_frame=False, n_retries=0)
            parts = split_openml(source, np.asarray(data.data), np.asarray(data.target), data.feature_names)
            _keep(parts, cache_folder() / source.file)
            outcome.append(parts)
        except Exception as error:  # no network, no such data set, too few rows: all mean "not available"
            why = " ".join(str(error).split())[:120]
            outcome.append(Note("data.openml-failed", {"name": source.openml, "why": why}))

    thread = threading.Thread(target=fetch, daemon=True)
    thread.start()
    thread.join(OPENML_SECONDS)
    return outcome[0] if outcome else Note("data.openml-slow", {"seconds": OPENML_SECONDS})


def _keep(parts: Arrays, path: Path) -> None:
    """Save to the cache; a cache that cannot be written to is no reason to fail."""

    def save(draft: Path) -> None:
        with draft.open("wb") as stream:  # given a name, NumPy would add a suffix
            np.savez_compressed(stream, allow_pickle=False, **parts)

    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, save)
