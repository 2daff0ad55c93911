"""KNN-Shapley (Jia et al. 2019): exact Shapley values of rows for a nearest-neighbour classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import whole
from fedbary.data.table import Table
from fedbary.space.options import Space
from fedbary.transport.solve import cost_matrix
from fedbary.valuation.rows import row_frame
from fedbary_lab.baselines.classifiers import scaled_pair

if TYPE_CHECKING:
    import pandas as pd

# Distances that are held at a time: validation points are taken in chunks of as many as fit.
_DISTANCES_AT_A_TIME = 2**22


def knn_shapley(table: Table, reference: Table, *, k: int = 10, space: Space | None = None) -> pd.DataFrame:
    """Value each row by its Shapley value for K nearest neighbours, tested on the reference.

    The utility of a set of rows is the share of its K nearest neighbours that have the right label, averaged
    over the reference rows. Jia et al. 2019, theorem 1: with the rows sorted by distance from a reference row,
    s_i = s_{i+1} + (1[y_i = y] − 1[y_{i+1} = y])/K · min(K, i)/i. It needs both tables in one place.

    Parameters
    ----------
    table, reference : Table
        The rows to value, and the validation rows.
    k : int
        Number of neighbours.
    space : Space, optional
        How features are scaled; all of them are kept, and distances are Euclidean, unless it says otherwise.

    Returns
    -------
    DataFrame
        One row per row of ``table`` with its ``value``; values sum to the utility of the whole table.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary_lab.baselines import knn_shapley
    >>> rows = fb.Table.from_arrays([[0.0], [1.0], [5.0]], ["a", "b", "b"])
    >>> knn_shapley(rows, fb.Table.from_arrays([[0.1], [5.1]], ["a", "b"]), k=1)["value"].round(3).tolist()
    [0.5, 0.25, 0.25]
    """
    whole(k, "k", "knn_shapley", least=1)
    points, own, targets, truth = scaled_pair(table, reference, space)
    values = np.zeros(len(table))
    chunk = max(1, _DISTANCES_AT_A_TIME // len(table))
    for first in range(0, len(reference), chunk):
        part = slice(first, first + chunk)
        order = np.argsort(cost_matrix(targets[part], points, 2), axis=1, kind="stable")
        match = own[order] == truth[part, None]
        values += np.bincount(order.ravel(), _by_rank(match, k).ravel(), minlength=len(table))
    return row_frame(table.row_names, values / len(reference))


def _by_rank(match: NDArray[np.bool_], k: int) -> NDArray[np.float64]:
    """Shapley value of the i-th nearest row for each test point, from whether its label matches."""
    rank = np.arange(1, match.shape[1] + 1)
    steps = -np.diff(match.astype(float), axis=1, append=0.0) * np.minimum(k, rank) / (k * rank)
    return np.asarray(np.cumsum(steps[:, ::-1], axis=1)[:, ::-1])
