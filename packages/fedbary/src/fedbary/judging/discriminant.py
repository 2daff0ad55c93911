"""`Discriminant`: class Gaussians with one covariance, in standardised coordinates; what all judging stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of

Floats = NDArray[np.float64]

# Rows of the grand mean that each class mean is shrunk by.
_PSEUDO_ROWS = 3.0
# Variances inside classes, of coordinates that have variance 1 altogether, are not believed to be smaller; and this
# much of their mean is added, so that no direction is without any.
_LEAST_VARIANCE, _RIDGE = 0.05, 1e-3
# Coordinates with a smaller spread than this part of the largest do not vary.
_CONSTANT = 1e-6
# What a message has of it.
DISCRIMINANT = {
    "centre": Numbers(("width of rows",)),
    "scale": Numbers(("width of rows",), 1e-100),
    "counts": Numbers(("judged classes",), 0.0),
    "means": Numbers(("judged classes", "width of rows")),
    "covariance": Numbers(("width of rows", "width of rows")),
}


@dataclass(frozen=True, eq=False)
class Discriminant:
    """Rows behind each class (K,), class means (K, d) and the covariance inside classes (d, d).

    All of them are of standardised coordinates (x − centre)/scale, the same for all clients of a run.
    """

    centre: Floats
    scale: Floats
    counts: Floats
    means: Floats
    covariance: Floats

    @classmethod
    def of(cls, counts: Floats, sums: Floats, second: Floats, centre: Floats, scale: Floats) -> Discriminant:
        """Of class moments about the origin; means shrunk to the grand mean, the covariance to its diagonal."""
        rows = float(counts.sum())
        sums = (sums - counts[:, None] * centre) / scale
        total = sums.sum(axis=0)
        # Second moments move along with their centre: Σ(x − a)(x − a)ᵀ = Σxxᵀ − a·sᵀ − s·aᵀ − n·aaᵀ, s about a.
        moved = np.outer(centre, total * scale)
        full = second if second.ndim == 2 else np.diag(second)
        full = (full - moved - moved.T - rows * np.outer(centre, centre)) / np.outer(scale, scale)
        means = (sums + _PSEUDO_ROWS * total / max(rows, 1e-12)) / (counts + _PSEUDO_ROWS)[:, None]
        raw = sums / np.sqrt(np.maximum(counts, 1e-12))[:, None]
        freedom = max(rows - int((counts > 0).sum()), 1.0)
        within = (full - raw.T @ raw) / freedom
        if second.ndim == 1:
            within = np.diag(np.diag(within))
        return cls(centre, scale, counts, means, steadied(within, freedom))

    @property
    def variances(self) -> Floats:
        """Variances inside classes."""
        return np.diag(self.covariance).copy()

    @cached_property
    def root(self) -> Floats:
        """L⁻ᵀ of the covariance's Cholesky decomposition: rows times it are white inside classes."""
        from scipy.linalg import solve_triangular

        lower = np.linalg.cholesky(self.covariance)
        return np.asarray(solve_triangular(lower, np.eye(len(lower)), lower=True).T)

    def first(self, width: int) -> Discriminant:
        """Of the first coordinates alone."""
        if width == len(self.centre):
            return self
        inside = self.covariance[:width, :width]
        return Discriminant(self.centre[:width], self.scale[:width], self.counts, self.means[:, :width], inside)

    def standardised(self, values: Floats) -> Floats:
        """Rows in the discriminant's coordinates."""
        return np.asarray((values - self.centre) / self.scale)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For a message."""
        return {name: getattr(self, name) for name in DISCRIMINANT}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], *, width: int, classes: int) -> Discriminant:
        """Read it from a message; refuses what no honest server sends."""
        sizes = {"width of rows": width, "judged classes": classes}
        found = cls(*arrays_of(DISCRIMINANT, arrays, sizes))
        if not np.allclose(found.covariance, found.covariance.T):
            raise ProtocolError("protocols.server-array", name="others.covariance")
        try:
            finite = np.isfinite(found.root).all()
        except np.linalg.LinAlgError as error:
            raise ProtocolError("protocols.server-array", name="others.covariance") from error
        if not finite:
            raise ProtocolError("protocols.server-array", name="others.covariance")
        return found


def steadied(within: Floats, freedom: float) -> Floats:
    """A covariance of few rows: shrunk to its diagonal, the more the fewer rows there are, and never too small."""
    width = len(within)
    shrink = min(0.9, width / (width + freedom))
    diagonal = np.maximum(np.diag(within), _LEAST_VARIANCE)
    steady = (1.0 - shrink) * within
    steady[np.diag_indices(width)] = diagonal
    steady[np.diag_indices(width)] += _RIDGE * float(diagonal.mean())
    try:
        np.linalg.cholesky(steady)
    except np.linalg.LinAlgError:  # moments of several cards, some with products and some without
        least = float(np.linalg.eigvalsh(steady)[0])
        steady[np.diag_indices(width)] += _RIDGE * float(diagonal.mean()) - least
    return np.asarray(steady)


def standardising(rows: float, total: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Centre and scale of coordinates by the sums of all rows; those that do not vary keep their unit."""
    centre = total / max(rows, 1e-12)
    spread = np.sqrt(np.maximum(squares / max(rows, 1e-12) - centre**2, 0.0))
    return centre, np.where(spread > _CONSTANT * max(float(spread.max(initial=0.0)), 1e-300), spread, 1.0)
