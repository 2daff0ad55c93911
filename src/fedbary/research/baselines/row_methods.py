"""All row-level methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fedbary.data.table import Table
from fedbary.research.baselines.confident import cleanlab_values
from fedbary.research.baselines.influence import influence_values
from fedbary.research.baselines.lava import lava_values
from fedbary.research.baselines.leave_one_out import row_loo
from fedbary.research.baselines.logistic import logistic_values
from fedbary.research.baselines.neighbours import knn_shapley
from fedbary.research.baselines.pydvl_values import (
    ame_values,
    banzhaf_values,
    beta_shapley_values,
    oob_values,
    tmc_values,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RowMethod:
    """A way to value rows: what it is called, what it does in a line, and what it needs installed.

    ``compute(table, reference, seed=…)`` gives the frame of `fedbary.valuation.row_values.row_frame`.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.research.baselines.row_methods import ROW_METHODS
    >>> rows = fb.Table.from_arrays([[0.0], [1.0], [5.0]], ["a", "b", "b"])
    >>> ROW_METHODS["knn-shapley"].compute(rows, rows, seed=0).columns[0]
    'row'
    """

    name: str
    does: str
    compute: Callable[..., pd.DataFrame]
    needs: str = ""


def _knn_shapley(table: Table, reference: Table, *, seed: int) -> pd.DataFrame:  # noqa: ARG001 - nothing is drawn
    return knn_shapley(table, reference)


def _cleanlab(table: Table, reference: Table, *, seed: int) -> pd.DataFrame:  # noqa: ARG001 - its own rows alone
    return cleanlab_values(table, seed=seed)


def _oob(table: Table, reference: Table, *, seed: int) -> pd.DataFrame:  # noqa: ARG001 - its own rows alone
    return oob_values(table, seed=seed)


_METHODS = (
    RowMethod("knn-shapley", "exact Shapley value for 10 nearest neighbours", _knn_shapley),
    RowMethod("logistic", "log-probability of the label under a classifier of the reference", logistic_values),
    RowMethod(
        "cleanlab", "probability of the label by the table's own other rows; no reference", _cleanlab, "cleanlab"
    ),
    RowMethod("lava", "dual potential of entropic transport to the reference (Sinkhorn)", lava_values),
    RowMethod("lava-exact", "the same without the entropy, by network simplex", partial(lava_values, solver="exact")),
    RowMethod("row-loo", "accuracy lost without the row, refitted; mostly 0", row_loo),
    RowMethod("row-loo-loss", "log-loss gained without the row, refitted", partial(row_loo, utility="log-loss")),
    RowMethod("tmc", "Shapley value by truncated permutations, refitted", tmc_values, "pyDVL"),
    RowMethod("beta-shapley", "Shapley value that weighs small sets more, refitted", beta_shapley_values, "pyDVL"),
    RowMethod(
        "banzhaf", "mean accuracy of random halves with the row minus without, refitted", banzhaf_values, "pyDVL"
    ),
    RowMethod("data-oob", "how often trees that have not seen the row get it right; no reference", _oob, "pyDVL"),
    RowMethod("ame", "mean effect on random subsets of the other rows, refitted", ame_values, "pyDVL"),
    RowMethod("influence", "first-order estimate of LOO's log-loss, without refits", influence_values, "pyDVL, torch"),
)
ROW_METHODS: dict[str, RowMethod] = {method.name: method for method in _METHODS}
