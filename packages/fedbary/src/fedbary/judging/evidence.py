"""What leaves a client about its rows: counts of surprises on a public grid, and likelihoods of shares of wrong labels.

With `Groups` no fewer different rows than one of them decide any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Shares of wrong labels at which a client's likelihood is told.
SHARES: Floats = np.concatenate([np.linspace(0.0, 0.1, 41), np.linspace(0.11, 0.97, 44)])
# Cells of −log v, and of the features' surprise in the same steps.
STEP, CELLS = 0.2, 60
EDGES: Floats = np.linspace(0.0, STEP * CELLS, CELLS + 1)
# Rows whose likelihoods are computed at once.
_BLOCK = 16_384
# Fisher's information of a row about the share of wrong labels, below which a guarded likelihood says nothing.
_LEAST_INFORMATION = 0.8
# Log-odds of labels in a guarded likelihood, at most; the grid of counts goes down from here.
_MOST_ODDS = 4.0
# Stands for a number that is not known where arrays must be finite.
UNKNOWN = -999.0
# What a reply has of evidence.
EVIDENCE = {
    "likelihood": Numbers((len(SHARES),), -1e12, 0.0),
    "labels": Numbers((CELLS,), 0.0, 1e9),
    "features": Numbers((CELLS,), 0.0, 1e9),
    "scatter": Numbers(("scattering classes",), -1e3, 1e3),
    "seen": Numbers((1,), 0.0, 1.0),
}
_SOME_CLASSES = {"scattering classes": range(1, 2**20)}


@dataclass(frozen=True, eq=False)
class Groups:
    """Which rows are copies of each other (the same number), and how many different ones a group has at least.

    A server that chose the model and the clean rows chose, too, at which score a row counts. A count that is larger by
    something that the server knows passes any rounding, so it is not the estimate that must be large, but the group of
    rows behind it.
    """

    copies: Integers
    least: int

    def among(self, rows: Bools) -> Groups:
        return Groups(self.copies[rows], self.least)

    def first(self) -> Bools:
        """The first of the rows that are copies of each other."""
        found = np.zeros(len(self.copies), dtype=bool)
        found[np.unique(self.copies, return_index=True)[1]] = True
        return found


def cells_of(surprise: Floats) -> Integers:
    """The cell of each surprise; what is beyond the grid is in its last one."""
    return np.clip(np.floor(surprise / STEP + 1e-9), 0, CELLS - 1).astype(np.int64)


def counted(surprise: Floats, *, groups: Groups | None = None) -> Floats:
    """How many surprises lie in each cell; with ``groups``, no cell but an empty one holds fewer different rows.

    Cells of fewer are merged downwards, so that nobody looks more surprising, and what is left in the lowest upwards.
    """
    cells = cells_of(surprise)
    found = np.bincount(cells, minlength=CELLS).astype(float)
    if groups is None:
        return found
    different = np.bincount(cells[groups.first()], minlength=CELLS)
    for cell in range(CELLS - 1, 0, -1):
        if different[cell] < groups.least:
            found[cell - 1] += found[cell]
            different[cell - 1] += different[cell]
            found[cell] = different[cell] = 0
    if found[0] and different[0] < groups.least and found[1:].any():
        found[1 + int(np.flatnonzero(found[1:])[0])] += found[0]
        found[0] = 0.0
    return found


def tail(null: Floats) -> Floats:
    """P-value (1 + Σ count)/(1 + Σ n) of each cell, by counts of rows that are mostly clean."""
    return np.asarray((1.0 + np.cumsum(null[::-1])[::-1]) / (1.0 + null.sum()))


def smooth_surprise(surprise: Floats, null: Floats) -> Floats:
    """−log of the share of null rows that surprise as much: between edges interpolated, beyond the last on and on.

    Unlike p-values it tells any two rows apart, so that rows are ranked by it.
    """
    last = int(np.flatnonzero(null)[-1]) + 1 if null.any() else 0
    edges = EDGES[: last + 1]
    known = -np.log(np.append(tail(null)[:last], 1.0 / (1.0 + null.sum()))[: last + 1])
    inside = np.interp(surprise, edges, known)
    return np.asarray(inside + np.maximum(surprise - edges[-1], 0.0))


def share_likelihood(right: Floats, wrong: Floats) -> Floats:
    """Log-likelihood of each of `SHARES`, Σ_i log[(1 − e)·right_i + e·wrong_i], less the highest."""
    found = np.zeros(len(SHARES))
    for start in range(0, len(right), _BLOCK):
        p, u = right[start : start + _BLOCK], wrong[start : start + _BLOCK]
        found += np.log(p + SHARES[:, None] * (u - p)).sum(axis=1)
    return np.asarray(found - found.max())


def shared_odds(right: Floats, wrong: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """Labels' odds on a public grid, none of fewer different rows than a group; of a likelihood only odds matter.

    A mean of a few rows would tell of one among them wherever a server's model makes the others alike.
    """
    counts = counted(_MOST_ODDS - np.log(right / wrong), groups=groups)
    odds = np.exp(_MOST_ODDS - EDGES[:-1] - 0.5 * STEP)
    return np.repeat(odds, counts.astype(np.int64)), np.ones(len(right))


def one_row_decides(right: Floats, wrong: Floats, least: int, classes: int = 2) -> bool:
    """Whether one row can move the likeliest share as much as a group should: the model says nothing of most others.

    Near the likeliest share a row moves it by its score over Fisher's information. A row that is plainly wrong among
    plainly right ones moves it by 1/n; where most rows are as likely right as wrong, a single one decides. So a row
    must tell as much as one of a model that is right two times in three.
    """
    rows = len(right)
    if rows < 2 * least:
        return True
    share = float(np.clip(SHARES[share_likelihood(right, wrong).argmax()], least / rows, 1.0 - 1e-9))
    scores = (wrong - right) / np.maximum((1.0 - share) * right + share * wrong, 1e-300)
    information = float((scores**2).mean())
    # Of a label that is right for sure a row tells (1 − 1/K)² at most.
    enough = _LEAST_INFORMATION * (1.0 - 1.0 / max(classes, 2)) ** 2
    return information < enough or float(np.abs(scores).max()) >= max(least, np.sqrt(rows)) * information


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a client tells of its rows by common weights.

    Attributes
    ----------
    likelihood : array
        Of each share of wrong labels, see `SHARES`.
    seen : float
        The chance that a wrong label is not the one that a row has anyway.
    labels, features : arrays
        Counts of how surprising labels and features are.
    scatter : array
        Of each class the log of the usual squared distance of its rows from where they should lie, NaN for few rows;
        and at the end of all rows.
    """

    likelihood: Floats
    seen: float
    labels: Floats
    features: Floats
    scatter: Floats = field(default_factory=lambda: np.zeros(0))

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {
            "likelihood": self.likelihood,
            "labels": self.labels,
            "features": self.features,
            "scatter": np.nan_to_num(self.scatter, nan=UNKNOWN),
            "seen": np.array([self.seen]),
        }

    def among(self, places: Integers, classes: int) -> Evidence:
        """The same for classes of which these places are the evidence's own."""
        if len(self.scatter) != len(places) + 1:
            raise ProtocolError("protocols.server-array", name="scatter")
        scatter = np.full(classes + 1, np.nan)
        scatter[places], scatter[-1] = self.scatter[:-1], self.scatter[-1]
        return replace(self, scatter=scatter)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Evidence:
        """What `to_arrays` gave, as another party sent it."""
        likelihood, labels, features, scatter, seen = arrays_of(EVIDENCE, arrays, _SOME_CLASSES)
        return cls(likelihood, float(seen[0]), labels, features, np.where(scatter <= UNKNOWN, np.nan, scatter))
