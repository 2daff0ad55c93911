"""Data sets of Hugging Face: features say what columns are; images stay undecoded, classes get their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.formats.cells import Cells
from fedbary.data.objects.families import foreign, is_of, streamed
from fedbary.data.objects.frames import arrow_cells
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

OF_CLIENTS, OF_REFERENCE = ("train",), ("validation", "test")


def is_huggingface(data: object) -> bool:
    """Whether it is a data set of Hugging Face, or a dictionary of its splits."""
    if not is_of(data, "datasets"):
        return False
    import datasets

    splits = (datasets.DatasetDict, datasets.IterableDatasetDict)
    return isinstance(data, (datasets.Dataset, datasets.IterableDataset, *splits))


def dataset_cells(data: Any, splits: Sequence[str] = OF_CLIENTS) -> Cells:
    """The cells of a data set; of several splits the first of ``splits`` that is there, or the only one."""
    notes: tuple[Note, ...] = ()
    if isinstance(data, Mapping):
        names, split = tuple(str(name) for name in data), _split(data, splits)
        notes = (Note("data.split-guessed", {"split": split, "splits": names}),) if len(names) > 1 else ()
        data = data[split]
    with foreign(data):
        if not hasattr(data, "num_rows"):
            data = _in_memory(data)
        cells = arrow_cells(data.with_format("arrow")[:])
        for place, feature in enumerate(data.features[name] for name in cells.columns):
            match getattr(feature, "_type", type(feature).__name__):
                case "ClassLabel":
                    cells.isetitem(place, _class_names(cells.iloc[:, place], feature.names))
                case "Array2D" | "Array3D" | "Array4D" | "Array5D":
                    cells.isetitem(place, _flat(cells.iloc[:, place]))
    return Cells(cells, notes)


def class_label(data: Any) -> str | None:
    """The only feature that holds classes: the label, where nobody says which it is."""
    one = next(iter(data.values()), None) if isinstance(data, Mapping) else data
    features = getattr(one, "features", None) or {}
    found = [name for name, feature in features.items() if type(feature).__name__ == "ClassLabel"]
    return found[0] if len(found) == 1 else None


def _split(data: Mapping[str, Any], splits: Sequence[str]) -> str:
    found = [split for split in (*splits, *data) if split in data]
    if not found or (found[0] not in splits and len(data) > 1):
        names = tuple(str(name) for name in data)
        raise DataError("data.which-split", kind=type(data).__name__, splits=names, example=names[0] if names else None)
    return found[0]


def _in_memory(data: Any) -> Any:
    import datasets

    features = data.features
    for name, feature in (features or {}).items():
        if isinstance(feature, datasets.Image):
            data = data.cast_column(name, datasets.Image(decode=False))
    return datasets.Dataset.from_list(streamed(data, type(data).__name__), features=features)


def _class_names(codes: pd.Series[Any], names: Sequence[str]) -> Any:
    """Names instead of numbers; -1 is Hugging Face's mark of an unknown class."""
    numbers = codes.to_numpy(dtype=np.int64, na_value=-1)
    return np.array([*names, None], dtype=object)[numbers]


def _flat(arrays: pd.Series[Any]) -> Any:
    """Arrays of several dimensions as vectors."""
    cells = np.empty(len(arrays), dtype=object)
    for row, array in enumerate(arrays):
        cells[row] = None if array is None else np.asarray(array).reshape(-1)
    return cells
