"""One temperature for everybody's model.

A discriminant that was fitted on few rows is too sure of itself. How much, clean rows tell; where there are none, each
client's labels do, given that some of them are wrong. A temperature for each client would hide one whose labels are
random, so the median of all counts.

Where clients are not asked, the cards give a first guess: along the line between two classes a client's means are β
times as far apart as the model says, and its rows scatter v times as much, so that for Gaussian rows the model's
log-odds are right when they are multiplied by β/v. Rows of real tables are not Gaussian: their labels ask for .4 to 1.4
times that (docs/decisions/036-one-temperature.md), and clients look for better at home, not far from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.protocols.cards.class_moments import ClassMoments
from fedbary.protocols.cards.model import SHRINKAGE, Discriminant
from fedbary.protocols.cards.row_scores import SeenRows
from fedbary.protocols.sketch.scoring import Judged
from fedbary.space.points import cells_of_a_row
from fedbary.space.schema import Schema
from fedbary.valuation.bad_rows import label_noise, noise_shares
from fedbary.valuation.groups import Groups

Floats = NDArray[np.float64]

# Where cards do not tell, clients look among these for the one at which their labels are likeliest.
GRID = np.round(np.geomspace(0.01, 4.0, 26), 6)
_LEAST, _MOST = 0.01, 5.0
# Of what Gaussian rows would ask for; at home clients look between a half and twice of the guess.
_NOT_GAUSSIAN, NEAR = 0.75, 2.0
# Where cards tell nothing, columns count as if they came in √d groups alike. Clients look further then, but not
# anywhere: at a temperature near 0 any labels are likely, and wrong ones would not be seen.
FAR = 4.0
_STEPS = 13
# Rows, each at one temperature, that are looked at together.
_AT_ONCE = 2**12
# Rows of a client that decide.
_MOST_ROWS = 65_536
# Of the log-likelihood per row, what rounding may make of nothing.
_FLAT = 1e-9


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


def guessed_temperature(pairs: Iterable[tuple[float, float]]) -> float | None:
    """A first guess by the median of β/v; None where no card tells."""
    told = [slope / spread for slope, spread in pairs if np.isfinite(slope) and spread > 0.0 and slope > 0.0]
    return float(np.clip(_NOT_GAUSSIAN * np.median(told), _LEAST, _MOST)) if told else None


def likeliest_temperature(log_odds: Floats, log_prior: Floats, codes: NDArray[np.int64], grid: Floats = GRID) -> float:
    """The temperature of a grid at which labels are likeliest, given that some were replaced at random.

    ``log_odds`` are −½‖x − μ_c‖², or what differs from that by the same number for all classes.
    """
    rows, classes, fits = np.arange(len(codes)), log_odds.shape[1], list[Floats]()
    for some in np.array_split(grid, min(len(grid), 1 + len(grid) * len(codes) // _AT_ONCE)):
        logs = log_softmax(some[:, None, None] * log_odds + log_prior, axis=2)
        right = np.exp(logs[:, rows, codes])
        share = noise_shares(right, classes)[:, None]
        likely = (1.0 - share) * right + share * (1.0 - right) / max(classes - 1, 1)
        fits.append(np.log(np.maximum(likely, 1e-300)).mean(axis=1))
    found = np.nan_to_num(np.concatenate(fits), nan=-np.inf)
    best = int(np.argmax(found))
    return float(grid[best]) if np.isfinite(found[best]) else 1.0


def shared_temperature(
    log_odds: Floats, log_prior: Floats, codes: NDArray[np.int64], grid: Floats, *, least: int
) -> float:
    """A likely temperature that no fewer than ``least`` rows decide: the model is the server's choice.

    A server could choose one in which all rows but one are equally likely at every temperature, and read the label of
    that one. So a warmer one is taken only if labels are likelier with the ``least`` − 1 rows left out that gain most.
    """
    rows, others = np.arange(len(codes)), max(log_odds.shape[1] - 1, 1)
    if len(rows) < 2 * least:
        return float(grid[0])

    def right(temperature: float) -> Floats:
        return np.asarray(np.exp(log_softmax(temperature * log_odds + log_prior, axis=1)[rows, codes]))

    found, here = float(grid[0]), right(float(grid[0]))
    for temperature in grid[1:]:
        there = right(float(temperature))
        share = label_noise(there, log_odds.shape[1]).share
        logs = [np.log(np.maximum((1.0 - share) * p + share * (1.0 - p) / others, 1e-300)) for p in (here, there)]
        gains = np.partition(logs[1] - logs[0], len(rows) - least)[: len(rows) - least + 1]
        if float(gains.sum()) > _FLAT * len(rows):
            found, here = float(temperature), there
    return found


def refined(
    arrays: Mapping[str, np.ndarray], seen: SeenRows, schema: Schema, reach: float, *, groups: Groups | None = None
) -> dict[str, np.ndarray]:
    """A received model at the temperature that suits the client's labels best, up to ``reach`` times another."""
    sent = _temperature(seen.judged)
    if not sent > 0.0:
        return dict(arrays)
    grid = sent * np.geomspace(1.0 / reach, reach, _STEPS if reach <= NEAR else len(GRID))
    best = own_temperature(seen, schema, grid, groups=groups)
    return {**arrays, **{key: arrays[key] * (best / sent) for key in ("model.scales", "model.biases")}}


def own_temperature(seen: SeenRows, schema: Schema, grid: Floats = GRID, *, groups: Groups | None = None) -> float:
    """What a client would choose for a model that has looked at its rows; with ``groups``, by different rows.

    Of very many rows so many tell it that more would choose the same.
    """
    codes = seen.judged.rows.codes
    known = codes >= 0
    if groups is not None:
        known &= groups.first()
    rows = np.flatnonzero(known)
    if not len(rows) or not _temperature(seen.judged) > 0.0:
        return 1.0
    rows = rows[:: -(-len(rows) // _MOST_ROWS)]
    counts = np.bincount(codes[rows], minlength=len(seen.judged.model.classes)) + 1.0
    odds, log_prior = _log_odds(seen, schema, rows), np.log(counts / counts.sum())
    if groups is not None:
        return shared_temperature(odds, log_prior, codes[rows], grid, least=groups.least)
    return likeliest_temperature(odds, log_prior, codes[rows], grid)


def _temperature(judged: Judged) -> float:
    """The temperature of a received model."""
    return 2.0 * float(judged.model.scales.ravel()[0])


def _log_odds(seen: SeenRows, schema: Schema, rows: NDArray[np.int64]) -> Floats:
    """−½‖x − μ_c‖² of some rows up to a number for each row, read off what the model says of them.

    Of a row without any cell it says the prior alone.
    """
    model = seen.judged.model
    logs = np.empty((len(rows), len(model.classes)))
    for place, part in seen.judged.rows.log_probabilities.placed():
        first, last = np.searchsorted(rows, (place.start, place.stop))
        logs[first:last] = part[rows[first:last] - place.start]
    told = 1.0 - seen.cells.missing[rows] / cells_of_a_row(schema)
    return np.asarray((logs - model.log_prior) / (_temperature(seen.judged) * np.where(told > 0.0, told, 1.0))[:, None])
