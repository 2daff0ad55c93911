"""`Moved`: a client's rows where a model expects a client with its class shares; the site effect and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Spreads are put right as far as so many rows can tell them, up to this factor; a coordinate that hardly varies is not.
_PSEUDO_ROWS, _MOST_TIMES, _HARDLY = 50.0, 5.0, 0.05


@dataclass(frozen=True, eq=False)
class Moved:
    """x' = (x − own)/times + expected, in standardised coordinates.

    Only the total mean and variance of the client enter, which wrong labels hardly move. ``offset`` is how far away the
    client lies, in standard deviations that the model expects.
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
        times = np.where(variance < _HARDLY, 1.0, times) ** (rows / (rows + _PSEUDO_ROWS))
        return cls(mean, times, expected, (mean - expected) / np.sqrt(wanted))

    def __call__(self, standardised: Floats) -> Floats:
        """Rows, moved."""
        return np.asarray((standardised - self.own) / self.times + self.expected)

    @property
    def shift(self) -> float:
        """Root mean square of the offsets."""
        return float(np.sqrt((self.offset**2).mean()))

    @property
    def log_times(self) -> float:
        """The mean logarithm of the factors."""
        return float(np.log(self.times).mean())
