"""How good a federated model becomes once its clients act on their flags."""

from fedbary_lab.boosting.result import Boost, Trained, check_folder
from fedbary_lab.boosting.run import boost, trained_accuracy

__all__ = ["Boost", "Trained", "boost", "check_folder", "trained_accuracy"]
