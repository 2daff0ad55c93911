"""The scoring model: p(label | features), fitted by the server, used by the clients."""

from fedbary.judging.scoring.fit import Fitted, fit_scoring_model
from fedbary.judging.scoring.model import ScoringModel

__all__ = ["Fitted", "ScoringModel", "fit_scoring_model"]
