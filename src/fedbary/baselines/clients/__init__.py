"""Values of clients by the methods that train: every one the paper compares with, on one training log.

``METHODS[name].compute(setting)`` gives `ClientScores`; `prepare` makes the `Setting` from a federation's rows.
"""

from fedbary.baselines.clients.methods import METHODS, Method
from fedbary.baselines.clients.prepare import Prepared, prepare
from fedbary.baselines.clients.setting import Setting

__all__ = ["METHODS", "Method", "Prepared", "Setting", "prepare"]
