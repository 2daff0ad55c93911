"""How good a federated model becomes once its clients act on their flags."""

from fedbary.boosting.result import Boost, Trained, check_folder
from fedbary.boosting.run import boost, trained_accuracy

__all__ = ["Boost", "Trained", "boost", "check_folder", "trained_accuracy"]
