"""The scoring model: p(label | features), fitted by the server, used by the clients."""

from fedbary.judging.scoring.fit import Fitted, fit_scoring_model
from fedbary.judging.scoring.model import ScoringModel
from fedbary.judging.scoring.scorer import Scorer

__all__ = ["Fitted", "Scorer", "ScoringModel", "fit_scoring_model"]
