"""A likelihood of shares of wrong labels that no fewer different rows than a group decide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.counts import EDGES, STEP, counted
from fedbary.judging.groups import Groups
from fedbary.judging.labels import SHARES, share_likelihood

Floats = NDArray[np.float64]

# Fisher's information of a row about the share of wrong labels, below which a guarded likelihood says nothing.
_LEAST_INFORMATION = 0.8
# Log-odds of labels in a guarded likelihood, at most; the grid of counts goes down from here.
_MOST_ODDS = 4.0


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
