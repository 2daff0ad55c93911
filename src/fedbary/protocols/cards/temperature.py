"""One temperature for everybody's model, told by the cards alone.

A discriminant that was fitted on few rows is too sure of itself. How much, its class means and covariance do not tell,
but another client's card does: along the line between two classes its means are β times as far apart as the model
says, and its rows scatter v times as much, so that the model's log-odds are right when they are multiplied by β/v. A
temperature for each client would hide one whose labels are random, so the median of all counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.data.table import Table
from fedbary.protocols.cards.class_moments import ClassMoments
from fedbary.protocols.cards.model import SHRINKAGE, Discriminant
from fedbary.protocols.messages import below
from fedbary.space.encode import encode
from fedbary.space.labels import class_names, class_positions
from fedbary.space.points import place
from fedbary.space.schema import Schema
from fedbary.transport.cost import cost_matrix
from fedbary.valuation.bad_rows import label_noise
from fedbary.valuation.scoring import ScoringModel

Floats = NDArray[np.float64]

# Where cards do not tell, clients look among these for the one at which their labels are likeliest.
GRID = np.round(np.geomspace(0.01, 2.0, 24), 6)
_LEAST, _MOST = 0.01, 5.0


def slope_and_spread(own: ClassMoments, found: Discriminant) -> tuple[float, float]:
    """β and v of one client's card along the differences of a model's class means; NaN where nothing can be said."""
    held = (own.counts >= max(2.0, 2.0 * np.sqrt(own.noise.count))) & (found.counts > 0)
    if held.sum() < 2 or not own.full:
        return np.nan, np.nan
    metric = found.metric
    share = np.where(held, own.counts, 0.0) / own.counts[held].sum()
    model = metric.whiten(found.means, SHRINKAGE)
    means = metric.whiten(own.means, SHRINKAGE)
    apart, ours = model - share @ model, means - share @ means
    size = float(share @ (apart**2).sum(axis=1))
    if not size > 0.0:
        return np.nan, np.nan
    root = metric.directions / np.sqrt((1.0 - SHRINKAGE) * metric.variances + SHRINKAGE * metric.level)
    lines = apart @ root.T
    scatter = ((lines @ own.within()) * lines).sum(axis=1) / max(own.rows - held.sum(), 1.0)
    return float(share @ (ours * apart).sum(axis=1)) / size, float(share @ scatter) / size


def common_temperature(pairs: Iterable[tuple[float, float]]) -> float | None:
    """The median of β/v; None where no card tells."""
    told = [slope / spread for slope, spread in pairs if np.isfinite(slope) and spread > 0.0 and slope > 0.0]
    return float(np.clip(np.median(told), _LEAST, _MOST)) if told else None


def likeliest_temperature(log_odds: Floats, log_prior: Floats, codes: NDArray[np.int64]) -> float:
    """The temperature of `GRID` at which labels are likeliest, given that some were replaced at random.

    ``log_odds`` are −½‖x − μ_c‖².
    """
    best, found, rows = -np.inf, 1.0, np.arange(len(codes))
    for temperature in GRID:
        right = np.exp(log_softmax(temperature * log_odds + log_prior, axis=1)[rows, codes])
        share = label_noise(right, log_odds.shape[1]).share
        likely = (1.0 - share) * right + share * (1.0 - right) / max(log_odds.shape[1] - 1, 1)
        fit = float(np.log(np.maximum(likely, 1e-300)).mean())
        if fit > best:
            best, found = fit, float(temperature)
    return found


def own_temperature(table: Table, schema: Schema, arrays: Mapping[str, np.ndarray]) -> float:
    """What a client would choose for a received model, by its own labels: one of `GRID`."""
    model = ScoringModel.from_arrays(below(arrays, "model."))
    values = place(encode(table, schema), schema)
    costs = cost_matrix(model.metric.whiten(values, model.shrinkage), model.centroids.points, 2)
    codes = class_positions(class_names(table.labels), model.classes)
    known = codes >= 0
    if not known.any():
        return 1.0
    counts = np.bincount(codes[known], minlength=len(model.classes)) + 1.0
    return likeliest_temperature(-costs[known] / 2.0, np.log(counts / counts.sum()), codes[known])
