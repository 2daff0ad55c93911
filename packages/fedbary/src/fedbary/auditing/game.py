"""A game of two worlds: the server asks an owner whose rows are of one of two kinds, and guesses of which.

What the server sees of an owner is a vector of numbers. On the first half of the trials it picks the number, the sign
and the threshold that serve it best; the second half, which chose nothing, counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.finding import PROOF, Rate, least_epsilon, likely_epsilon, threshold_at
from fedbary.auditing.owner import Defence, Owner
from fedbary.data.table import Table

Floats = NDArray[np.float64]
World = Callable[[np.random.Generator], Table]
Probe = Callable[[Owner, np.random.Generator], Floats]

# While choosing, a less strict rate than the one that counts: so few trials say little about 1 %.
_CHOOSING_RATE = 0.05


@dataclass(frozen=True, eq=False)
class Played:
    """What the server saw in each trial: one row per trial, for owners of the first and of the second world."""

    first: Floats
    second: Floats

    @property
    def trials(self) -> int:
        """Trials of each world that count."""
        return len(self.first) - len(self.first) // 2

    @property
    def looked_like(self) -> float:
        """How well the first half of the trials told the worlds apart: for choosing among games, never as a result."""
        return max(_separation(*self._halves(*one)[0]) for one in self._columns())

    def true_positives(self) -> Rate:
        """How often owners of the second world are recognised where one in a hundred of the first is taken for them."""
        column, sign = self._chosen(_separation)
        (chosen_first, _), (first, second) = self._halves(column, sign)
        threshold = threshold_at(chosen_first)
        return Rate.of(int((second > threshold).sum()), self.trials, int((first > threshold).sum()))

    def right_guesses(self) -> Rate:
        """How often the server names the right world; half is chance."""
        column, sign = self._chosen(lambda first, second: _best_cut(first, second)[0])
        halves = self._halves(column, sign)
        threshold = _best_cut(*halves[0])[1]
        first, second = halves[1]
        return Rate.of(int((first <= threshold).sum() + (second > threshold).sum()), 2 * self.trials)

    def epsilon(self) -> Rate:
        """The ε that the trials suggest, and the one that they prove to be exceeded."""
        best = (-1.0, 0, 1.0, 0.0)
        for column, sign in self._columns():
            first, second = self._halves(column, sign)[0]
            for threshold in np.unique(np.quantile(np.append(first, second), np.linspace(0.0, 1.0, 101))):
                caught, wrong = int((second > threshold).sum()), int((first > threshold).sum())
                best = max(best, (least_epsilon(caught, wrong, len(first)), column, sign, float(threshold)))
        _, column, sign, threshold = best
        first, second = self._halves(column, sign)[1]
        counts = int((second > threshold).sum()), int((first > threshold).sum()), self.trials
        return Rate(likely_epsilon(*counts), least_epsilon(*counts), np.inf, least_epsilon(*counts, PROOF))

    def _columns(self) -> list[tuple[int, float]]:
        return list(product(range(self.first.shape[1]), (1.0, -1.0)))

    def _chosen(self, score: Callable[[Floats, Floats], float]) -> tuple[int, float]:
        return max(self._columns(), key=lambda one: score(*self._halves(*one)[0]))

    def _halves(self, column: int, sign: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        half = len(self.first) // 2
        first, second = sign * self.first[:, column], sign * self.second[:, column]
        return (first[:half], second[:half]), (first[half:], second[half:])


def play(
    defence: Defence, first: World, second: World, probe: Probe, *, trials: int, rng: np.random.Generator
) -> Played:
    """Let the server see ``trials`` owners of each world, every one of them fresh, in a random order."""
    seen: tuple[list[Floats], list[Floats]] = ([], [])
    for which in rng.permutation(np.repeat([0, 1], trials)):
        with defence.owner((first, second)[which](rng), rng) as owner:
            seen[which].append(probe(owner, rng))
    return Played(np.array(seen[0]), np.array(seen[1]))


def _separation(first: Floats, second: Floats) -> float:
    """True positives at few false ones; of equals, the better ordered."""
    return float((second > threshold_at(first, _CHOOSING_RATE)).mean()) + 1e-3 * _ordered(first, second)


def _ordered(first: Floats, second: Floats) -> float:
    """How often a score of the second world is the larger one (AUROC), ties counting half."""
    ordered = np.sort(first)
    below = np.searchsorted(ordered, second, "left") + np.searchsorted(ordered, second, "right")
    return float(below.mean() / (2.0 * len(first)))


def _best_cut(first: Floats, second: Floats) -> tuple[float, float]:
    """The best share of right guesses by one threshold, and that threshold."""
    values = np.unique(np.append(first, second))
    cuts = np.append(values[0] - 1.0, (values[1:] + values[:-1]) / 2.0)
    below = np.searchsorted(np.sort(first), cuts, "right") / len(first)
    above = 1.0 - np.searchsorted(np.sort(second), cuts, "right") / len(second)
    place = int(np.argmax(below + above))
    return float((below + above)[place] / 2.0), float(cuts[place])
