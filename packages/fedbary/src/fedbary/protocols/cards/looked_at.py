"""What a model said of many rows serves the next one, too, which differs from it in its temperature alone.

First clients are asked which temperature would suit them, then they get the model at the one for everybody. To read a
million rows once more takes longer than to bring what was said of them to another temperature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from weakref import WeakSet

import numpy as np
from scipy.special import log_softmax

from fedbary.data.spool import Spool
from fedbary.data.table import PART
from fedbary.protocols.cards.row_scores import SeenRows
from fedbary.protocols.messages import below
from fedbary.space.schema import Schema
from fedbary.valuation.scoring import ScoringModel

# Of the rows of all clients in this process, so many numbers wait for the next model, two gigabytes at most.
_MOST_NUMBERS = 2**28
_WAITING: WeakSet[LookedAt] = WeakSet()
_WARMER = ("model.scales", "model.biases")
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LookedAt:
    """Rows as a model saw them, and the model."""

    fingerprint: str
    arrays: Mapping[str, np.ndarray]
    seen: SeenRows
    numbers: int

    @classmethod
    def kept(cls, schema: Schema, arrays: Mapping[str, np.ndarray], seen: SeenRows) -> LookedAt:
        """Keep what was seen until it is let go."""
        looked = cls(schema.fingerprint, arrays, seen, numbers(len(seen.judged.rows.codes), schema))
        _WAITING.add(looked)
        return looked

    def by(self, schema: Schema, arrays: Mapping[str, np.ndarray]) -> SeenRows | None:
        """The rows as another model sees them; None where more than its temperature is another."""
        if schema.fingerprint != self.fingerprint or not _same(self.arrays, arrays):
            return None
        old, new = (one["model.scales"] for one in (self.arrays, arrays))
        factor = float(new.flat[0] / old.flat[0])
        if factor == 1.0:
            return self.seen
        judged, model = self.seen.judged, ScoringModel.from_arrays(below(arrays, "model."))
        logs = Spool(len(model.classes))
        for part in judged.rows.log_probabilities.parts():
            logs.append(log_softmax(factor * (part - model.log_prior) + model.log_prior, axis=1))
        return replace(
            self.seen, judged=replace(judged, rows=replace(judged.rows, log_probabilities=logs), model=model)
        )


def worth_keeping(rows: int, schema: Schema) -> bool:
    """Whether rows are many, and there is room for what is seen of them."""
    waiting = sum(one.numbers for one in _WAITING)
    return rows > PART and waiting + numbers(rows, schema) <= _MOST_NUMBERS


def numbers(rows: int, schema: Schema) -> int:
    """How many are kept of so many rows."""
    return rows * (schema.encoded_width + 2 * len(schema.label.classes))


def _same(old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> bool:
    """Whether two models are one at two temperatures: log-odds are multiplied, and feature scores do not know them."""
    told = [{name: array for name, array in one.items() if not name.startswith("clean.")} for one in (old, new)]
    if any(name not in one for name in _WARMER for one in told) or told[0].keys() != told[1].keys():
        return False
    if not all(np.array_equal(told[0][name], told[1][name]) for name in told[0] if name not in _WARMER):
        return False
    one_part = old["model.blend"].tolist() == [1.0] and "model.class.roots" not in old
    alike = all(np.ptp(old[name]) == 0.0 for name in ("model.feature.centre", "model.feature.scale"))
    scales = old["model.scales"]
    if not (one_part and alike and scales.shape == new["model.scales"].shape and scales.flat[0] > 0.0):
        return False
    factor = new["model.scales"].flat[0] / scales.flat[0]
    return factor > 0.0 and all(
        np.allclose(factor * old[name], new[name], rtol=_ROUNDING, atol=0.0) for name in _WARMER
    )
