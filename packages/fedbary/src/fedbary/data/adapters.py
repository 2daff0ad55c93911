"""Adapters: objects in which people already hold their rows, each family brought to a form that can be read repeatedly.

Which family an object belongs to is told from its class, so that no package is imported for objects of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fedbary.data.formats.arrow_files import as_frame
from fedbary.data.formats.cells import Cells, OwnedRows, one_line
from fedbary.data.sparse import is_sparse
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

OF_CLIENTS, OF_REFERENCE = ("train",), ("validation", "test")
# A stream does not say how long it is.
MOST_STREAMED = 100_000
_COLOURS = (1, 3, 4)


@dataclass(frozen=True)
class RowSource:
    """Rows as a table, a path, a pair ``(X, y)`` or the cells of a frame, and the label that a data set names."""

    rows: Table | str | PathLike[str] | tuple[Any, Any] | Cells
    label: str | None = None


@dataclass(frozen=True)
class Adapter:
    """One family of objects: whether one is of it, and what takes its rows out; see `row_source`."""

    takes: Callable[[Any], bool]
    rows: Callable[[Any, Sequence[str], bool], RowSource]


def adapter_of(data: Any) -> Adapter | None:
    """The family of an object, none for a path or a table; another type is a DataError. Nothing is read for that."""
    if isinstance(data, Table | str | PathLike | RowSource | FedbaryError):
        return None
    for adapter in _ADAPTERS:
        if adapter.takes(data):
            return adapter
    raise DataError("data.not-a-table", kind=type(data).__name__)


def row_source(data: Any, splits: Sequence[str] = OF_CLIENTS, *, alone: bool = False) -> RowSource:
    """Take the rows out of an object of another library; a stream is gone through once.

    Of a dictionary of splits the first of ``splits`` that is there is taken, or else the only one. Where each cell is
    ``alone``, one that Python has no room for is missing.
    """
    if isinstance(data, RowSource):
        return data
    adapter = adapter_of(data)
    return RowSource(data) if adapter is None else adapter.rows(data, splits, alone)


def clients_in(data: Any, column: str) -> dict[str, RowSource]:
    """The clients whose rows stand in one frame or data set, where a column says whose each row is."""
    whole = row_source(data)
    if not isinstance(whole.rows, Cells):
        raise DataError("data.not-a-frame", kind=type(data).__name__, column=column)
    owned = OwnedRows.of(whole.rows, column)
    return {name: RowSource(owned.cells(name), whole.label) for name in owned.names}


def is_of(data: object, package: str) -> bool:
    """Whether a class of this package is among the classes of an object."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(data).__mro__)


def _streamed(rows: Iterable[Any], data: Any) -> list[Any]:
    """The rows of a stream, which is refused where there are too many of them, or no end."""
    found = list(islice(rows, MOST_STREAMED + 1))
    if len(found) > MOST_STREAMED:
        raise DataError("data.stream-too-long", kind=type(data).__name__, most=MOST_STREAMED)
    return found


@contextmanager
def foreign(data: Any) -> Iterator[None]:
    """What another package raises while it hands over its rows is a DataError with that text."""
    try:
        yield
    except FedbaryError:
        raise
    except Exception as error:
        raise DataError("data.object-unreadable", kind=type(data).__name__, why=one_line(error)) from error


# Frames of any library, through narwhals: polars, pyarrow, DuckDB relations, modin, … and pandas itself.


def is_frame(data: object) -> bool:
    """Whether it has named columns that narwhals, or pyarrow, can hand over."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return True
    if type(data).__module__ in ("builtins", "numpy"):
        return False
    import narwhals as nw

    return _is_batches(data) or isinstance(nw.from_native(data, pass_through=True), nw.DataFrame | nw.LazyFrame)


def frame_cells(data: Any, *, alone: bool = False) -> pd.DataFrame:
    """The cells of a frame as pandas holds them; whole numbers and booleans with gaps stay what they are."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data
    with foreign(data):
        if _is_batches(data):
            import pyarrow as pa

            table = pa.table(data) if isinstance(data, pa.RecordBatch) else data.read_all()
        else:
            import narwhals as nw

            frame = nw.from_native(data)
            if isinstance(frame, nw.LazyFrame):
                frame = frame.collect()
            if frame.implementation.is_pandas_like():
                cells: pd.DataFrame = frame.to_pandas()
                return cells
            table = frame.to_arrow()
        return as_frame(table, alone=True) if alone else _nullable_frame(table)


