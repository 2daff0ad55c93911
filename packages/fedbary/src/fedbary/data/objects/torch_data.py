"""Data sets and loaders of torch: rows that come one by one, or in batches, as features and a label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from fedbary.data.objects.families import foreign, is_of, streamed
from fedbary.errors import DataError

_COLOURS = (1, 3, 4)


def is_torch_data(data: object) -> bool:
    """Whether it is a `Dataset` or a `DataLoader` of torch."""
    if not is_of(data, "torch"):
        return False
    from torch.utils.data import DataLoader, Dataset

    return isinstance(data, Dataset | DataLoader)


def torch_rows(data: Any) -> Any:
    """A pair ``(X, y)``, or a frame where items are dictionaries.

    A loader that shuffles, or goes on in order, gives the rows of its data set in their order, so that row 7 is item 7;
    one that chooses or changes rows in its own way gives them as they come.
    """
    import pandas as pd

    with foreign(data):
        tensors = _tensors(data)
        if tensors is not None:
            return tuple(array(tensor) for tensor in tensors)
        rows = streamed(_items(data), type(data).__name__) if _is_stream(data) else list(_items(data))
    if not rows:
        raise DataError("data.no-rows")
    if isinstance(rows[0], Mapping):
        return pd.DataFrame([{str(name): _cell(value) for name, value in row.items()} for row in rows])
    for place, row in enumerate(rows):
        if not isinstance(row, tuple | list) or len(row) != 2:
            raise DataError("data.torch-items", kind=type(data).__name__, row=place, found=_described(row))
    return _stacked([row[0] for row in rows]), [_cell(row[1]) for row in rows]


def array(tensor: Any) -> Any:
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
            yield from _unbatched(batch)


def _unbatched(batch: Any) -> Iterator[Any]:
    if isinstance(batch, Mapping):
        for values in zip(*batch.values(), strict=True):
            yield dict(zip(batch, values, strict=True))
    else:
        yield from zip(*batch, strict=True)


def _is_stream(data: Any) -> bool:
    from torch.utils.data import DataLoader, IterableDataset

    return isinstance(data.dataset if isinstance(data, DataLoader) else data, IterableDataset)


def _stacked(features: list[Any]) -> Any:
    """Features of all rows: an array where they are numbers, else the list (of texts, of images, …)."""
    import pandas as pd

    if isinstance(features[0], Mapping):
        return pd.DataFrame([{str(name): _cell(value) for name, value in row.items()} for row in features])
    if isinstance(features[0], int | float | np.number):
        return [[number] for number in features]
    if not is_of(features[0], "torch"):
        return features
    import torch

    if any(one.shape != features[0].shape for one in features):
        raise DataError("data.ragged")
    stacked = array(torch.stack(features))
    return stacked[:, None] if stacked.ndim == 1 else stacked


def _cell(value: Any) -> Any:
    """A value of one row: a number instead of a tensor of one, a vector instead of a longer one."""
    if not is_of(value, "torch"):
        return value
    return value.item() if value.numel() == 1 else array(value).reshape(-1)


def _described(item: Any) -> str:
    return f"{len(item)} values" if isinstance(item, tuple | list) else type(item).__name__
