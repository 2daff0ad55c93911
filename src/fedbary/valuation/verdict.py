"""The verdict on each client: include it, look at it first, leave it out; and why, as notes.

It is made of what a coordinator knows in every federation (the columns of ``result.clients`` and Shapley values), never
of rows. Over a network most of these numbers are what the clients say of themselves; ``result.notes`` names them
(``valuation.self-reported``). The rules are these few lines: a report that is shown to a board must not rest on a
hidden judgement.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.notes import Note
from fedbary.valuation.outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

LACKS_EVERY_CLASS = "schema.lacks-every-class"
TOO_GOOD = "protocols.too-good"
# A client's rows are worth a look from this share of flagged rows on ...
_MANY_FLAGS = 0.05
# ... or where its quality or distance is off by so many robust deviations from the median client's, and by so much.
_DEVIATIONS, _QUALITY_GAP, _DISTANCE_RATIO = 3.0, 0.03, 1.25
_MAD_TO_SIGMA = 1.4826


class Advice(StrEnum):
    """What to do with a client."""

    INCLUDE = "include"
    LOOK = "look at first"
    LEAVE = "leave out"
    UNKNOWN = "nothing can be said"
    NOT_VALUED = "not valued"


@dataclass(frozen=True)
class Opinion:
    """What to do with one client, and why."""

    client: str
    advice: Advice
    reasons: tuple[Note, ...]

    @property
    def why(self) -> str:
        """The reasons in words that may be shown around."""
        return "; ".join(str(reason) for reason in self.reasons)


def verdict(result: Valuation) -> tuple[Opinion, ...]:
    """An opinion on every client, best client first.

    - *leave out*: its Shapley value is below zero by more than two standard errors;
    - *look at first*: at least 5 % of its rows are flagged; or it has hardly a row of any class of the target; or it
      claims to be less than half as far away as rows of the target itself; or its
      quality is below the median client's by three robust deviations and 0.03; or, where there is no quality, its
      distance is above the median by three deviations and a quarter; or its Shapley value is not above zero;
    - *not valued*: it failed, refused or did not answer;
    - *include*: everybody else.

    Examples
    --------
    >>> import fedbary as fb
    >>> parts = fb.partitions.by_size(fb.datasets.load("digits").train, [200, 200, 200], seed=0)
    >>> noisy, _ = fb.corruptions.flip_labels(parts.clients["client_3"], 0.3, seed=0)
    >>> result = fb.value(parts.clients | {"client_3": noisy}, fb.datasets.load("digits").test, seed=0)
    >>> [(one.client, str(one.advice)) for one in result.verdict()]
    [('client_2', 'include'), ('client_1', 'include'), ('client_3', 'look at first')]
    """
    ranked = result.ranking()
    quality, distance = (ranked[name].to_numpy(dtype=float, na_value=np.nan) for name in ("closeness", "distance"))
    seen = _Others(quality, distance)
    shapley = {} if result.scores is None else _values(result.scores.to_frame())
    opinions = []
    for client in ranked.to_dict("records"):
        name = str(client["client"])
        outcome = result.outcomes.get(name, Outcome())
        if outcome.ok:
            numbers = {str(key): value for key, value in client.items()}
            opinions.append(Opinion(name, *_advice(numbers, outcome, shapley, seen)))
        else:
            opinions.append(Opinion(name, Advice.NOT_VALUED, outcome.redacted().notes))
    return tuple(opinions)


@dataclass(frozen=True)
class _Others:
    """What the valued clients have in common, to compare one with."""

    quality: np.ndarray
    distance: np.ndarray

    @property
    def several(self) -> bool:
        return int(np.isfinite(self.distance).sum()) > 1

    def low_quality(self, quality: float) -> bool:
        middle, spread = _middle(self.quality)
        return quality < middle - max(_DEVIATIONS * spread, _QUALITY_GAP)

    def far(self, distance: float) -> bool:
        middle, spread = _middle(self.distance)
        return distance > max(middle + _DEVIATIONS * spread, _DISTANCE_RATIO * middle)


def _advice(
    client: dict[str, Any], outcome: Outcome, shapley: dict[str, tuple[float, float]], others: _Others
) -> tuple[Advice, tuple[Note, ...]]:
    concerns = _concerns(client, outcome, others)
    name = str(client["client"])
    if name in shapley:
        value, error = shapley[name]
        if value < -2.0 * error and value < 0:
            return Advice.LEAVE, (_note("harms", value=value), *concerns)
        if value <= 0:
            concerns.insert(0, _note("adds-nothing", value=value))
    if concerns:
        return Advice.LOOK, tuple(concerns)
    return Advice.INCLUDE, _praise(client, others)


def _concerns(client: dict[str, Any], outcome: Outcome, others: _Others) -> list[Note]:
    concerns = []
    flagged, rows = _known(client["flagged"]), float(client["rows"])
    if flagged is not None and rows > 0 and flagged / rows >= _MANY_FLAGS:
        concerns.append(_note("many-flags", flagged=int(flagged), rows=int(rows), share=flagged / rows))
    if outcome.has(LACKS_EVERY_CLASS):
        concerns.append(_note("hardly-a-class"))
    if outcome.has(TOO_GOOD):
        concerns.append(_note("nearer-than-the-target"))
    quality, distance = _known(client["closeness"]), _known(client["distance"])
    if quality is not None:
        if others.low_quality(quality):
            concerns.append(_note("less-clean", quality=quality, median=_middle(others.quality)[0]))
    elif distance is not None and others.far(distance):
        concerns.append(_note("far", distance=distance, median=_middle(others.distance)[0]))
    return concerns


def _praise(client: dict[str, Any], others: _Others) -> tuple[Note, ...]:
    flagged, quality, distance = (_known(client[name]) for name in ("flagged", "closeness", "distance"))
    said = []
    if flagged is not None:
        said.append(_note("few-flags", flagged=int(flagged)) if flagged else _note("no-flag"))
    if quality is not None:
        said.append(_note("as-clean" if others.several else "quality-alone", quality=quality))
        if distance is not None and others.far(distance):
            said.append(_note("other-mix"))
    elif distance is not None:
        said.append(_note("near" if others.several else "distance-alone", distance=distance))
    return tuple(said) or (_note("nothing-against"),)


def _note(what: str, **facts: float | int) -> Note:
    return Note(f"verdict.{what}", facts)


def _values(frame: pd.DataFrame) -> dict[str, tuple[float, float]]:
    known = frame[frame["value"].notna()]
    errors = known["standard_error"].fillna(0.0)
    return {str(name): (float(v), float(e)) for name, v, e in zip(known["client"], known["value"], errors, strict=True)}


def _middle(values: np.ndarray) -> tuple[float, float]:
    """Median and robust deviation of the known values."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.nan, np.nan
    middle = float(np.median(known))
    return middle, _MAD_TO_SIGMA * float(np.median(np.abs(known - middle)))


def _known(value: Any) -> float | None:
    import pandas as pd

    return None if pd.isna(value) else float(value)
