"""Row values by other people's methods, to compare with; higher is better, as everywhere."""

from fedbary.baselines.confident import cleanlab_values
from fedbary.baselines.logistic import logistic_values
from fedbary.baselines.neighbours import knn_shapley

__all__ = ["cleanlab_values", "knn_shapley", "logistic_values"]
