"""All row-level methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import FedbaryError, SettingsError
from fedbary.satellites import Registry, first_line
from fedbary.valuation.rows import row_frame
from fedbary_lab.baselines.confident import cleanlab_values
from fedbary_lab.baselines.influence import influence_values
from fedbary_lab.baselines.lava import lava_values
from fedbary_lab.baselines.leave_one_out import row_loo
from fedbary_lab.baselines.logistic import logistic_values
from fedbary_lab.baselines.neighbours import knn_shapley
from fedbary_lab.baselines.pydvl_values import (
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

    ``compute(table, reference, seed=…)`` gives the frame of `fedbary.valuation.rows.row_frame`.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary_lab.baselines.row_methods import ROW_METHODS
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


def own_row_method(name: str, brought: Any, does: str = "") -> RowMethod:
    """A method of somebody else: a function (table, reference, seed) → one value for each row."""
    if isinstance(brought, RowMethod):
        return brought
    does = does or first_line(brought, "a method of your own")
    return RowMethod(name, does, partial(_own_values, name, brought))


def _own_values(name: str, compute: Callable[..., Any], table: Table, reference: Table, *, seed: int) -> pd.DataFrame:
    try:
        values = np.asarray(compute(table, reference, seed), dtype=float)
    except FedbaryError:
        raise
    except Exception as error:  # a stranger's code, which may fail in any way
        raise SettingsError("research.own-method-failed", name=name, why=f"{type(error).__name__}: {error}") from error
    if values.shape != (len(table),):
        raise SettingsError("research.own-values-shape", name=name, got=str(values.shape), of="row", count=len(table))
    return row_frame(table.row_names, values)


ROW_METHODS: Registry[RowMethod] = Registry(
    "fedbary.row_methods", {method.name: method for method in _METHODS}, own_row_method
)
