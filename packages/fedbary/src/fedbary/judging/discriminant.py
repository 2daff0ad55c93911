"""`Discriminant`: class Gaussians with one covariance, and `Moved`: rows where it expects them; standardised."""

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
# Spreads of a client are put right as far as so many rows can tell them, up to this factor; a coordinate that hardly
# varies is not.
_ROWS_THAT_TELL, _MOST_TIMES, _HARDLY = 50.0, 5.0, 0.05
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


@dataclass(frozen=True, eq=False)
class Moved:
    """A client's rows where a model expects a client with its class shares: x' = (x − own)/times + expected.

    That is the site effect and nothing else, in standardised coordinates. Only the total mean and variance of the
    client enter, which wrong labels hardly move. ``offset`` is how far away the client lies, in standard deviations
    that the model expects.
    """

    own: Floats
    times: Floats
    expected: Floats
    offset: Floats

    @classmethod
    def of(
        cls, mean: Floats, variance: Floats, shares: Floats, rows: float, *, means: Floats, variances: Floats
    ) -> Moved:
        """To where class means (K, d) and variances inside classes (d,) expect a client with these class shares.

        The expected mean is m = Σ_c π_c μ_c, the variance W_jj + Σ_c π_c (μ_cj − m_j)². The logarithm of the ratio of
        spreads is shrunk by n/(n + 50).
        """
        expected = shares @ means
        wanted = np.maximum(variances + shares @ (means - expected) ** 2, _HARDLY)
        times = np.clip(np.sqrt(np.maximum(variance, 1e-9) / wanted), 1.0 / _MOST_TIMES, _MOST_TIMES)
        times = np.where(variance < _HARDLY, 1.0, times) ** (rows / (rows + _ROWS_THAT_TELL))
        return cls(mean, times, expected, (mean - expected) / np.sqrt(wanted))

    def __call__(self, standardised: Floats) -> Floats:
        return np.asarray((standardised - self.own) / self.times + self.expected)

    @property
    def shift(self) -> float:
        """Root mean square of the offsets."""
        return float(np.sqrt((self.offset**2).mean()))

    @property
    def log_times(self) -> float:
        """The mean logarithm of the factors."""
        return float(np.log(self.times).mean())
