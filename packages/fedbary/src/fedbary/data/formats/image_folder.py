"""Images in folders: ``SITE/CLASS/*.png`` is the table of a site."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from fedbary.data.encoders.images import SUFFIXES
from fedbary.data.formats.cells import Cells
from fedbary.errors import DataError
from fedbary.notes import Note

IMAGE, CLASS, FILE = "image", "class", "file"


def is_image_folder(folder: Path) -> bool:
    """Whether a folder has a folder of images for each class."""
    try:
        return folder.is_dir() and any(_is_image(file) for inner in _folders(folder) for file in _files(inner))
    except OSError:  # not for our eyes
        return False


def read_image_folder(folder: Path, most: int | None = None) -> Cells:
    """One row for each image: the image, its folder's name as its class, and its place in the folder as its id."""
    import pandas as pd

    files = [(inner.name, file) for inner in _folders(folder) for file in _files(inner)]
    images = [(label, file) for label, file in files if _is_image(file)]
    if not images:
        raise DataError("encoders.no-images", where=str(folder))
    rows = list(islice(images, most))
    frame = pd.DataFrame(
        {
            IMAGE: [{"bytes": None, "path": str(file)} for _, file in rows],
            CLASS: [label for label, _ in rows],
        },
        index=pd.Index([f"{label}/{file.name}" for label, file in rows], name=FILE),
    )
    others = len(files) - len(images)
    notes = (Note("encoders.other-files", {"count": others}),) if others else ()
    return Cells(frame, notes, id=FILE)


def _folders(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name[0] != "." and entry.is_dir())
    return (folder / name for name in names)


def _files(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name[0] != "." and entry.is_file())
    return (folder / name for name in names)


def _is_image(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES
