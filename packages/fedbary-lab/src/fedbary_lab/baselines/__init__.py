"""Row values by other people's methods, to compare with; higher is better, as everywhere."""

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
from fedbary_lab.baselines.row_methods import ROW_METHODS, RowMethod

__all__ = [
    "ROW_METHODS",
    "RowMethod",
    "ame_values",
    "banzhaf_values",
    "beta_shapley_values",
    "cleanlab_values",
    "influence_values",
    "knn_shapley",
    "lava_values",
    "logistic_values",
    "oob_values",
    "row_loo",
    "tmc_values",
]