def _nullable_frame(table: Any) -> pd.DataFrame:
    """The cells of an Arrow table; whole numbers with gaps would become floats if pandas were left to itself."""
    import pandas as pd
    import pyarrow as pa

    nullable = {
        **{getattr(pa, f"int{bits}")(): getattr(pd, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)},
        **{getattr(pa, f"uint{bits}")(): getattr(pd, f"UInt{bits}Dtype")() for bits in (8, 16, 32, 64)},
        pa.bool_(): pd.BooleanDtype(),
    }
    cells: pd.DataFrame = table.to_pandas(date_as_object=False)
    for place, column in enumerate(table.columns):
        if column.null_count and column.type in nullable:
            cells.isetitem(place, column.to_pandas(types_mapper=nullable.get))
    return cells


def _is_batches(data: object) -> bool:
    if not is_of(data, "pyarrow"):
        return False
    import pyarrow as pa

    return isinstance(data, pa.RecordBatch | pa.RecordBatchReader)


# Pairs: features and labels that come apart, as X and y.


def _is_pair(data: object) -> bool:
    if not isinstance(data, tuple | list) or len(data) != 2:
        return False
    X, y = data
    listed = isinstance(X, list | tuple) or hasattr(X, "__array__") or is_of(X, "datasets")
    if not is_sparse(X) and (isinstance(X, str | bytes | Mapping) or not (listed or is_frame(X))):
        raise DataError("data.not-features", kind=type(X).__name__)
    if isinstance(y, str | bytes | Mapping) or not (hasattr(y, "__len__") or hasattr(y, "__array__")):
        raise DataError("data.not-labels", kind=type(y).__name__)
    return True


def _pair(data: Any, splits: Sequence[str], alone: bool) -> RowSource:  # noqa: ARG001 - as all adapters
    """X as a pandas frame, or as what NumPy takes."""
    X, y = data
    if _is_huggingface(X):
        return RowSource((_dataset_cells(X, OF_CLIENTS).frame, labels_of(y)))
    return RowSource((frame_cells(X) if is_frame(X) else labels_of(X), labels_of(y)))


def labels_of(y: Any) -> Any:
    """Values as a pandas column, an array or a list."""
    values = _array(y)
    # A column that Hugging Face reads when it is looked at.
    return list(values) if is_of(values, "datasets") else values


# Data sets of Hugging Face: features say what columns are; images stay undecoded, classes get their names.


def _is_huggingface(data: object) -> bool:
    """Whether it is a data set of Hugging Face, or a dictionary of its splits."""
    if not is_of(data, "datasets"):
        return False
    import datasets

    splits = (datasets.DatasetDict, datasets.IterableDatasetDict)
    return isinstance(data, (datasets.Dataset, datasets.IterableDataset, *splits))


def _huggingface(data: Any, splits: Sequence[str], alone: bool) -> RowSource:  # noqa: ARG001 - as all adapters
    """The only feature that holds classes is the label, where nobody says which it is."""
    one = next(iter(data.values()), None) if isinstance(data, Mapping) else data
    features = getattr(one, "features", None) or {}
    classes = [name for name, feature in features.items() if type(feature).__name__ == "ClassLabel"]
    return RowSource(_dataset_cells(data, splits), classes[0] if len(classes) == 1 else None)


def _dataset_cells(data: Any, splits: Sequence[str]) -> Cells:
    """The cells of a data set; of several splits the first of ``splits`` that is there, or the only one."""
    notes: tuple[Note, ...] = ()
    if isinstance(data, Mapping):
        names = tuple(str(name) for name in data)
        split = next((split for split in (*splits, *data) if split in data), None)
        if split is None or (split not in splits and len(data) > 1):
            example = names[0] if names else None
            raise DataError("data.which-split", kind=type(data).__name__, splits=names, example=example)
        notes = (Note("data.split-guessed", {"split": split, "splits": names}),) if len(names) > 1 else ()
        data = data[split]
    with foreign(data):
        if not hasattr(data, "num_rows"):
            data = _in_memory(data)
        cells = _nullable_frame(data.with_format("arrow")[:])
        for place, feature in enumerate(data.features[name] for name in cells.columns):
            column = cells.iloc[:, place]
            match getattr(feature, "_type", type(feature).__name__):
                case "ClassLabel":  # -1 is Hugging Face's mark of an unknown class
                    codes = column.to_numpy(dtype=np.int64, na_value=-1)
                    cells.isetitem(place, np.array([*feature.names, None], dtype=object)[codes])
                case "Array2D" | "Array3D" | "Array4D" | "Array5D":
                    vectors = np.empty(len(column), dtype=object)
                    for row, array in enumerate(column):
                        vectors[row] = None if array is None else np.asarray(array).reshape(-1)
                    cells.isetitem(place, vectors)
    return Cells(cells, notes)


def _in_memory(data: Any) -> Any:
    import datasets

    features = data.features
    for name, feature in (features or {}).items():
        if isinstance(feature, datasets.Image):
            data = data.cast_column(name, datasets.Image(decode=False))
    return datasets.Dataset.from_list(_streamed(data, data), features=features)


# Data sets and loaders of torch: rows that come one by one, or in batches, as features and a label.


