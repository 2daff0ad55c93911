"""Features and labels that come apart, as X and y."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbary.data.objects.frames import frame_cells, is_frame
from fedbary.notes import Note


def is_features(X: object) -> bool:
    """Whether it may be the X of a pair: an array of any library, a list, or a frame.

    Examples
    --------
    >>> is_features([[1.0, 2.0]]), is_features({"age": [31]}), is_features(7)
    (True, False, False)
    """
    if isinstance(X, str | bytes | Mapping):
        return False
    return isinstance(X, list | tuple) or hasattr(X, "__array__") or hasattr(X, "toarray") or is_frame(X)


def features_of(X: Any) -> tuple[Any, tuple[Note, ...]]:
    """X as a pandas frame or an array, and what is worth saying of it."""
    return (frame_cells(X), ()) if is_frame(X) else (X, ())


def labels_of(y: Any) -> Any:
    """Labels as a pandas column, an array or a list."""
    return y
