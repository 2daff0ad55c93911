"""Federations of sites: clients whose columns each lie a little elsewhere, the last of which may be bad in some way.

A site effect moves the mean of each column, or coordinate of a block, by so many of the pool's standard deviations
times a normal draw, and multiplies its spread about the client's mean by the exponential of a third of that. It is
harmless, and comes before any fault. The same clients, sites and faults are drawn whatever the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.data.table import Table
from fedbary_lab.experiments.federations import Rows, SplitDataset, Spoilt

SHARE = 0.2
NONE, ONE_WAY, EVERY_ROW = "none", "one way 50 %", "every row 1 σ noise"
AT_RANDOM, NEAREST, NOISY = "labels at random 20 %", "nearest class 20 %", "rows 1 σ noise 20 %"
SYSTEMATIC = ("one label", "one class off", "other coding")

Labels = npt.NDArray[Any]
Spread = Mapping[str, npt.NDArray[np.float64]]


def sites(
    data: SplitDataset, rows: list[Rows], effect: float, *, seed: int
) -> tuple[dict[str, Table], dict[str, Spoilt]]:
    """Clean clients of these rows of the pool, each moved by its own site effect, and the last one with each fault."""
    spread = {name: column.std(axis=0, dtype=np.float64) for name, column in data.pool.columns.items()}
    moved = [
        at_site(data.pool.take(mine), spread, effect, np.random.default_rng([seed, 1, number]))
        for number, mine in enumerate(rows)
    ]
    labels = wrong_labels(data, rows[-1], seed=seed)
    bad = {fault: _relabelled(moved[-1], labels[fault]) for fault in labels}
    for place, (fault, share) in enumerate(_NOISES.items()):
        rng = np.random.default_rng([seed, 2, place])
        bad[fault] = _with_noise(moved[-1], spread, rng.permutation(len(rows[-1])) < share * len(rows[-1]), rng)
    clean = {f"clean {number}": table for number, table in enumerate(moved[:-1])}
    return clean, {fault: bad[fault] for fault in FAULTS}


def at_site(table: Table, spread: Spread, effect: float, rng: np.random.Generator) -> Table:
    """The table as a site with this effect would have recorded it; what never varies in the pool stays as it is."""
    columns = {}
    for name, column in table.columns.items():
        shift, stretch = rng.standard_normal((2, *column.shape[1:]))
        mean = column.mean(axis=0, dtype=np.float64)
        there = mean + effect * spread[name] * shift + (column - mean) * np.exp(effect / 3 * stretch)
        columns[name] = np.where(spread[name] > 0, there, column)
    return table.replace(columns=columns)


def wrong_labels(data: SplitDataset, rows: Rows, *, seed: int) -> dict[str, Labels]:
    """The labels of these rows with each fault that is about labels, and as they are."""
    classes, labels = np.unique(data.pool.labels), data.pool.labels[rows]
    found: dict[str, Labels] = {
        NONE: labels,
        AT_RANDOM: data.client(rows, "labels", SHARE, seed=seed).table.labels,
        NEAREST: data.client(rows, "confusions", SHARE, seed=seed).table.labels,
    }
    codes = np.searchsorted(classes, labels)
    for place, (fault, recode) in enumerate(_RECODINGS.items()):
        found[fault] = classes[recode(codes, len(classes), np.random.default_rng([seed, 3, place]))]
    return found


def accuracy_lost(data: SplitDataset, test: Table, rows: list[Rows], *, seed: int) -> dict[str, float]:
    """What each systematic fault costs logistic regression on the bad client and four clean ones, no site effects."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    others, last = np.concatenate(rows[:4]), rows[-1]
    features = _features(data.pool.take(np.concatenate([others, last])))

    def accuracy(labels: Labels) -> float:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(features, np.concatenate([data.pool.labels[others], labels]))
        return float(model.score(_features(test), test.labels))

    labels = wrong_labels(data, last, seed=seed)
    clean = accuracy(labels[NONE])
    return {fault: clean - accuracy(labels[fault]) for fault in SYSTEMATIC}


def _features(table: Table) -> npt.NDArray[np.float64]:
    return np.hstack([column.reshape(len(table), -1) for column in table.columns.values()]).astype(np.float64)


def _relabelled(table: Table, labels: Labels) -> Spoilt:
    return Spoilt(table.replace(labels=labels), table.labels, np.asarray(labels != table.labels))


def _with_noise(table: Table, spread: Spread, noisy: npt.NDArray[np.bool_], rng: np.random.Generator) -> Spoilt:
    """These rows with noise of the pool's own spread in every column."""
    columns = {name: column.astype(np.float64) for name, column in table.columns.items()}
    for name, column in columns.items():
        column[noisy] += spread[name] * rng.standard_normal((int(noisy.sum()), *column.shape[1:]))
    return Spoilt(table.replace(columns=columns), table.labels, noisy)


Codes = npt.NDArray[np.intp]


def _one_label(codes: Codes, classes: int, rng: np.random.Generator) -> Codes:
    return np.full_like(codes, rng.integers(classes))


def _one_off(codes: Codes, classes: int, rng: np.random.Generator) -> Codes:  # noqa: ARG001
    return (codes + 1) % classes


def _swapped(codes: Codes, classes: int, rng: np.random.Generator) -> Codes:
    """Classes swapped in pairs drawn at random; an odd one stays."""
    order, coding = rng.permutation(classes), np.arange(classes)
    first, second = order[: classes // 2], order[classes // 2 : 2 * (classes // 2)]
    coding[first], coding[second] = second, first
    return coding[codes]


def _one_way(codes: Codes, classes: int, rng: np.random.Generator) -> Codes:
    """Half of the rows of the client's commonest class as another class; of two classes, positives as negatives."""
    source = 1 if classes == 2 else int(np.bincount(codes).argmax())
    mine = rng.permutation(np.flatnonzero(codes == source))
    changed = codes.copy()
    changed[mine[: round(len(mine) / 2)]] = (source + rng.integers(1, classes)) % classes
    return changed


_NOISES = {NOISY: SHARE, EVERY_ROW: 1.0}
_RECODINGS: dict[str, Callable[[Codes, int, np.random.Generator], Codes]] = {
    **dict(zip(SYSTEMATIC, (_one_label, _one_off, _swapped), strict=True)),
    ONE_WAY: _one_way,
}
FAULTS = (NONE, AT_RANDOM, NEAREST, NOISY, EVERY_ROW, *SYSTEMATIC, ONE_WAY)
