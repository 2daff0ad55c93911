"""Values of clients by the methods that train: every one the paper compares with, on one training log.

``METHODS[name].compute(setting)`` gives `ClientScores`; `prepare` makes the `Setting` from a federation's rows.
"""

from fedbary_lab.baselines.clients.client_game import Setting
from fedbary_lab.baselines.clients.methods import METHODS, Method, with_options
from fedbary_lab.baselines.clients.prepare import Prepared, prepare

__all__ = ["METHODS", "Method", "Prepared", "Setting", "prepare", "with_options"]
