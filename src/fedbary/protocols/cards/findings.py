"""What stands out in a card beside the others': a column in another unit, labels in another coding, cells that lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.notes import Fact, Note
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.class_moments import EXACT, ClassMoments
from fedbary.protocols.cards.repair import repaired
from fedbary.space.label_coding import other_coding
from fedbary.space.notes import MOST_COLUMNS
from fedbary.space.schema import Schema
from fedbary.valuation.verdict import COLUMN_OFF

Floats = NDArray[np.float64]

# A column is off where, class by class, its means lie so many of the others' deviations away, ...
_DEVIATIONS = 4.0
# ... or its spread is so many times theirs, or hardly any.
_TIMES = 6.0
# A class mix alone may make it several times smaller.
_HARDLY = 1.0 / 30.0
# A coordinate of a block beyond so many of the units that the whole block is scaled by.
_BLOCK_SPREAD = 5.0


def findings(name: str, cards: Mapping[str, Card], parts: Mapping[str, ClassMoments], schema: Schema) -> list[Note]:
    """What the coordinator should look at first in one client's card."""
    notes = []
    if schema.label.kind == "classes":
        coding = _coding(name, cards)
        notes += [] if coding is None else [coding]
    others = [part for other, part in parts.items() if other != name]
    if others:
        notes += _columns_off(parts[name], others, schema)
    return notes


def _coding(name: str, cards: Mapping[str, Card]) -> Note | None:
    """Labels of which no other client has any, and that look like theirs in other clothes."""
    theirs: dict[str, int] = {}
    for other, card in cards.items():
        if other != name:
            for label in card.classes:
                theirs[label] = theirs.get(label, 0) + 1
    # Two clients that write labels in their own way must not make each other's the federation's.
    common = [label for label, holders in theirs.items() if holders * 2 > len(cards) - 1]
    found = [label for label in cards[name].classes if label not in theirs]
    meant = other_coding(found, common)
    if not meant:
        return None
    return Note("schema.other-coding", {"found": tuple(meant), "meant": tuple(meant.values())})


def _columns_off(own: ClassMoments, others: Sequence[ClassMoments], schema: Schema) -> list[Note]:
    """Columns of numbers whose means or spread are unlike those of the median other client, class by class."""
    if schema.projection is not None:
        return []
    usual = _usual(others, own)
    if usual is None:
        return []
    away, times = _compared(own, *usual)
    wide = np.sqrt(_variances(own))
    odd: list[tuple[float, dict[str, Fact]]] = []
    start = 0
    for column in schema.columns:
        for place in range(0 if column.kind == "categorical" else column.width):
            at = start + place
            far, ratio = abs(float(away[at])), float(times[at])
            # Among pixels some hardly ever vary; one is off where it varies more than any pixel does.
            if column.kind == "block" and not (wide[at] > _BLOCK_SPREAD and ratio > _TIMES):
                continue
            if far > _DEVIATIONS or ratio > _TIMES or ratio < _HARDLY:
                name = f"{column.name}[{place}]" if column.kind == "block" else column.name
                facts: dict[str, Fact] = {"column": name, "deviations": round(far, 1), "spread": float(f"{ratio:.2g}")}
                odd.append((max(far / _DEVIATIONS, float(abs(np.log(max(ratio, 1e-12))) / np.log(_TIMES))), facts))
        start += column.coordinates
    worst = sorted(odd, key=lambda pair: -pair[0])[:MOST_COLUMNS]
    return [Note(COLUMN_OFF, facts) for _, facts in worst]


def _usual(others: Sequence[ClassMoments], own: ClassMoments) -> tuple[Floats, Floats] | None:
    """Class means and within variances of the median other client; None where no class is shared."""
    shared = (own.counts > 0) & np.any([part.counts > 0 for part in others], axis=0)
    if not shared.any():
        return None
    means = np.full(own.sums.shape, np.nan)
    seen = [(_means(part), part) for part in others]
    for code in np.flatnonzero(shared):
        means[code] = np.median([known[code] for known, part in seen if part.counts[code] > 0], axis=0)
    variances = np.median([_variances(part) for part in others if part.rows > 0], axis=0)
    return means, variances


def _compared(own: ClassMoments, means: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """How many deviations the client's class means lie away on average, and how many times its spread is."""
    shared = np.isfinite(means).all(axis=1)
    counts = np.maximum(own.counts[shared], 0.0)
    share = counts / counts.sum()
    # A column that is constant elsewhere has no deviation to count in; a thousandth of the schema's unit will do.
    spread = np.sqrt(np.maximum(variances, 1e-6))
    away = share @ (_means(own)[shared] - means[shared]) / spread
    return np.asarray(away), np.sqrt(np.maximum(_variances(own), 1e-6)) / spread


def _means(part: ClassMoments) -> Floats:
    return part.means if part.noise == EXACT else repaired(part)[1]


def _variances(part: ClassMoments) -> Floats:
    if part.noise != EXACT:
        return np.diag(repaired(part)[2]).copy()
    within = part.within()
    return np.asarray(np.maximum(np.diag(within) if part.full else within, 0.0) / max(part.rows, 1.0))
