"""Features and labels that come apart, as X and y."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbary.data.objects.families import is_of
from fedbary.data.objects.frames import frame_cells, is_frame
from fedbary.data.objects.huggingface import dataset_cells, is_huggingface
from fedbary.data.objects.torch_data import array
from fedbary.data.sparse import is_sparse


def is_features(X: object) -> bool:
    """Whether it may be the X of a pair: an array of any library, a list of rows, or a frame.

    Examples
    --------
    >>> is_features([[1.0, 2.0]]), is_features({"age": [31]}), is_features(7)
    (True, False, False)
    """
    if is_sparse(X):
        return True
    if isinstance(X, str | bytes | Mapping):
        return False
    return isinstance(X, list | tuple) or hasattr(X, "__array__") or is_of(X, "datasets") or is_frame(X)


def is_labels(y: object) -> bool:
    """Whether it may be the y of a pair.

    Examples
    --------
    >>> is_labels(["ill", "well"]), is_labels("outcome")
    (True, False)
    """
    return not isinstance(y, str | bytes | Mapping) and (hasattr(y, "__len__") or hasattr(y, "__array__"))


def features_of(X: Any) -> Any:
    """X as a pandas frame, or as what NumPy takes."""
    if is_huggingface(X):
        return dataset_cells(X).frame
    return frame_cells(X) if is_frame(X) else _listed(array(X))


def labels_of(y: Any) -> Any:
    """Labels as a pandas column, an array or a list."""
    return _listed(array(y))


def _listed(values: Any) -> Any:
    """A column that Hugging Face reads when it is looked at, as a list."""
    return list(values) if is_of(values, "datasets") else values
