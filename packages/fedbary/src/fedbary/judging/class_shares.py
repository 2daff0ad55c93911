"""The share of wrong labels of each class, so that rare classes count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbary.judging.label_mixture import Array, Codes

_GRID = np.linspace(0.0, 1.0, 101)
_LEAST_ROWS = 20
_PRIOR_ROWS = 2.0  # how many rows' worth of belief in the client's other classes a class starts with


@dataclass(frozen=True)
class ClassShares:
    """Estimated shares of wrong labels per class; not a number with fewer than 20 rows. This is what a client sends."""

    rows: Array
    wrong: Array
    error: Array


def class_shares(py: Array, uy: Array, codes: Codes, K: int) -> ClassShares:
    """Estimate, per class c, how many of the rows labelled c carry a wrong label.

    The likelihood of a share f is Π_i [(1 − f) p_i + f (1 − p_i) u_i/(1 − u_i)] over the rows labelled c, where
    p_i = p(given label | x_i) and u_i is the probability of that label if it were wrong. With e = f/(1 − u) it is the
    likelihood Π [(1 − e) p_i + e u_i] of labels that are replaced, but f may go up to one. Classes share a prior,
    f ~ Beta(κ f̄, κ (1 − f̄)) with the client's mean f̄ and κ = 2.

    Parameters
    ----------
    py, uy : ndarray of shape (n,)
        p and u of each row.
    codes : ndarray of shape (n,)
        Labels 0 … K−1.
    K : int
        The number of classes.

    Examples
    --------
    >>> py = np.repeat([0.98, 0.02, 0.98], [170, 15, 15])  # half of the rare class does not look like it
    >>> shares = class_shares(py, np.full(200, 0.5), np.repeat([0, 1], [170, 30]), 2)
    >>> shares.wrong.round(2), shares.error.round(2)
    (array([0.  , 0.47]), array([0.01, 0.1 ]))
    """
    p, u = np.clip(py, 1e-6, 1 - 1e-6), np.clip(uy, 1e-6, 0.999)
    rows = np.bincount(codes, minlength=K).astype(float)
    wrong, error = np.full(K, np.nan), np.full(K, np.nan)
    if not len(codes):
        return ClassShares(rows, wrong, error)
    log_f = np.log((1 - _GRID)[:, None] * p + _GRID[:, None] * (1 - p) * u / (1 - u) + 1e-12)
    overall = log_f.sum(1)
    mean = float(np.clip(np.average(_GRID, weights=np.exp(overall - overall.max())), 0.005, 0.995))
    inner = np.clip(_GRID, 0.005, 0.995)
    prior = (_PRIOR_ROWS * mean - 1) * np.log(inner) + (_PRIOR_ROWS * (1 - mean) - 1) * np.log1p(-inner)
    for c in np.flatnonzero(rows >= _LEAST_ROWS):
        log_post = log_f[:, codes == c].sum(1) + prior
        weights = np.exp(log_post - log_post.max())
        wrong[c] = np.average(_GRID, weights=weights)
        error[c] = np.sqrt(np.average((_GRID - wrong[c]) ** 2, weights=weights) + rows[c] ** -2)
    return ClassShares(rows, wrong, error)


def shares_beyond(clients: Mapping[str, ClassShares]) -> dict[str, tuple[Array, Array, Array]]:
    """Wrong labels per class beyond what is usual at the other clients: estimate, lower and upper end of 90 %.

    (f − b)/(1 − b), b the median of the others' f for this class where at least two have it, of all their classes
    else: classes that are hard for everybody are not held against one client. The interval knows the client's own
    standard error and the spread of the others'.

    Examples
    --------
    >>> def client(wrong):
    ...     return ClassShares(np.array([300.0, 40.0]), np.array(wrong), np.array([0.01, 0.06]))
    >>> clients = {"a": client([0.02, 0.1]), "b": client([0.01, 0.12]), "c": client([0.02, 0.6])}
    >>> estimate, low, high = shares_beyond(clients)["c"]
    >>> estimate.round(2), low.round(2)
    (array([0.01, 0.55]), array([0.  , 0.41]))
    """
    out = {}
    for name, own in clients.items():
        others = np.array([o.wrong for other, o in clients.items() if other != name]).reshape(-1, len(own.wrong))
        usual, spread = np.zeros(len(own.wrong)), np.full(len(own.wrong), 0.05)
        everything = others[np.isfinite(others)]
        for c in range(len(own.wrong)):
            same = others[np.isfinite(others[:, c]), c]
            known = same if len(same) > 1 else everything
            if len(known):
                usual[c] = np.median(known)
                mad = 1.4826 * float(np.median(np.abs(known - usual[c])))
                spread[c] = np.hypot(mad * np.sqrt(1 + 1 / len(known)), 0.02 + 0.25 * usual[c])
        half, left = 1.645 * np.hypot(own.error, spread), np.maximum(1 - usual, 1e-6)
        ends = [np.clip((own.wrong - usual + side * half) / left, 0.0, 1.0) for side in (0.0, -1.0, 1.0)]
        out[name] = (ends[0], ends[1], ends[2])
    return out
