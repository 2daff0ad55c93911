"""One way to write a function for NumPy and for a GPU: the functions of NumPy that PyTorch has under the same name.

A kernel takes ``xp``, moves what it needs with ``xp.asarray``, computes, and gives back ``xp.numpy(found)``. Operators,
indexing, ``sum(axis=…)`` and functions such as ``xp.sqrt``, ``xp.exp(x, out=x)`` or ``xp.clip`` mean the same in both
libraries; what does not is a method here. The kernels that take the time where there are many rows are below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

# Of NumPy or of PyTorch.
Array: TypeAlias = Any
_Settings = TypeVar("_Settings")


class Arrays:
    """NumPy itself; what is not listed is a function that NumPy and PyTorch call alike."""

    name = "cpu"
    # Rows that are best gone through together: they stay in the processor's cache.
    together = 2048

    def asarray(self, values: Any, dtype: type[np.generic] | None = None) -> Array:
        """An array of this library with these values, of their type or another; no copy where it is one."""
        return np.asarray(values, dtype=dtype)

    def numpy(self, values: Array) -> NDArray[Any]:
        """The same values for NumPy."""
        return np.asarray(values)

    def room(self) -> int:
        """Bytes that may be held on the device; none where that is this computer's own memory."""
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


NUMPY = Arrays()


class TorchArrays(Arrays):
    """PyTorch under NumPy's names, on one device: a GPU, or the CPU, where the tests run; float64 stays float64."""

    together = 2**17

    def __init__(self, device: str) -> None:
        import torch

        self.name, self._torch = device, torch

    def asarray(self, values: Any, dtype: type[np.generic] | None = None) -> Array:
        kind = None if dtype is None else getattr(self._torch, np.dtype(dtype).name)
        if isinstance(values, self._torch.Tensor):
            return values.to(self.name, kind)
        array = np.ascontiguousarray(values)
        if kind is not None and kind.itemsize < array.itemsize:
            array = array.astype(dtype)  # half as much travels
        elif not array.flags.writeable:
            array = array.copy()  # PyTorch warns of rows that lie in a file
        return self._torch.from_numpy(array).to(self.name).to(dtype=kind)

    def numpy(self, values: Array) -> NDArray[Any]:
        return np.asarray(values.cpu().numpy())

    def room(self) -> int:
        """Half of what is free on a GPU, or was and is kept by PyTorch."""
        if self.name != "cuda":
            return 0
        cuda = self._torch.cuda
        return int(cuda.mem_get_info()[0] + cuda.memory_reserved() - cuda.memory_allocated()) // 2

    def filled(self, shape: tuple[int, ...], value: float) -> Array:
        return self._torch.full(shape, value, dtype=self._torch.float64, device=self.name)

    def members(self, codes: Array, classes: int) -> Array:
        return (codes == self._torch.arange(classes, device=self.name)[:, None]).to(self._torch.float64)

    def least(self, values: Array) -> tuple[Array, Array]:
        value, column = values.min(dim=1)
        return value, column

    def least_of_groups(self, values: Array, first: NDArray[np.int64]) -> Array:
        parts = self._torch.tensor_split(values, first[1:].tolist(), dim=1)
        return self._torch.stack([self._torch.amin(part, 1) for part in parts], 1)

    def put_along(self, values: Array, columns: Array, value: float) -> None:
        values.scatter_(1, columns[:, None], value)

    def log_softmax(self, values: Array) -> Array:
        return self._torch.log_softmax(values, dim=1)

    def solved(self, matrix: Array, right: Array) -> Array | None:
        factor, wrong = self._torch.linalg.cholesky_ex(matrix)
        return None if int(wrong) else self._torch.cholesky_solve(right[:, None], factor)[:, 0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)


def moved(settings: _Settings, xp: Arrays) -> _Settings:
    """A dataclass whose arrays, and those of dataclasses in it, are of another library."""
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


class PartsOnDevice:
    """The parts of a matrix on a device, in order and as often as needed.

    ``parts`` gives them anew, ``size`` is the bytes of all of them: more than the device has room for are moved again
    each time.
    """

    def __init__(self, parts: Callable[[], Iterator[NDArray[Any]]], size: int, xp: Arrays) -> None:
        self._parts, self._xp = parts, xp
        self._fits = size <= xp.room()
        self._kept: list[Array] | None = None

    def __iter__(self) -> Iterator[Array]:
        if self._kept is not None:
            yield from self._kept
            return
        kept = []
        for part in self._parts():
            there = self._xp.asarray(part)
            if self._fits:
                kept.append(there)
            yield there
        if self._fits:
            self._kept = kept


def squared_distances(X: Array, Y: Array, xp: Arrays = NUMPY) -> Array:
    """All ‖x_i − y_j‖² by one matrix product; X and Y are centred first for precision."""
    centre = Y.mean(axis=0)
    Y = Y - centre
    return centred_distances(X - centre, Y, xp.einsum("ij,ij->i", Y, Y), xp)


def centred_distances(X: Array, Y: Array, squares: Array, xp: Arrays = NUMPY) -> Array:
    """All ‖x_i − y_j‖² of points around the origin, given ``squares`` = ‖y_j‖²."""
    squared = X @ Y.T
    squared *= -2.0
    squared += xp.einsum("ij,ij->i", X, X)[:, None]
    squared += squares[None, :]
    return xp.clip(squared, 0.0, None, out=squared)


class Nearest(NamedTuple):
    """For every point the target of the least value, that value, and the same of the second best.

    ``elsewhere`` is the least value in another group of targets than that of the best.
    """

    target: Array
    value: Array
    second_target: Array
    second_value: Array
    elsewhere: Array


def nearest(values: Array, groups: NDArray[np.int64], xp: Arrays = NUMPY) -> Nearest:
    """The two least values of each row, a column for each target; the first where several are equal.

    ``groups`` has the place of the first target of each group, of which all stand together. With one target the second
    best is that one again, at an infinite value. The values are overwritten.
    """
    value, target = xp.least(values)
    elsewhere = None
    if len(groups) > 1:
        by_group = xp.least_of_groups(values, groups)
        own_group = xp.asarray(np.searchsorted(groups, np.arange(values.shape[1]), side="right") - 1)[target]
        xp.put_along(by_group, own_group, float("inf"))
        elsewhere = xp.amin(by_group, 1)
    xp.put_along(values, target, float("inf"))
    second_value, second_target = xp.least(values)
    return Nearest(target, value, second_target, second_value, second_value if elsewhere is None else elsewhere)


class ClassSums(NamedTuple):
    """The mean (d,), rows of each class (K,), the sums of their points (K, d) and Σ z·zᵀ over all (d, d) about it."""

    centre: Array
    counts: Array
    sums: Array
    second: Array


def class_sums(points: Array, codes: Array, classes: int, xp: Arrays = NUMPY) -> ClassSums:
    """Moments of points whose classes are numbered from 0; about the mean, so that large numbers do not cancel."""
    width, centre = points.shape[1], points.mean(axis=0)
    counts, sums, second = (xp.filled(shape, 0.0) for shape in ((classes,), (classes, width), (width, width)))
    for start in range(0, len(points), xp.together):
        some = slice(start, start + xp.together)
        centred, members = points[some] - centre, xp.members(codes[some], classes)
        counts += members.sum(axis=1)
        # By a product: what is scattered to its class comes out differently from run to run on a GPU.
        sums += members @ centred
        second += centred.T @ centred
    return ClassSums(centre, counts, sums, second)
