"""`History`: the marginal contributions met so far, and what they say about the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class History:
    """What a run over permutations has seen.

    Attributes
    ----------
    marginals : (permutations, N) array
        Marginal contribution of each player in each permutation.
    total : float
        v(N) − v(∅).
    sweep : int
        Number of permutations that were drawn together and are not independent: N if guided, otherwise 1.
    """

    marginals: Floats
    total: float
    sweep: int = 1

    @property
    def permutations(self) -> int:
        """Number of permutations so far."""
        return len(self.marginals)

    @property
    def means(self) -> Floats:
        """The estimate so far; NaN before the first permutation."""
        return self.running_means(1)[0] if self.permutations else np.full(self.marginals.shape[1], np.nan)

    def running_means(self, last: int) -> Floats:
        """Return the estimates after each of the ``last`` permutations, the newest at the end."""
        first = max(0, self.permutations - last)
        sums = self.marginals[:first].sum(axis=0) + np.cumsum(self.marginals[first:], axis=0)
        return np.asarray(sums / np.arange(first + 1, self.permutations + 1)[:, None])

    @property
    def standard_errors(self) -> Floats:
        """Sample standard deviation / √count, NaN for fewer than two.

        The units are the means of whole sweeps as soon as there are two. Before, they are permutations: those of a
        guided sweep differ more among themselves than independent ones, so this errs on the large side.
        """
        sweeps = self.permutations // self.sweep
        units = self.marginals
        if self.sweep > 1 and sweeps >= 2:
            units = units[: sweeps * self.sweep].reshape(sweeps, self.sweep, -1).mean(axis=1)
        if len(units) < 2:
            return np.full(self.marginals.shape[1], np.nan)
        return np.asarray(units.std(axis=0, ddof=1) / np.sqrt(len(units)))

    def extended(self, marginals: Floats) -> History:
        """Return the history with more permutations at its end."""
        return History(np.concatenate([self.marginals, marginals]), self.total, self.sweep)
