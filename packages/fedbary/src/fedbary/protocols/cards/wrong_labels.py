"""Wrong-label shares that the cards themselves tell, compared with the other clients.

Where labels were replaced at random, the rows with a label are a mixture of all classes, and so is their mean. The
share ρ at which a client's class means fit mixtures of the others' class means best is told without a single row. But
the others' labels are not clean either: what they have in common cannot be seen, so shares are relative to the cleaner
ones among the clients.

What a client says of its rows cannot undo what its card says of them. The share at which a card fits best is read off
with an interval, of the card centred and scaled as the others', so that a site effect is no wrong label. A claim below
the interval is not believed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.discriminant import Discriminant
from fedbary.judging.federation import Estimate
from fedbary.protocols.cards.class_moments import EXACT, ClassMoments

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Where ρ is looked for: below 0 lies a client whose labels are cleaner than the others'.
GRID = np.linspace(-0.6, 0.98, 80)
# A class of the others with fewer rows says nothing.
LEAST_ROWS = 5.0
# Shares are relative to this quantile of how right the clients' labels are.
CLEANER = 0.75
# Standard errors to both sides, and what clients differ in besides their labels (`fedbary reproduce cards`).
Z, DIFFERENCES = 2.0, 0.04
LEAST_RIGHT = 0.05

# A claim is disputed where even its upper end lies so far below the card's interval: smaller gaps change no verdict.
_MATTERS = 0.05
# Whoever admits this share has said enough to be left out, however many more there are.
_ADMITTED = 0.3


def relative_shares(
    parts: Mapping[str, ClassMoments], models: Mapping[str, Discriminant], believed: Collection[str]
) -> dict[str, Estimate]:
    """The share of wrong labels by a card and the model of the others, of those who have a model and tell one.

    Only cards that are ``believed`` say how right labels are: two that claim too much would make all others look wrong.
    """
    mixed = {name: _mixed_share(parts[name], model) for name, model in models.items()}
    told = {name: one for name, one in mixed.items() if one is not None}
    if not told:
        return {}
    heard = [name for name in told if name in believed] or list(told)
    cleanest = max(float(np.quantile([1.0 - told[name][0] for name in heard], CLEANER)), LEAST_RIGHT)
    estimates = {}
    for name, (found, deviation) in told.items():
        share = float(np.clip(1.0 - (1.0 - found) / cleanest, 0.0, 1.0))
        error = Z * float(np.hypot(deviation / cleanest, DIFFERENCES))
        estimates[name] = Estimate(share, max(0.0, share - error), min(1.0, share + error))
    return estimates


def _mixed_share(part: ClassMoments, model: Discriminant) -> tuple[float, float] | None:
    """Ρ and its standard error, by least squares over class means in the model's metric."""
    counts = np.maximum(part.counts, 0.0)
    known = model.counts >= LEAST_ROWS
    held = known & (counts > np.sqrt(part.noise.count)) & (counts >= 1.0)
    if held.sum() < 2:
        return None
    means = model.means @ model.root
    own = model.standardised(part.means) @ model.root
    noise = float(((model.root**2).sum(axis=1) / model.scale**2).mean()) * part.noise.sum
    blur = noise / np.maximum(counts, 1.0)
    precise = np.where(held, 1.0 / ((1.0 + blur) / np.maximum(counts, 1.0) + 1.0 / np.maximum(model.counts, 1.0)), 0.0)
    shares = np.where(known, counts, 0.0) / counts[known].sum()
    costs = _costs(own, means, precise, shares, known)
    at = int(np.clip(np.argmin(costs), 1, len(GRID) - 2))
    step = GRID[1] - GRID[0]
    curvature = max(float(costs[at - 1] - 2.0 * costs[at] + costs[at + 1]) / step**2, 1e-9)
    share = GRID[at] - float(costs[at + 1] - costs[at - 1]) / (2.0 * step) / curvature
    error = np.sqrt(2.0 / curvature)
    if part.noise != EXACT:
        # Costs bend most near the ends, where noise may have brought a client: as usual in the middle, at least.
        error = max(error, 1.0 / np.sqrt(precise @ ((means - shares @ means) ** 2).sum(axis=1)))
    return float(np.clip(share, GRID[0], 1.0)), float(min(error, 1.0))


