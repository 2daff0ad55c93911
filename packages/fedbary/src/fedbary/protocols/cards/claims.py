"""Claims about labels, held against cards: what a client says of its rows cannot undo what its card says of them.

Wrong labels draw class means together, and a card has the class means. The share of wrong labels at which they fit
mixtures of the others' is read off with an interval, of the card centred and scaled as the others', so that a site
effect is no wrong label. A claim below the interval is not believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.discriminant import Discriminant
from fedbary.judging.estimates import Estimate
from fedbary.protocols.cards.class_moments import ClassMoments
from fedbary.protocols.cards.shares import CLEANER, DIFFERENCES, GRID, LEAST_RIGHT, LEAST_ROWS, Z, mixture

Floats = NDArray[np.float64]

# A claim is disputed where even its upper end lies so far below the card's interval: smaller gaps change no verdict.
_MATTERS = 0.05
# Whoever admits this share has said enough to be left out, however many more there are.
_ADMITTED = 0.3


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
    believed: Sequence[str],
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
    costs = np.zeros(len(GRID))
    for place, share in enumerate(GRID):
        away = own - mixture(share, shares, known) @ means
        away -= np.where(held, shares, 0.0) @ away
        costs[place] = float(precise @ (away**2).sum(axis=1))
    best = int(costs.argmin())
    chance = means.shape[1] * (held.sum() - 1)
    fitting = np.flatnonzero(costs <= costs[best] + Z**2 * max(1.0, costs[best] / chance))
    # Between two places of the grid the truth may be at either.
    low, high = GRID[max(fitting[0] - 1, 0)], GRID[min(fitting[-1] + 1, len(GRID) - 1)]
    return Estimate(float(GRID[best]), float(low), float(high))
