"""The verdict on each client: include it, look at it first, leave it out, or that nothing can be said; and why.

It is made of what a coordinator knows in every federation (the columns of ``result.clients``, findings in the clients'
notes, and Shapley values), never of rows. Where the share of bad rows is estimated, a client is judged by that share
alone: three bad clients of six are three bad clients. That a client's values lie elsewhere, or that it has one class
only, is stated and never a reason: different is not bad. Over a network most of these numbers are
what the clients say of themselves; ``result.notes`` names them (``valuation.self-reported``). The rules are these few
lines: a report that is shown to a board must not rest on a hidden judgement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING, Any

from fedbary.judging.federation import Estimate
from fedbary.notes import Note
from fedbary.valuation.outcome import Outcome

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

LACKS_EVERY_CLASS = "schema.lacks-every-class"
TOO_GOOD = "protocols.too-good"
OTHER_CODING, COLUMN_BEYOND, MANY_COPIES = "schema.other-coding", "schema.column-beyond", "schema.many-copies"
# Found by the server, of what clients report of themselves.
_JUDGED = (
    "judging.label-coding", "judging.label-means", "judging.label-shares", "judging.class-labels", "judging.blur",
)  # fmt: skip
SHIFT, DISPUTED = "judging.shift", "judging.disputed"
# Of a card that nobody else's bears out.
NO_WEIGHT = "protocols.card-no-weight"
COLUMN_OFF, LEVEL_CODING, SAME_CARD = "protocols.card-column-off", "protocols.card-level-coding", "protocols.same-card"
CONSTANT, LABEL_AGAIN = "protocols.card-column-constant", "protocols.card-column-label"
STATEMENTS = (CONSTANT, MANY_COPIES, SAME_CARD, SHIFT, "judging.own-label", "judging.one-label")
# A client is left out, or looked at first, where more than this share of its rows is bad for sure: the whole interval
# lies above. It is included only where the whole interval lies below the last share.
LEAVE_OUT_ABOVE, LOOK_ABOVE, INCLUDE_BELOW = 0.3, 0.05, 0.2
# So many more of its cells are missing than of the reference's.
_MORE_MISSING = 0.05
# So many flagged rows are never included, whatever is estimated.
_MOSTLY_FLAGGED = 0.6
# Without an estimate: this share of flagged rows, ...
_MANY_FLAGS = 0.05
# ... or a closeness or distance so many robust deviations from the median client's, and by so much.
_DEVIATIONS, _CLOSENESS_GAP, _DISTANCE_RATIO = 3.0, 0.03, 1.25
_MAD_TO_SIGMA = 1.4826
_ROUNDING, _ONE_PER_CENT = 1e-9, 0.01


class Advice(StrEnum):
    """What to do with a client."""

    INCLUDE = "include"
    LOOK = "look at first"
    LEAVE = "leave out"
    UNKNOWN = "nothing can be said"
    NOT_VALUED = "not valued"


PROBLEMS_FIRST = (Advice.LEAVE, Advice.LOOK, Advice.NOT_VALUED, Advice.UNKNOWN, Advice.INCLUDE)


@dataclass(frozen=True)
class Opinion:
    """What to do with one client, and why."""

    client: str
    advice: Advice
    reasons: tuple[Note, ...]

    @property
    def why(self) -> str:
        return "; ".join(str(reason) for reason in self.reasons)


def verdict(result: Valuation) -> tuple[Opinion, ...]:
    """An opinion on every client, in the order of `Valuation.ranking`.

    - *leave out*: more than 30 % of its rows are bad, by the whole interval; or its Shapley value is below zero by more
      than two standard errors;
    - *look at first*: more than 5 % of its rows are bad, by the whole interval; or there is a finding: its labels are
      written in another way, coded in another order, wrong in one class or not what its measurements look like, all its
      rows scatter more than the others', a column is in another unit or says the label once more, 5 % more of its cells
      are missing than of the reference's (without one: the median client's), it has hardly a row of any class of the
      target, or claims to be less than half as far away as rows of the target itself; or its card says that many more
      labels are wrong than it says itself; or more of its rows are flagged than the upper end of the interval and 5 %
      explain, or 60 % and more; or its Shapley value is not above zero;
    - *nothing can be said*: no share could be estimated, or its interval reaches from below 5 % to above 20 %, or its
      rows are too few to have one class of the target, or its card has no weight in the models of the others;
    - *not valued*: it failed, refused or did not answer;
    - *include*: everybody else, so that at most 20 % of its rows are bad by the whole interval.

    That its values lie elsewhere, that a column has one value in all rows, that it has a class of its own, one class
    only, or copies, is added to the reasons and changes no verdict.

    Protocols that estimate no share of bad rows compare clients with each other, and the reasons say so: *look at
    first* then is also who has 5 % of its rows flagged, whose closeness is below the median client's by three robust
    deviations and 0.03, or, where there is no closeness, whose distance is above it by three deviations and a quarter.
    Nothing can be said of a single client.
    """
    ranked = [{str(key): value for key, value in row.items()} for row in result.ranking().to_dict("records")]
    outcomes = {str(row["client"]): result.outcomes.get(str(row["client"]), Outcome()).redacted() for row in ranked}
    valued = [row for row in ranked if outcomes[str(row["client"])].ok]
    run = _Run(
        # A protocol that estimates shares says how much its reference lacks, also where it could estimate none.
        estimates="reference_missing" in result.settings or bool(result.clients["quality"].notna().any()),
        reference=bool(result.settings.get("reference_rows")),
        reference_missing=float(result.settings.get("reference_missing") or 0.0),
        shapley={} if result.scores is None else result.scores.intervals(),
        valued=len(valued),
        closeness=_middle([_known(row["closeness"]) for row in valued]),
        distance=_middle([_known(row["distance"]) for row in valued]),
        classes=0 if result.schema is None else len(result.schema.label.classes),
    )
    return tuple(_Case(row, outcomes[str(row["client"])], run).opinion() for row in ranked)


@dataclass(frozen=True)
class _Run:
    """What the clients of a run are judged by; ``closeness`` and ``distance`` are medians with a robust deviation."""

    estimates: bool
    reference: bool
    reference_missing: float
    shapley: Mapping[str, tuple[float, float, float]]
    valued: int
    closeness: tuple[float, float]
    distance: tuple[float, float]
    classes: int


class _Case:
    """One client: its row of the ranking, its redacted outcome, and the run."""

    def __init__(self, row: Mapping[str, Any], outcome: Outcome, run: _Run) -> None:
        self.name, self.outcome, self.run = str(row["client"]), outcome, run
        words = ("client", "node", "rank", "status", "notes")
        self.numbers = {name: _known(row[name]) for name in row if name not in words}
        self.worth = run.shapley.get(self.name)
        good = self.estimate("quality")  # which is one minus the share of bad rows
        self.bad = None if good is None else Estimate(1.0 - good.share, 1.0 - good.high, 1.0 - good.low)

    def opinion(self) -> Opinion:
        if not self.outcome.ok:
            return Opinion(self.name, Advice.NOT_VALUED, self.outcome.notes)
        advice, reasons = self.advice()
        statements = [note for note in self.outcome.notes if note.code in STATEMENTS]
        return Opinion(self.name, advice, (*reasons, *statements))

    def advice(self) -> tuple[Advice, list[Note]]:
        harms = self.worth is not None and self.worth[2] < 0
        concerns: list[Note] = []
        if self.worth is not None and (harms or self.worth[0] <= 0):
            concerns.append(_note("harms" if harms else "adds-nothing", value=self.worth[0]))
        # A column or a coding says more than the share of rows that it makes odd.
        concerns += self.findings()
        if self.bad is not None and self.bad.low > LOOK_ABOVE + _ROUNDING:
            concerns += self.channels(self.bad)
        concerns += self.many_flags()
        if not self.run.estimates:
            concerns += self.compared()
        if concerns:
            # Where card and client contradict each other, nobody knows before somebody has looked.
            certain = self.bad is not None and self.bad.low > LEAVE_OUT_ABOVE + _ROUNDING
            spoilt = certain and not self.outcome.has(DISPUTED)
            return (Advice.LEAVE if harms or spoilt else Advice.LOOK), concerns
        # Nobody is included whose card nobody else's bears out.
        weightless = next((note for note in self.outcome.notes if note.code == NO_WEIGHT), None)
        unknown = self.unknown() or weightless
        return (Advice.UNKNOWN, [unknown]) if unknown is not None else (Advice.INCLUDE, self.praise())

    def estimate(self, name: str) -> Estimate | None:
        share, low, high = (self.numbers[f"{name}{end}"] for end in ("", "_low", "_high"))
        return (
            None if share is None else Estimate(share, share if low is None else low, share if high is None else high)
        )

    def channels(self, bad: Estimate) -> list[Note]:
        """Where the bad rows are seen: in labels, in features, or only in both together."""
        found = {"wrong-labels": self.estimate("wrong_labels"), "odd-features": self.estimate("odd_features")}
        known = sorted(((one, what) for what, one in found.items() if one), key=lambda pair: -pair[0].share)
        for least in (LOOK_ABOVE, 0.0):
            named = [_note(what, **one.to_json()) for one, what in known if one.low > least]
            if named:
                return named
        return [_note("bad-rows", **bad.to_json())]

    def findings(self) -> list[Note]:
        codes = (OTHER_CODING, LEVEL_CODING, COLUMN_BEYOND, COLUMN_OFF, LABEL_AGAIN, *_JUDGED, DISPUTED)
        notes = [note for note in self.outcome.notes if note.code in codes]
        notes.sort(key=lambda note: codes.index(note.code))
        missing = self.numbers["missing"]
        if missing is not None and missing - self.run.reference_missing > _MORE_MISSING + _ROUNDING:
            what = "much-missing" if self.run.reference else "more-missing"
            notes.append(_note(what, missing=missing, usual=self.run.reference_missing))
        lacks = self.outcome.has(LACKS_EVERY_CLASS) and not self.outcome.has(OTHER_CODING)
        if lacks and not self.few_of_every_class():
            notes.append(_note("hardly-a-class"))
        if self.outcome.has(TOO_GOOD):
            notes.append(_note("nearer-than-the-target"))
        return notes

    def many_flags(self) -> list[Note]:
        """Whether more rows are flagged than the estimate explains, so that no praise stands beside them."""
        flagged, rows = self.numbers["flagged"], self.numbers["rows"]
        if not flagged or not rows:
            return []
        most = _MANY_FLAGS if self.bad is None else self.bad.high + LOOK_ABOVE + _ROUNDING
        if self.bad is None or self.bad.low <= LOOK_ABOVE + _ROUNDING:  # else the estimate is a concern already
            most = min(most, _MOSTLY_FLAGGED)
        share = flagged / rows
        return [_note("many-flags", flagged=int(flagged), rows=int(rows), share=share)] if share >= most else []

    def compared(self) -> list[Note]:
        """Concerns of a protocol that only compares clients with each other."""
        closeness, distance = self.numbers["closeness"], self.numbers["distance"]
        if closeness is not None:
            middle, spread = self.run.closeness
            less_close = closeness < middle - max(_DEVIATIONS * spread, _CLOSENESS_GAP)
            return [_note("less-close", closeness=closeness, median=middle)] if less_close else []
        middle, spread = self.run.distance
        far = distance is not None and distance > max(middle + _DEVIATIONS * spread, _DISTANCE_RATIO * middle)
        return [_note("far", distance=distance, median=middle)] if distance is not None and far else []

    def few_of_every_class(self) -> bool:
        """Whether a client with known labels may lack every class: because its rows, or its different ones, are few."""
        lacks = next((note for note in self.outcome.notes if note.code == LACKS_EVERY_CLASS), None)
        if lacks is None:
            return False
        least = lacks.facts.get("least")
        most = self.run.classes * ((least if isinstance(least, int) else 1) - 1)
        return (self.numbers["rows"] or 0.0) <= most or self.outcome.has(MANY_COPIES)

    def unknown(self) -> Note | None:
        """Why nothing can be said of a client that nothing speaks against; None where something can."""
        if self.few_of_every_class():
            return _note("few-of-every-class")
        if self.run.estimates:
            if self.bad is None:
                return _note("no-estimate")
            return _note("could-be-anything", high=self.bad.high) if self.bad.high > INCLUDE_BELOW + _ROUNDING else None
        if self.worth is not None:
            return None
        if self.numbers["distance"] is None and self.numbers["closeness"] is None:
            return _note("no-number")
        return None if self.run.valued > 1 else _note("nobody-to-compare-with")

    def praise(self) -> list[Note]:
        said = []
        flagged, closeness, distance = (self.numbers[name] for name in ("flagged", "closeness", "distance"))
        if self.worth is not None:
            said.append(_note("adds", value=self.worth[0]))
        if self.bad is not None:
            said.append(_note("few-bad-rows", high=max(self.bad.high, _ONE_PER_CENT)))
        elif closeness is not None:
            said.append(_note("as-close", closeness=closeness))
        elif distance is not None:
            said.append(_note("near", distance=distance))
        if flagged is not None:
            said.append(_note("flagged", flagged=int(flagged)) if flagged else _note("no-flag"))
        return said


def _note(what: str, **facts: float | int) -> Note:
    return Note(f"verdict.{what}", facts)


def _middle(values: list[float | None]) -> tuple[float, float]:
    """Median and robust deviation of the known values."""
    known = [value for value in values if value is not None]
    if not known:
        return math.nan, math.nan
    middle = median(known)
    return middle, _MAD_TO_SIGMA * median(abs(value - middle) for value in known)


def _known(value: Any) -> float | None:
    import pandas as pd

    return None if pd.isna(value) else float(value)
