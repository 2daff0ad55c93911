"""One way to write a function for NumPy and for a GPU: the functions of NumPy that PyTorch has under the same name.

A kernel takes ``xp``, moves what it needs with ``xp.asarray``, computes, and gives back ``xp.numpy(found)``. Operators,
indexing, ``sum(axis=…)`` and functions such as ``xp.sqrt``, ``xp.exp(x, out=x)`` or ``xp.clip`` mean the same in both
libraries; what does not has a name here.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

# Of NumPy or of PyTorch.
Array: TypeAlias = Any
_Settings = TypeVar("_Settings")


class Arrays(Protocol):
    """An array library; what is not listed is a function that NumPy and PyTorch call alike."""

    name: str
    # Rows that are best gone through together.
    together: int

    def asarray(self, values: Any, dtype: type[np.generic] | None = None) -> Array:
        """An array of this library with these values, of their type or another."""

    def numpy(self, values: Array) -> NDArray[Any]:
        """The same values for NumPy."""

    def room(self) -> int:
        """Bytes that may be held on the device; none where that is this computer's own memory."""

    def filled(self, shape: tuple[int, ...], value: float) -> Array:
        """Doubles, all alike."""

    def members(self, codes: Array, classes: int) -> Array:
        """Doubles, a row for each class: one in the columns that have its code, zero elsewhere."""

    def least(self, values: Array) -> tuple[Array, Array]:
        """The least value of each row, and its column; the first one where several are equal."""

    def least_of_groups(self, values: Array, first: NDArray[np.int64]) -> Array:
        """The least value of each row in each group of columns, by the place of the group's first one."""

    def put_along(self, values: Array, columns: Array, value: float) -> None:
        """Write a value into one column of each row."""

    def log_sum_exp(self, values: Array) -> Array:
        """Log Σ_j exp(x_ij), row by row."""

    def log_softmax(self, values: Array) -> Array:
        """x_ij − log Σ_k exp(x_ik), row by row."""

    def solved(self, matrix: Array, right: Array) -> Array | None:
        """The x of a positive definite system; None where the matrix is none."""

    def __getattr__(self, name: str) -> Any: ...


class NumpyArrays:
    """NumPy itself.

    Examples
    --------
    >>> NUMPY.members(np.array([1, 0, 1]), 2)
    array([[0., 1., 0.],
           [1., 0., 1.]])
    """

    name = "cpu"
    together = 2048  # they stay in the processor's cache

    def asarray(self, values: Any, dtype: type[np.generic] | None = None) -> Array:
        """An array with these values; no copy where it is one."""
        return np.asarray(values, dtype=dtype)

    def numpy(self, values: Array) -> NDArray[Any]:
        """The values as they are."""
        return np.asarray(values)

    def room(self) -> int:
        """Nothing has to be held: what is here is here."""
        return 0

    def filled(self, shape: tuple[int, ...], value: float) -> Array:
        """Doubles, all alike."""
        return np.full(shape, value)

    def members(self, codes: Array, classes: int) -> Array:
        """Doubles, a row for each class: one in the columns that have its code, zero elsewhere."""
        return (codes == np.arange(classes)[:, None]).astype(np.float64)

    def least(self, values: Array) -> tuple[Array, Array]:
        """The least value of each row, and its column; the first one where several are equal."""
        column = values.argmin(axis=1)
        return np.take_along_axis(values, column[:, None], axis=1)[:, 0], column

    def least_of_groups(self, values: Array, first: NDArray[np.int64]) -> Array:
        """The least value of each row in each group of columns, by the place of the group's first one."""
        return np.minimum.reduceat(values, first, axis=1)

    def put_along(self, values: Array, columns: Array, value: float) -> None:
        """Write a value into one column of each row."""
        np.put_along_axis(values, columns[:, None], value, axis=1)

    def log_sum_exp(self, values: Array) -> Array:
        """Log Σ_j exp(x_ij), row by row."""
        from scipy.special import logsumexp

        return logsumexp(values, axis=1)

    def log_softmax(self, values: Array) -> Array:
        """x_ij − log Σ_k exp(x_ik), row by row."""
        # As SciPy does it, without the calls that cost more than the numbers of a few hundred rows.
        most = values.max(axis=1, keepdims=True)
        values = values - np.where(np.isfinite(most), most, 0.0).astype(values.dtype, copy=False)
        sums = np.exp(values).sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            values -= np.log(sums)
        return values

    def solved(self, matrix: Array, right: Array) -> Array | None:
        """The x of a positive definite system; None where the matrix is none."""
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        try:
            return cho_solve(cho_factor(matrix, lower=True), right)
        except LinAlgError:
            return None

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


NUMPY: Arrays = NumpyArrays()


def moved(settings: _Settings, xp: Arrays) -> _Settings:
    """A dataclass whose arrays, and those of dataclasses in it, are of another library.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Line:
    ...     slope: np.ndarray
    >>> moved(Line(np.ones(1)), NUMPY).slope
    array([1.])
    """
    if xp is NUMPY or not is_dataclass(settings) or isinstance(settings, type):
        return settings
    changed: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, np.ndarray):
            changed[field.name] = xp.asarray(value)
        elif is_dataclass(value):
            changed[field.name] = moved(value, xp)
    return replace(settings, **changed)
