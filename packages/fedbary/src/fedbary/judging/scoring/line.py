"""`Line`: what a label that is a number should be, fitted by the server so that clients can doubt labels at home."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of

Floats = NDArray[np.float64]

_FOLDS = 5
_PENALTIES = 10.0 ** np.arange(-3, 4)

# What a message has of it.
LINE = {"line.coefficients": Numbers(("features of rows",)), "line.numbers": Numbers((2,))}


@dataclass(frozen=True, eq=False)
class Line:
    """ŷ = ⟨coefficients, x⟩ + offset, and the spread of clean rows around it."""

    coefficients: Floats
    offset: float
    spread: float

    def predicted(self, values: Floats) -> Floats:
        """The labels that rows of scaled features should have."""
        return np.asarray(values @ self.coefficients + self.offset)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For a message."""
        return {"line.coefficients": self.coefficients, "line.numbers": np.array([self.offset, self.spread])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], width: int) -> Line | None:
        """Read it from a message for rows of ``width`` features; None where there is none."""
        if "line.coefficients" not in arrays:
            return None
        coefficients, numbers = arrays_of(LINE, arrays, {"features of rows": width})
        if numbers[1] <= 0:
            raise ProtocolError("protocols.server-array", name="line.numbers")
        return cls(coefficients, float(numbers[0]), float(numbers[1]))


@dataclass(frozen=True, eq=False)
class FittedLine:
    """The line, and what lines that had not seen a row predict of its label."""

    line: Line
    predicted: Floats


def fit_line(values: Floats, labels: Floats, *, seed: int) -> FittedLine | None:
    """Ridge regression, its penalty by cross-validation; None for fewer rows than folds."""
    rows = len(labels)
    if rows < 2 * _FOLDS:
        return None
    fold = np.random.default_rng(seed).permutation(rows) % _FOLDS
    found = np.zeros((len(_PENALTIES), rows))
    for number in range(_FOLDS):
        out = fold == number
        for place, (slope, offset) in enumerate(_ridge(values[~out], labels[~out])):
            found[place, out] = values[out] @ slope + offset
    best = int(np.argmin(((found - labels) ** 2).mean(axis=1)))
    slope, offset = _ridge(values, labels)[best]
    spread = float(np.sqrt(((found[best] - labels) ** 2).mean()))
    scale = max(float(np.abs(labels).max()), 1.0)
    return FittedLine(Line(slope, offset, max(spread, 1e-9 * scale)), found[best])


def _ridge(values: Floats, labels: Floats) -> list[tuple[Floats, float]]:
    """Slope and offset for each penalty, from one decomposition."""
    middle, level = values.mean(axis=0), float(labels.mean())
    left, sizes, right = np.linalg.svd(values - middle, full_matrices=False)
    turned = left.T @ (labels - level)
    lines = []
    for penalty in _PENALTIES:
        slope = right.T @ (turned * sizes / (sizes**2 + penalty))
        lines.append((np.asarray(slope), level - float(middle @ slope)))
    return lines