def _is_torch(data: object) -> bool:
    """Whether it is a `Dataset` or a `DataLoader` of torch."""
    if not is_of(data, "torch"):
        return False
    from torch.utils.data import DataLoader, Dataset

    return isinstance(data, Dataset | DataLoader)


def _torch(data: Any, splits: Sequence[str], alone: bool) -> RowSource:
    """A pair ``(X, y)``, or a frame where items are dictionaries.

    A loader that shuffles, or goes on in order, gives the rows of its data set in their order, so that row 7 is item 7;
    one that chooses or changes rows in its own way gives them as they come.
    """
    with foreign(data):
        tensors = _tensors(data)
        if tensors is not None:
            return row_source(tuple(_array(tensor) for tensor in tensors), splits, alone=alone)
        rows = _streamed(_items(data), data) if _is_stream(data) else list(_items(data))
    if not rows:
        raise DataError("data.no-rows")
    if isinstance(rows[0], Mapping):
        return RowSource(Cells(_frame_of(rows)))
    for place, row in enumerate(rows):
        if not isinstance(row, tuple | list) or len(row) != 2:
            found = f"{len(row)} values" if isinstance(row, tuple | list) else type(row).__name__
            raise DataError("data.torch-items", kind=type(data).__name__, row=place, found=found)
    pair = _stacked([row[0] for row in rows]), [_cell(row[1]) for row in rows]
    return row_source(pair, splits, alone=alone)


def _array(tensor: Any) -> Any:
    """A tensor as an array, wherever it is, with the colours of images last as everywhere but in torch."""
    if not is_of(tensor, "torch"):
        return tensor
    tensor = tensor.detach().cpu()
    # NumPy has no bfloat16.
    found = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    is_image = found.ndim == 4 and found.shape[1] in _COLOURS and found.shape[3] not in _COLOURS
    return np.moveaxis(found, 1, 3) if is_image else found


def _tensors(data: Any) -> Any:
    """The tensors of a `TensorDataset`, also of a part of one, without going through its rows."""
    from torch.utils.data import Subset, TensorDataset

    data = _in_order(data)
    if type(data) is TensorDataset and len(data.tensors) == 2:
        return data.tensors
    if type(data) is Subset:
        whole = _tensors(data.dataset)
        return None if whole is None else tuple(tensor[list(data.indices)] for tensor in whole)
    return None


def _in_order(data: Any) -> Any:
    """The data set of a loader that gives all of its items, or the loader itself."""
    from torch.utils.data import DataLoader, RandomSampler, SequentialSampler
    from torch.utils.data.dataloader import default_collate

    if not isinstance(data, DataLoader) or data.collate_fn is not default_collate or data.batch_size is None:
        return data
    sampler, dataset = data.sampler, cast(Any, data.dataset)
    whole = isinstance(sampler, SequentialSampler) or (
        isinstance(sampler, RandomSampler) and not sampler.replacement and sampler.num_samples == len(dataset)
    )
    return dataset if whole else data


def _items(data: Any) -> Iterator[Any]:
    from torch.utils.data import DataLoader

    data = _in_order(data)
    if not isinstance(data, DataLoader):
        yield from data if _is_stream(data) else (data[place] for place in range(len(data)))
    elif data.batch_sampler is None:
        yield from data
    else:
        for batch in data:
            if isinstance(batch, Mapping):
                yield from (dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True))
            else:
                yield from zip(*batch, strict=True)


def _is_stream(data: Any) -> bool:
    from torch.utils.data import DataLoader, IterableDataset

    return isinstance(data.dataset if isinstance(data, DataLoader) else data, IterableDataset)


def _stacked(features: list[Any]) -> Any:
    """Features of all rows: an array where they are numbers, else the list (of texts, of images, …)."""
    if isinstance(features[0], Mapping):
        return _frame_of(features)
    if isinstance(features[0], int | float | np.number):
        return [[number] for number in features]
    if not is_of(features[0], "torch"):
        return features
    import torch

    if any(one.shape != features[0].shape for one in features):
        raise DataError("data.ragged")
    stacked = _array(torch.stack(features))
    return stacked[:, None] if stacked.ndim == 1 else stacked


def _frame_of(rows: Iterable[Mapping[Any, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([{str(name): _cell(value) for name, value in row.items()} for row in rows])


def _cell(value: Any) -> Any:
    """A value of one row: a number instead of a tensor of one, a vector instead of a longer one."""
    if not is_of(value, "torch"):
        return value
    return value.item() if value.numel() == 1 else _array(value).reshape(-1)


_ADAPTERS = (
    Adapter(_is_huggingface, _huggingface),
    Adapter(_is_torch, _torch),
    Adapter(_is_pair, _pair),
    Adapter(is_frame, lambda data, splits, alone: RowSource(Cells(frame_cells(data, alone=alone)))),  # noqa: ARG005
)
