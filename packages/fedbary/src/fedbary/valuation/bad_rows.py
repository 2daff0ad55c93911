"""How many of a table's rows are bad: shares with intervals, from what a model of clean rows says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.valuation.estimates import Estimate
from fedbary.valuation.groups import Groups

Floats = NDArray[np.float64]

# Standard errors to both sides. With 1.64 the intervals of `wrong_labels` held the truth in 82 to 93 % of draws, since
# the model itself is an estimate (docs/decisions/034-one-combined-test.md).
_Z = 2.0
# Where p-values are compared with the uniform distribution. Storey's one place, ½, misses noise in few rows, and takes
# a slight difference of most rows for many odd ones.
_PLACES = np.array([0.005, 0.01, 0.02, 0.05, 0.1])
# Up to here a row counts as odd where nothing else is known of how odd the odd ones are.
_ODD = 0.05
_FIRST_SHARE, _STEPS, _STOP = 0.1, 300, 1e-7
# Fisher's information of a row about the share of wrong labels, below which an estimate does not leave.
_LEAST_INFORMATION = 0.5


@dataclass(frozen=True, eq=False)
class Noise:
    """Labels that were replaced at random: their share ρ, and for every row the probability to be one of them."""

    share: float
    blamed: Floats


def label_noise(right: Floats, classes: int) -> Noise:
    """Maximum-likelihood share ρ of labels that were replaced by another class at random.

    ``right`` is p(y|x) of each row's label. It is right with probability (1 − ρ)·p, or wrong with ρ·(1 − p)/(K − 1); EM
    climbs to the best ρ. Labels that were confused with the class that a row looks like most are no surprise to the
    model, so for such systematic errors ρ is too small.

    Examples
    --------
    >>> import numpy as np
    >>> round(label_noise(np.repeat([0.998, 0.001], [80, 20]), 3).share, 2)
    0.2
    """
    if classes < 2 or not len(right):
        return Noise(0.0, np.zeros(len(right)))
    wrong = (1.0 - right) / (classes - 1)
    share, blamed, both = _FIRST_SHARE, np.zeros(len(right)), np.zeros(len(right))
    # Of few rows, calls cost more than numbers: no array is made twice.
    for _ in range(_STEPS):
        np.multiply(wrong, share, out=blamed)
        np.multiply(right, 1.0 - share, out=both)
        np.add(blamed, both, out=both)
        np.maximum(both, 1e-300, out=both)
        np.divide(blamed, both, out=blamed)
        before, share = share, float(np.add.reduce(blamed)) / len(right)
        if abs(share - before) < _STOP:
            break
    return Noise(share, blamed)


def noise_shares(right: Floats, classes: int) -> Floats:
    """`label_noise`'s share for each line of p(y|x): by several models, of the same few rows.

    All lines climb together, for with few rows a step takes as long as it takes to call it.

    Examples
    --------
    >>> import numpy as np
    >>> noise_shares(np.repeat([[0.998, 0.001], [0.9, 0.9]], [8, 2], axis=1), 3).round(2)
    array([0.2, 0. ])
    """
    if classes < 2 or not right.size:
        return np.zeros(len(right))
    shares, climbing = np.full(len(right), _FIRST_SHARE), np.arange(len(right))
    wrong = (1.0 - right) / (classes - 1)
    for _ in range(_STEPS):
        before = shares[climbing]
        likely = before[:, None] * wrong
        blamed = likely / np.maximum(likely + (1.0 - before)[:, None] * right, 1e-300)
        shares[climbing] = blamed.mean(axis=1)
        moving = np.abs(shares[climbing] - before) >= _STOP
        if not moving.any():
            break
        if not moving.all():
            climbing, right, wrong = climbing[moving], right[moving], wrong[moving]
    return shares


def wrong_labels(right: Floats, classes: int, *, clean_rows: float, groups: Groups | None = None) -> Estimate:
    """The share of *these* labels that are wrong: what is unknown of single rows and of ρ makes the interval.

    The count is N(ρ) = Σ P(row is wrong | ρ), so its variance is Σ r·(1 − r) + N'(ρ)²/I(ρ), r the probabilities and I
    Fisher's information; ``clean_rows``, on which the model was judged, add what could have escaped them. With
    ``groups``, no fewer rows than one of them move it.
    """
    if groups is not None:
        right = groups.ends_shared(right)
        if _one_row_decides(right, classes, groups.least):
            return Estimate(0.0, 0.0, 1.0)
    found, rows = label_noise(right, classes), len(right)
    wrong = (1.0 - right) / max(classes - 1, 1)
    likely = np.maximum(found.share * wrong + (1.0 - found.share) * right, 1e-300)
    information = float((((wrong - right) / likely) ** 2).sum())
    moved = float((wrong * right / likely**2).sum()) / max(rows, 1)
    unsure = float((found.blamed * (1.0 - found.blamed)).sum()) / max(rows, 1) ** 2
    variance = unsure + moved**2 / max(information, 1e-9)
    return _around(found.share, _Z * float(np.sqrt(variance + 1.0 / max(clean_rows, 1.0) ** 2)))


def odd_share(p_values: Floats, *, clean_rows: float, groups: Groups | None = None) -> Estimate:
    """The share of rows that are unusual beyond chance, by the p-values of one channel.

    At each of a few places t the share F(t) of p-values up to t exceeds t by at most the share of unusual rows; where
    it does so most clearly, (F(t) − t)/(1 − t) is the estimate, and 0 where chance explains all. With ``groups``, F(t)
    counts whole groups.

    Examples
    --------
    >>> import numpy as np
    >>> odd_share(np.linspace(0.001, 1.0, 1000), clean_rows=1000.0).share
    0.0
    >>> round(odd_share(np.append(np.full(200, 0.001), np.linspace(0.001, 1.0, 800)), clean_rows=1000.0).share, 2)
    0.2
    """
    rows = max(len(p_values), 1)
    unusual = p_values[:, None] <= _PLACES + 1e-12
    reached = unusual.sum(axis=0) / rows
    if groups is not None:
        reached = np.array([groups.count(column) for column in unusual.T]) / rows
    error = _Z * np.sqrt(_PLACES * (1.0 - _PLACES) * (1.0 / rows + 1.0 / max(clean_rows, 1.0)))
    sure = (reached - _PLACES - error) / (1.0 - _PLACES)
    at = int(np.argmax(sure))
    if sure[at] <= 0.0:
        usual = int(np.searchsorted(_PLACES, _ODD))
        high = (reached[usual] - _ODD + error[usual]) / (1.0 - _ODD)
        return Estimate(0.0, 0.0, float(np.clip(high, 0.0, 1.0)))
    share = float(reached[at] - _PLACES[at]) / (1.0 - _PLACES[at])
    return _around(share, float(error[at] / (1.0 - _PLACES[at])))


def bad_rows(odd: Estimate, wrong: Estimate) -> Estimate:
    """Odd rows and wrong labels together; no row counts twice, as odd rows are not judged by their label."""
    return Estimate(*(min(1.0, one + other) for one, other in zip(_ends(odd), _ends(wrong), strict=True)))


def among_all(estimate: Estimate, part: float) -> Estimate:
    """A share of some rows as one of all rows, of which these are a ``part``."""
    return Estimate(*(float(part * share) for share in _ends(estimate)))


def _one_row_decides(right: Floats, classes: int, least: int) -> bool:
    """Whether one row can move the share as much as a group should: the model says nothing of most of the others.

    Near the best share a row moves it by its score over Fisher's information. A row that is plainly wrong among plainly
    right ones moves it by 1/m; where most rows are as likely right as wrong, a single one decides, also by what it does
    to the class shares of all others. So a row must tell as much as one of a model that is right two times in three.
    """
    rows = len(right)
    if classes < 2 or not rows:
        return False
    share = min(max(label_noise(right, classes).share, least / rows), 1.0 - 1e-9)
    wrong = (1.0 - right) / (classes - 1)
    scores = (wrong - right) / np.maximum(share * wrong + (1.0 - share) * right, 1e-300)
    information = float((scores**2).mean())
    return information < _LEAST_INFORMATION or float(np.abs(scores).max()) >= max(least, np.sqrt(rows)) * information


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.share, estimate.low, estimate.high


def _around(share: float, error: float) -> Estimate:
    return Estimate(float(share), max(0.0, float(share - error)), min(1.0, float(share + error)))
