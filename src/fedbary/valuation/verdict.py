"""The verdict on each client: include it, look at it first, leave it out; and why, in a sentence.

It is made of what a coordinator knows in every federation (the columns of ``result.clients`` and Shapley values), never
of rows, and its rules are these few lines: a report that is shown to a board must not rest on a hidden judgement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.space.notes import EVERY_CLASS
from fedbary.wording import counted, number, percent, tenths

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

INCLUDE, LOOK, LEAVE, FAILED = "include", "look at first", "leave out", "not valued"
# A client's rows are worth a look from this share of flagged rows on ...
_MANY_FLAGS = 0.05
# ... or where its quality or distance is off by so many robust deviations from the median client's, and by so much.
_DEVIATIONS, _QUALITY_GAP, _DISTANCE_RATIO = 3.0, 0.03, 1.25
_MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Opinion:
    """What to do with one client, and why."""

    client: str
    advice: str
    why: str


def verdict(result: Valuation) -> tuple[Opinion, ...]:
    """An opinion on every client, best client first.

    - *leave out*: its Shapley value is below zero by more than two standard errors;
    - *look at first*: at least 5 % of its rows are flagged; or its status says that it has hardly a row of any class
      of the target; or its quality is below the median client's by three
      robust deviations and 0.03; or, where there is no quality, its distance is above the median by three
      deviations and a quarter; or its Shapley value is not above zero;
    - *not valued*: it failed, and ``status`` says why;
    - *include*: everybody else.

    Examples
    --------
    >>> import fedbary as fb
    >>> parts = fb.partitions.by_size(fb.datasets.load("digits").train, [200, 200, 200], seed=0)
    >>> noisy, _ = fb.corruptions.flip_labels(parts.clients["client_3"], 0.3, seed=0)
    >>> result = fb.value(parts.clients | {"client_3": noisy}, fb.datasets.load("digits").test, seed=0)
    >>> [(one.client, one.advice) for one in result.verdict()]
    [('client_2', 'include'), ('client_1', 'include'), ('client_3', 'look at first')]
    """
    ranked = result.ranking()
    quality, distance = (ranked[name].to_numpy(dtype=float, na_value=np.nan) for name in ("quality", "distance"))
    seen = _Others(quality, distance)
    shapley = {} if result.scores is None else _values(result.scores.to_frame())
    opinions, told, failed = [], result.told, result.failed
    for client in ranked.to_dict("records"):
        name = str(client["client"])
        if name in failed:
            opinions.append(Opinion(name, FAILED, told[name].removeprefix("failed:").strip()))
        else:
            opinions.append(Opinion(name, *_advice({str(key): value for key, value in client.items()}, shapley, seen)))
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


def _advice(client: dict[str, Any], shapley: dict[str, tuple[float, float]], others: _Others) -> tuple[str, str]:
    concerns = _concerns(client, others)
    name = str(client["client"])
    if name in shapley:
        value, error = shapley[name]
        if value < -2.0 * error and value < 0:
            harm = f"with it the others do worse: its value is {number(value)}"
            return LEAVE, "; ".join([harm, *concerns])
        if value <= 0:
            concerns.insert(0, f"it adds nothing that the others lack: its value is {number(value)}")
    if concerns:
        return LOOK, "; ".join(concerns)
    return INCLUDE, _praise(client, others)


def _concerns(client: dict[str, Any], others: _Others) -> list[str]:
    concerns = []
    flagged, rows = _known(client["flagged"]), float(client["rows"])
    if flagged is not None and rows > 0 and flagged / rows >= _MANY_FLAGS:
        concerns.append(_wrong(flagged, f" of {number(rows)} ({percent(flagged / rows)})"))
    if EVERY_CLASS in str(client["status"]):
        concerns.append("it has hardly a row of any class of the target: check how its labels are written")
    quality, distance = _known(client["quality"]), _known(client["distance"])
    if quality is not None:
        if others.low_quality(quality):
            middle = _middle(others.quality)[0]
            concerns.append(f"its rows are less clean than most: quality {tenths(quality)}, median {tenths(middle)}")
    elif distance is not None and others.far(distance):
        middle = _middle(others.distance)[0]
        concerns.append(f"it is further from the target than most: {number(distance)}, median {number(middle)}")
    return concerns


def _praise(client: dict[str, Any], others: _Others) -> str:
    flagged, quality, distance = (_known(client[name]) for name in ("flagged", "quality", "distance"))
    said = []
    if flagged is not None:
        said.append("no row is flagged" if flagged == 0 else f"only {_wrong(flagged)}")
    if quality is not None:
        said.append(f"its rows are as clean as most (quality {tenths(quality)})" if others.several else _alone(quality))
        if distance is not None and others.far(distance):
            said.append("its mix of classes or its size differs from the target's, hence its distance")
    elif distance is not None:
        like = "is like the others'" if others.several else "cannot be compared with another's"
        said.append(f"its distance, {number(distance)}, {like}")
    return "; ".join(said) or "nothing speaks against it"


def _wrong(flagged: float, of: str = "") -> str:
    return f"{counted(int(flagged), 'row')}{of} look{'s' * (flagged == 1)} wrong"


def _alone(quality: float) -> str:
    return f"its quality, {tenths(quality)}, cannot be compared with another's"


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
