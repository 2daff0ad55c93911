"""All row-level methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

    ``compute`` takes the rows, the reference and a seed, and gives the frame of `fedbary.valuation.row_frame`.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.research.baselines.row_methods import ROW_METHODS
    >>> rows = fb.Table.from_arrays([[0.0], [1.0], [5.0]], ["a", "b", "b"])
    >>> ROW_METHODS["knn-shapley"].compute(rows, rows, 0).columns[0]
    'row'
    """

    name: str
    title: str
    does: str
    compute: Callable[[Table, Table, int], pd.DataFrame]
    needs: str = ""


ROW_METHODS: dict[str, RowMethod] = {
    method.name: method
    for method in (
        RowMethod(
            "knn-shapley",
            "KNN-Shapley",
            "exact Shapley value for 10 nearest neighbours",
            lambda table, reference, _: knn_shapley(table, reference),
        ),
        RowMethod(
            "logistic",
            "Logistic regression",
            "log-probability of the label under a classifier of the reference",
            lambda table, reference, seed: logistic_values(table, reference, seed=seed),
        ),
        RowMethod(
            "cleanlab",
            "Confident learning",
            "probability of the label by the table's own other rows; no reference",
            lambda table, _, seed: cleanlab_values(table, seed=seed),
            needs="cleanlab",
        ),
        RowMethod(
            "lava",
            "LAVA",
            "dual potential of entropic transport to the reference (Sinkhorn)",
            lambda table, reference, seed: lava_values(table, reference, seed=seed),
        ),
        RowMethod(
            "lava-exact",
            "LAVA (exact)",
            "the same without the entropy, by network simplex",
            lambda table, reference, seed: lava_values(table, reference, solver="exact", seed=seed),
        ),
        RowMethod(
            "row-loo",
            "LOO",
            "accuracy lost without the row, refitted; mostly 0",
            lambda table, reference, seed: row_loo(table, reference, seed=seed),
        ),
        RowMethod(
            "row-loo-loss",
            "LOO (log-loss)",
            "log-loss gained without the row, refitted",
            lambda table, reference, seed: row_loo(table, reference, utility="log-loss", seed=seed),
        ),
        RowMethod(
            "tmc",
            "TMC-Shapley",
            "Shapley value by truncated permutations, refitted",
            lambda table, reference, seed: tmc_values(table, reference, seed=seed),
            needs="pyDVL",
        ),
        RowMethod(
            "beta-shapley",
            "Beta-Shapley",
            "Shapley value that weighs small sets more, refitted",
            lambda table, reference, seed: beta_shapley_values(table, reference, seed=seed),
            needs="pyDVL",
        ),
        RowMethod(
            "banzhaf",
            "Data Banzhaf",
            "mean accuracy of random halves with the row minus without, refitted",
            lambda table, reference, seed: banzhaf_values(table, reference, seed=seed),
            needs="pyDVL",
        ),
        RowMethod(
            "data-oob",
            "Data-OOB",
            "how often trees that have not seen the row get it right; no reference",
            lambda table, _, seed: oob_values(table, seed=seed),
            needs="pyDVL",
        ),
        RowMethod(
            "ame",
            "AME",
            "mean effect on random subsets of the other rows, refitted",
            lambda table, reference, seed: ame_values(table, reference, seed=seed),
            needs="pyDVL",
        ),
        RowMethod(
            "influence",
            "Influence functions",
            "first-order estimate of LOO's log-loss, without refits",
            lambda table, reference, seed: influence_values(table, reference, seed=seed),
            needs="pyDVL, torch",
        ),
    )
}
