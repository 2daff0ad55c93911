"""`JudgingModel`: what a client is sent to judge its rows by; arrays only, no code travels."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of, below, under
from fedbary.judging.discriminant import Discriminant
from fedbary.judging.evidence import Evidence
from fedbary.judging.lines import Line
from fedbary.judging.scoring import ScoringModel
from fedbary.strict_json import read_json

Floats = NDArray[np.float64]

_LONGEST_NAMES = 2**24
# What a message has beside the discriminant and the scoring model.
REFERENCE = {
    "reference.means": Numbers(("judged classes", "features of rows")),
    "reference.variances": Numbers(("features of rows",), 0.0),
}
WEIGHTS = {"candidate_weights": Numbers(("candidates",), sys.float_info.min, 1e6)}


@dataclass(frozen=True, eq=False)
class ReferenceModel:
    """What was fitted on a reference's rows: a scoring model, or a line where the label is a number.

    ``means`` (K, d) and ``variances`` (d,) inside classes say where it expects a client, in standardised coordinates.
    """

    scoring: ScoringModel | Line
    means: Floats
    variances: Floats


@dataclass(frozen=True, eq=False)
class JudgingModel:
    """The others' discriminant, the reference's model where there is one, and what else a client needs.

    Attributes
    ----------
    classes : tuple of str
        The classes; one without a name where the label is a number, which is then the discriminant's last coordinate.
    others : Discriminant
        Of the other clients' rows, and of the reference's.
    reference : ReferenceModel, optional
        What was fitted on the reference alone.
    weights : array, optional
        Weights of candidates to judge by; left out, the client's own.
    held_out : Evidence, optional
        Of the reference's rows by these weights: with it a client is judged at home.
    """

    classes: tuple[str, ...]
    others: Discriminant
    reference: ReferenceModel | None = None
    weights: Floats | None = None
    held_out: Evidence | None = None

    @property
    def numeric(self) -> bool:
        """Whether the label is a number."""
        return self.classes == ("",)

    @property
    def candidates(self) -> int:
        """How many there are."""
        return 3 if self.reference is None else 5

    @property
    def features(self) -> int:
        """Coordinates of a row without its label."""
        return len(self.others.centre) - self.numeric

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For a message."""
        names = np.frombuffer(json.dumps(self.classes).encode("utf-8"), dtype=np.uint8).copy()
        arrays = {"classes": names, **under("others.", self.others.to_arrays())}
        if (reference := self.reference) is not None:
            arrays |= {"reference.means": reference.means, "reference.variances": reference.variances}
            own = reference.scoring.to_arrays()
            arrays |= own if isinstance(reference.scoring, Line) else under("model.", own)
        if self.weights is not None:
            arrays["candidate_weights"] = self.weights
        if self.held_out is not None:
            arrays |= under("held.", self.held_out.to_arrays())
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], *, width: int) -> JudgingModel:
        """Read it from a message for rows of ``width`` coordinates; refuses what no honest server sends."""
        try:
            names = read_json(arrays["classes"].tobytes().decode("utf-8"), longest=_LONGEST_NAMES)
            classes = tuple(str(name) for name in names)
        except (KeyError, ValueError, TypeError, RecursionError) as error:
            raise ProtocolError("protocols.server-array", name="classes") from error
        if not classes or len(set(classes)) < len(classes):
            raise ProtocolError("protocols.server-array", name="classes")
        numeric = classes == ("",)
        others = Discriminant.from_arrays(below(arrays, "others."), width=width + numeric, classes=len(classes))
        reference: ReferenceModel | None = None
        if "reference.means" in arrays:
            sizes = {"judged classes": len(classes), "features of rows": width}
            means, variances = arrays_of(REFERENCE, arrays, sizes)
            scoring = Line.from_arrays(arrays, width) if numeric else received(below(arrays, "model."))
            reference = ReferenceModel(scoring, means, variances)
            if isinstance(scoring, ScoringModel) and (
                scoring.metric.mean.shape != (width,) or not set(scoring.classes) <= set(classes)
            ):
                raise ProtocolError("protocols.server-array", name="model.mean")
        held = below(arrays, "held.")
        weights, held_out = arrays.get("candidate_weights"), Evidence.from_arrays(held) if held else None
        found = cls(classes, others, reference, weights, held_out)
        if found.weights is not None:
            arrays_of(WEIGHTS, arrays, {"candidates": found.candidates + numeric})
        if found.held_out is not None and len(found.held_out.scatter) != len(classes) + 1:
            raise ProtocolError("protocols.server-array", name="held.scatter")
        return found


# What was read last, with what it was read from.
_last: tuple[Mapping[str, np.ndarray], ScoringModel] | None = None


def received(arrays: Mapping[str, np.ndarray]) -> ScoringModel:
    """The model in a message, read and checked once for all clients of a process, as they are sent the same arrays."""
    global _last  # noqa: PLW0603 - threads that come at once each read it, which is the same
    kept = _last
    if kept is not None and kept[0].keys() == arrays.keys() and all(kept[0][key] is arrays[key] for key in arrays):
        return kept[1]
    model = ScoringModel.from_arrays(arrays)
    _last = (arrays, model)
    return model
