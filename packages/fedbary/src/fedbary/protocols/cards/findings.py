"""What stands out in a card: a column in another unit than the others', labels in another coding, missing cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.notes import Fact, Note
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.class_moments import EXACT, ClassMoments
from fedbary.protocols.cards.placing import missing_of_columns
from fedbary.protocols.cards.repair import repaired
from fedbary.space.label_coding import other_coding
from fedbary.space.notes import MOST_COLUMNS, lacking_notes
from fedbary.space.schema import Schema
from fedbary.valuation.verdict import COLUMN_OFF, LEVEL_CODING

Floats = NDArray[np.float64]

# A column is off where, class by class, its means lie so many of the others' deviations away, ...
_DEVIATIONS = 4.0
# ... or its spread is so many times theirs, or hardly any.
_TIMES = 6.0
# A class mix alone may make it several times smaller.
_HARDLY = 1.0 / 9.0
# A coordinate of a block beyond so many of the units that the whole block is scaled by.
_BLOCK_SPREAD = 5.0
# Names in a note; there may be thousands.
_MOST_NAMED = 20


class Findings:
    """What the coordinator should look at first in each client's card.

    Parameters
    ----------
    cards : mapping of name to Card
        All cards that are valued.
    parts : mapping of name to ClassMoments
        The same cards in the schema's coordinates.
    schema : Schema
        What the cards agree on.
    """

    def __init__(self, cards: Mapping[str, Card], parts: Mapping[str, ClassMoments], schema: Schema) -> None:
        self._cards, self._schema = cards, schema
        self._places = {name: place for place, name in enumerate(parts)}
        self._holders = Counter(label for card in cards.values() for label in card.classes)
        self._holders_of_levels: dict[str, Counter[str]] = defaultdict(Counter)
        for card in cards.values():
            for column in card.columns:
                self._holders_of_levels[column.name].update(column.levels)
        comparable = len(parts) > 1 and schema.projection is None
        self._beside = _Beside.of(list(parts.values())) if comparable else None

    def of(self, name: str) -> list[Note]:
        """Those of one client."""
        coding = self._coding(name) if self._schema.label.kind == "classes" else None
        lacking = lacking_notes(missing_of_columns(self._cards[name]))
        return [*([] if coding is None else [coding]), *self._levels(name), *self._columns_off(name), *lacking]

    def _coding(self, name: str) -> Note | None:
        """Labels of which no other client has any, and that look like theirs in other clothes, or are all it has."""
        own = self._cards[name].classes
        meant, common = self._meant(own, self._holders)
        if meant:
            return Note("schema.other-coding", {"found": tuple(meant), "meant": tuple(meant.values())})
        if own and common and all(self._holders[label] == 1 for label in own):
            return Note("schema.unknown-classes", {"count": len(own), "classes": tuple(own[:_MOST_NAMED])})
        return None

    def _levels(self, name: str) -> list[Note]:
        """Columns of categories with levels that no other client has, and that look like theirs in other clothes."""
        found = []
        for column in self._cards[name].columns:
            meant, _ = self._meant(column.levels, self._holders_of_levels[column.name])
            if meant:
                facts: dict[str, Fact] = {
                    "found": tuple(meant)[:_MOST_NAMED],
                    "meant": tuple(meant.values())[:_MOST_NAMED],
                }
                found.append(Note(LEVEL_CODING, {"column": column.name, **facts}))
        return found[:MOST_COLUMNS]

    def _meant(self, own: Sequence[str], holders: Mapping[str, int]) -> tuple[dict[str, str], list[str]]:
        """What names that one client alone has probably mean, and the names that most of the others have."""
        # Two clients that write names in their own way must not make each other's the federation's.
        common = [one for one, number in holders.items() if (number - (one in own)) * 2 > len(self._cards) - 1]
        return other_coding([one for one in own if holders[one] == 1], common), common

    def _columns_off(self, name: str) -> list[Note]:
        """Columns of numbers whose means or spread are unlike those of the median other client, class by class."""
        if self._beside is None:
            return []
        at = self._places[name]
        away, times, wide = self._beside.away[at], self._beside.times[at], self._beside.wide[at]
        if np.isnan(away).any():
            return []
        odd: list[tuple[float, dict[str, Fact]]] = []
        start = 0
        for column in self._schema.columns:
            for place in range(0 if column.kind == "categorical" else column.width):
                far, ratio = abs(float(away[start + place])), float(times[start + place])
                # Among pixels some hardly ever vary; one is off where it varies more than any pixel does.
                if column.kind == "block" and not (wide[start + place] > _BLOCK_SPREAD and ratio > _TIMES):
                    continue
                if far > _DEVIATIONS or ratio > _TIMES or ratio < _HARDLY:
                    named = f"{column.name}[{place}]" if column.kind == "block" else column.name
                    facts: dict[str, Fact] = {
                        "column": named,
                        "deviations": round(far, 1),
                        "spread": float(f"{ratio:.2g}"),
                    }
                    odd.append((max(far / _DEVIATIONS, float(abs(np.log(max(ratio, 1e-12))) / np.log(_TIMES))), facts))
            start += column.coordinates
        worst = sorted(odd, key=lambda pair: -pair[0])[:MOST_COLUMNS]
        return [Note(COLUMN_OFF, facts) for _, facts in worst]


@dataclass(frozen=True, eq=False)
class _Beside:
    """Every client (N) beside the median of its others, in each coordinate (d).

    ``away`` is how many deviations the client's class means lie away on average, NaN where no class is shared;
    ``times`` how many times its spread is the others'; ``wide`` its spread.
    """

    away: Floats
    times: Floats
    wide: Floats

    @classmethod
    def of(cls, parts: Sequence[ClassMoments]) -> _Beside:
        counts = np.stack([np.maximum(part.counts, 0.0) for part in parts])
        means, variances = map(np.stack, zip(*map(_means_and_variances, parts), strict=True))
        usual = medians_of_others(np.where(counts.sum(axis=1, keepdims=True) > 0, variances, np.nan))
        # A column that is constant elsewhere has no deviation to count in; a thousandth of the schema's unit will do.
        spread = np.sqrt(np.maximum(usual, 1e-6))
        apart, rows = np.zeros(variances.shape), np.zeros((len(parts), 1))
        for own, number in zip(means.swapaxes(0, 1), counts.T[:, :, None], strict=True):
            others = medians_of_others(np.where(number > 0, own, np.nan))
            shared = np.isfinite(others) & (number > 0)
            apart += np.where(shared, number * (own - others), 0.0)
            rows += np.where(shared.any(axis=1, keepdims=True), number, 0.0)
        away = np.where(rows > 0, apart / np.maximum(rows, 1e-12) / spread, np.nan)
        return cls(away, np.sqrt(np.maximum(variances, 1e-6)) / spread, np.sqrt(variances))


def medians_of_others(points: Floats) -> Floats:
    """For each of (n, d) points the coordinate medians of all others; NaN is no point, and no other has no median.

    Sorted once: a median without one of the values is next to the median with it.

    Examples
    --------
    >>> medians_of_others(np.array([[1.0], [2.0], [9.0], [np.nan]])).ravel().tolist()
    [5.5, 5.0, 1.5, 2.0]
    """
    order = np.argsort(points, axis=0)
    ordered = np.take_along_axis(points, order, axis=0)
    ranks = np.argsort(order, axis=0)
    there = np.isfinite(points)
    others = there.sum(axis=0) - there

    def ranked(rank: NDArray[np.int_]) -> Floats:
        rank = np.maximum(rank, 0)
        return np.take_along_axis(ordered, np.minimum(rank + (rank >= ranks), len(points) - 1), axis=0)

    medians = (ranked((others - 1) // 2) + ranked(others // 2)) / 2.0
    return np.asarray(np.where(others > 0, medians, np.nan))


def _means_and_variances(part: ClassMoments) -> tuple[Floats, Floats]:
    """Class means (K, d), and variances (d,) about them."""
    if part.noise != EXACT:
        _, means, covariance = repaired(part)
        return means, np.diag(covariance).copy()
    within = part.within()
    return part.means, np.maximum(np.diag(within) if part.full else within, 0.0) / max(part.rows, 1.0)
