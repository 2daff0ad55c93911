"""A model's arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord
from numpy.typing import NDArray

from fedbary.errors import DataError

Vector = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Layout:
    """How the arrays of a model lie in one vector.

    Parameters
    ----------
    arrays : mapping of str to array
        Initial arrays; those of floating-point numbers are in the vector, in this order, the others are kept as they
        are.

    Examples
    --------
    >>> from flwr.app import Array, ArrayRecord
    >>> model = ArrayRecord({"w": Array(np.ones((2, 2), "float32")), "steps": Array(np.array(7))})
    >>> layout = Layout.of(model)
    >>> layout.flatten(model)
    array([1., 1., 1., 1.], dtype=float32)
    >>> layout.unflatten(np.arange(4.0))["w"].numpy()
    array([[0., 1.],
           [2., 3.]], dtype=float32)
    >>> layout.unflatten(np.arange(4.0))["steps"].numpy()
    array(7)
    """

    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, record: ArrayRecord) -> Layout:
        """The layout of models like this one."""
        arrays = {key: array.numpy() for key, array in record.items()}
        for key, array in arrays.items():
            if array.dtype.kind not in "fiub":
                raise DataError("research.array-not-numbers", array=str(key), dtype=str(array.dtype))
        layout = cls(arrays)
        if not layout.size:
            raise DataError("research.initial-model-without-floats")
        return layout

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the arrays that are in the vector."""
        return tuple(key for key, array in self.arrays.items() if array.dtype.kind == "f")

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(self.arrays[key].size for key in self.keys)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Single precision, unless an array is in double."""
        double = any(self.arrays[key].dtype.itemsize > 4 for key in self.keys)
        return np.dtype(np.float64 if double else np.float32)

    def flatten(self, record: ArrayRecord) -> Vector:
        """One vector; the model must have the same arrays, in any order."""
        if set(record) != set(self.arrays):
            odd = sorted(set(record) ^ set(self.arrays))
            raise DataError("research.model-has-other-arrays", arrays=tuple(map(str, odd[:6])))
        parts = []
        for key in self.keys:
            part, like = record[key].numpy(), self.arrays[key]
            if part.shape != like.shape or part.dtype.kind != "f":
                raise DataError(
                    "research.model-array-shape",
                    array=str(key),
                    shape=str(part.shape),
                    dtype=str(part.dtype),
                    wanted_shape=str(like.shape),
                    wanted_dtype=str(like.dtype),
                )
            parts.append(part.ravel().astype(self.dtype))
        vector: Vector = np.concatenate(parts)
        if not np.isfinite(vector).all():
            raise DataError("research.model-not-finite")
        return vector

    def unflatten(self, weights: NDArray[Any]) -> ArrayRecord:
        """The model of a vector; arrays that are not in the vector are the initial model's."""
        vector = np.asarray(weights)
        if vector.shape != (self.size,):
            raise DataError("research.vector-shape", shape=str(vector.shape), size=int(self.size))
        arrays, start = {}, 0
        for key, like in self.arrays.items():
            part = like
            if like.dtype.kind == "f":
                part = vector[start : start + like.size].reshape(like.shape).astype(like.dtype)
                start += like.size
            arrays[key] = Array(np.ascontiguousarray(part).reshape(like.shape))
        return ArrayRecord(arrays)
