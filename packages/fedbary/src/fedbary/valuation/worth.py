"""Worth in a result: Shapley values of clients beside their other numbers, and the shares that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedbary.notes import Note
from fedbary.valuation.result import Valuation
from fedbary.valuation.scores import ClientScores


def with_worth(result: Valuation, scores: ClientScores, notes: Sequence[Note] = ()) -> Valuation:
    """The result with ``worth`` and ``worth_error``; shares are those of the worths above zero."""
    scores = scores.among(tuple(result.clients["client"]))
    said = [*result.notes, *scores.notes, *notes]
    if not (np.nan_to_num(scores.values) > 0).any():
        said.append(Note("valuation.nothing-to-share"))
    clients = result.clients.assign(
        worth=scores.values,
        worth_error=scores.standard_errors,
        share=scores.shares,
        share_low=np.nan,
        share_high=np.nan,
    )
    return replace(result, clients=clients, scores=scores, notes=tuple(said))