def _costs(
    own: Floats, means: Floats, precise: Floats, shares: Floats, known: Bools, *, about: Floats | None = None
) -> Floats:
    """How far class means lie from the mixtures of every share; ``about`` their mean by these weights, if there are."""
    costs = np.zeros(len(GRID))
    for place, share in enumerate(GRID):
        away = own - mixture(share, shares, known) @ means
        if about is not None:
            away -= about @ away
        costs[place] = float(precise @ (away**2).sum(axis=1))
    return costs


def mixture(share: float, shares: Floats, known: NDArray[np.bool_]) -> Floats:
    """Of which classes the rows with each label are, if this share of labels was replaced by another at random."""
    others = max(int(known.sum()) - 1, 1)
    right = 1.0 - share - share / others
    # Class shares of the true labels, of which those of the given labels are made.
    true = np.where(known, shares - share / others, 0.0) / (right if abs(right) > 1e-6 else 1e-6)
    true = np.maximum(true, 0.0)
    true = true / max(float(true.sum()), 1e-12)
    mixture = np.tile(share / others * true, (len(true), 1))
    np.fill_diagonal(mixture, (1.0 - share) * true)
    total = mixture.sum(axis=1)
    usable = np.abs(total) > 1e-9
    mixture[usable] /= total[usable, None]
    mixture[~usable] = np.eye(len(true))[~usable]
    return mixture


def contradicted(claims: Mapping[str, Estimate], cards: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """What the cards say of the clients whose claimed shares of wrong labels lie below that for sure."""
    return {
        name: cards[name]
        for name, claim in claims.items()
        if name in cards and claim.high + _MATTERS < min(cards[name].low, _ADMITTED)
    }


def shares_of_cards(
    parts: Mapping[str, ClassMoments],
    models: Mapping[str, Discriminant],
    times: Mapping[str, Floats],
    believed: Collection[str],
) -> dict[str, Estimate]:
    """The share of wrong labels of each card beyond the cleaner ones', without those of which too little is known.

    ``models`` are of the others, ``times`` how many times as much each client's coordinates spread as these expect.
    Only ``believed`` cards say how clean labels can be, and none is cleaner than the model of its others: few rows
    of a class may look so.
    """
    found = {name: _mixed(parts[name], model, times[name]) for name, model in models.items()}
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return {}
    right = [1.0 - one.share for name, one in known.items() if name in believed]
    cleanest = float(np.clip(np.quantile(right or [1.0], CLEANER), LEAST_RIGHT, 1.0))
    shares = {}
    for name, one in known.items():
        share, low, high = (1.0 - (1.0 - end) / cleanest for end in (one.share, one.low, one.high))
        share = float(np.clip(share, 0.0, 1.0))
        below, above = (float(np.hypot(max(gap, 0.0), Z * DIFFERENCES)) for gap in (share - low, high - share))
        shares[name] = Estimate(share, max(0.0, share - below), min(1.0, share + above))
    return shares


def _mixed(part: ClassMoments, model: Discriminant, times: Floats) -> Estimate | None:
    """The share at which class means fit best, and between which they fit nearly as well.

    By least squares over class means about their mean, in the model's metric. Where the best fit is worse than chance
    explains, all fits count for less. None with fewer than two classes that the model knows.
    """
    counts = np.maximum(part.counts, 0.0)
    known = model.counts >= LEAST_ROWS
    held = known & (counts >= 1.0)
    if held.sum() < 2:
        return None
    means, own = model.means @ model.root, (model.standardised(part.means) / times) @ model.root
    precise = np.where(held, 1.0 / (1.0 / np.maximum(counts, 1.0) + 1.0 / np.maximum(model.counts, 1.0)), 0.0)
    shares = np.where(known, counts, 0.0) / counts[known].sum()
    costs = _costs(own, means, precise, shares, known, about=np.where(held, shares, 0.0))
    best = int(costs.argmin())
    chance = means.shape[1] * (held.sum() - 1)
    fitting = np.flatnonzero(costs <= costs[best] + Z**2 * max(1.0, costs[best] / chance))
    # Between two places of the grid the truth may be at either.
    low, high = GRID[max(fitting[0] - 1, 0)], GRID[min(fitting[-1] + 1, len(GRID) - 1)]
    return Estimate(float(GRID[best]), float(low), float(high))
