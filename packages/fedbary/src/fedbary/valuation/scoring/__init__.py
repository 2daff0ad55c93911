"""The scoring model: p(label | features) and a feature score, fitted by the server, used by the clients."""

from fedbary.valuation.scoring.fit import Fitted, fit_scoring_model
from fedbary.valuation.scoring.model import ScoringModel

__all__ = ["Fitted", "ScoringModel", "fit_scoring_model"]
