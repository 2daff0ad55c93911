"""Results with numbers of one's own, to judge by."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedbary.notes import Note
from fedbary.valuation.clients import ClientScores, client_frame, outcomes_of
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation
from fedbary.valuation.verdict import Advice

HISTORY = pd.DataFrame(columns=["client", "round", "estimate", "support"])


def client(
    name: str = "c", *notes: Note, bad: tuple[float, float, float] | None = None, **numbers: Any
) -> dict[str, Any]:
    """A valued client; ``bad`` is the estimated share of bad rows with its ends, all of them with wrong labels."""
    record = {"client": name, "rows": 100, "distance": 1.0, "outcome": Outcome(notes=notes)}
    if bad is not None:
        share, low, high = bad
        record |= {"quality": 1 - share, "quality_low": 1 - high, "quality_high": 1 - low}
        record |= {"wrong_labels": share, "wrong_labels_low": low, "wrong_labels_high": high}
        record |= {"odd_features": 0.0, "odd_features_low": 0.0, "odd_features_high": 0.02, "missing": 0.0}
    return record | numbers


def made(
    *clients: dict[str, Any],
    values: Sequence[float] | None = None,
    errors: Sequence[float] | None = None,
    **settings: Any,
) -> Valuation:
    """A result of these clients."""
    scores = None
    if values is not None:
        names = tuple(record["client"] for record in clients)
        scores = ClientScores("coalition", names, np.array(values), np.array(errors or [0.0] * len(names)))
    return Valuation(
        client_frame(clients, spread=1.0),
        HISTORY,
        {"protocol": "sketch", **settings},
        scores=scores,
        outcomes=outcomes_of(clients),
    )


def advice(result: Valuation) -> dict[str, Advice]:
    return {opinion.client: opinion.advice for opinion in result.verdict()}


def reasons(result: Valuation) -> dict[str, list[str]]:
    return {opinion.client: [note.code for note in opinion.reasons] for opinion in result.verdict()}
