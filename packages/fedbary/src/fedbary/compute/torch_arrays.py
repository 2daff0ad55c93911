"""PyTorch under NumPy's names, on one device: a GPU, or the CPU, where the tests run."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fedbary.compute.arrays import Array

_TYPES: dict[Any, torch.dtype] = {
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float64): torch.float64,
    np.dtype(np.int64): torch.int64,
    np.dtype(np.bool_): torch.bool,
}


class TorchArrays:
    """Arrays on one device of PyTorch; float64 stays float64."""

    together = 2**17

    def __init__(self, device: str) -> None:
        self.name = device

    def asarray(self, values: Any, dtype: type[np.generic] | None = None) -> Array:
        """A tensor with these values on the device."""
        kind = None if dtype is None else _TYPES[np.dtype(dtype)]
        if isinstance(values, torch.Tensor):
            return values.to(self.name, kind)
        array = np.ascontiguousarray(values)
        if kind is not None and kind.itemsize < array.itemsize:
            array = array.astype(dtype)  # half as much travels
        elif not array.flags.writeable:
            array = array.copy()  # PyTorch warns of rows that lie in a file
        return torch.from_numpy(array).to(self.name).to(dtype=kind)

    def numpy(self, values: Array) -> NDArray[Any]:
        """The values on this side."""
        return np.asarray(values.cpu().numpy())

    def room(self) -> int:
        """Half of what is free on a GPU, or was and is kept by PyTorch."""
        if self.name != "cuda":
            return 0
        kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        return (int(torch.cuda.mem_get_info()[0]) + kept) // 2

    def filled(self, shape: tuple[int, ...], value: float) -> Array:
        """Doubles, all alike."""
        return torch.full(shape, value, dtype=torch.float64, device=self.name)

    def members(self, codes: Array, classes: int) -> Array:
        """Doubles, a row for each class: one in the columns that have its code, zero elsewhere."""
        return (codes == torch.arange(classes, device=self.name)[:, None]).to(torch.float64)

    def least(self, values: Array) -> tuple[Array, Array]:
        """The least value of each row, and its column; the first one where several are equal."""
        value, column = values.min(dim=1)
        return value, column

    def least_of_groups(self, values: Array, first: NDArray[np.int64]) -> Array:
        """The least value of each row in each group of columns, by the place of the group's first one."""
        return torch.stack([torch.amin(part, 1) for part in torch.tensor_split(values, first[1:].tolist(), dim=1)], 1)

    def put_along(self, values: Array, columns: Array, value: float) -> None:
        """Write a value into one column of each row."""
        values.scatter_(1, columns[:, None], value)

    def log_sum_exp(self, values: Array) -> Array:
        """Log Σ_j exp(x_ij), row by row."""
        return torch.logsumexp(values, dim=1)

    def log_softmax(self, values: Array) -> Array:
        """x_ij − log Σ_k exp(x_ik), row by row."""
        return torch.log_softmax(values, dim=1)

    def solved(self, matrix: Array, right: Array) -> Array | None:
        """The x of a positive definite system; None where the matrix is none."""
        factor, wrong = torch.linalg.cholesky_ex(matrix)
        return None if int(wrong) else torch.cholesky_solve(right[:, None], factor)[:, 0]

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)
