"""What stands out in a card: another unit, labels in another coding, missing cells; and which cards are equal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.notes import Fact, Note
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.class_moments import EXACT, ClassMoments, repaired
from fedbary.protocols.cards.placing import missing_of_columns
from fedbary.space.labels import other_coding
from fedbary.space.notes import MOST_COLUMNS, lacking_notes
from fedbary.space.schema import Schema
from fedbary.valuation.verdict import COLUMN_OFF, CONSTANT, LABEL_AGAIN, LEVEL_CODING

Floats = NDArray[np.float64]

# A column is off where, class by class, its means lie so many of the others' deviations away (a harmless site moves
# them by up to 1.5), or where it is so many times larger or smaller, values and spread alike, as another unit makes it;
# and in both where it is so many deviations of what clients, or sites, differ by from the others.
_DEVIATIONS, _TIMES, _USUAL_SPREAD = 4.0, 20.0, 0.35
# A column whose values' share is below the first is nearly always 0 with the others: then its mean says how many values
# there are and how large these are, and it is off where most rows have one, or where they are so many times larger.
_RARE, _COMMON = 0.1, 0.5
# Least variance, in the schema's units, of a column that varies.
_VARIES = 1e-9
# Rows, in all and for each class, from which on it is no chance that a column does not vary at all; as a unit changes
# size and spread, their logarithms differ by less than the third of these and from 0 by more than the fourth.
_LEAST_ROWS, _LEAST_OF_CLASS, _ALIKE, _OTHER_UNIT = 50, 10, 0.25, 0.4
# A coordinate of a block beyond so many of the units that the whole block is scaled by.
_BLOCK_SPREAD = 5.0
# Names in a note; there may be thousands.
_MOST_NAMED = 20

# In standard deviations of a column. Rounding stays far below it, and two tables of a million rows each far above.
_SAME = 1e-6


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
    reference : Card, optional
        The reference's card.
    """

    def __init__(
        self,
        cards: Mapping[str, Card],
        parts: Mapping[str, ClassMoments],
        schema: Schema,
        reference: Card | None = None,
    ) -> None:
        self._cards, self._schema = cards, schema
        self._places = {name: place for place, name in enumerate(parts)}
        # A reference's names are everybody's: as many holders as there are clients.
        everybody = [*cards.values(), *([] if reference is None else [reference] * (len(cards) + 1))]
        self._holders = Counter(label for card in everybody for label in card.classes)
        self._holders_of_levels: dict[str, Counter[str]] = defaultdict(Counter)
        for card in everybody:
            for column in card.columns:
                self._holders_of_levels[column.name].update(column.levels)
        comparable = len(parts) > 1 and schema.projection is None
        self._beside = _Beside.of(list(parts.values()), schema) if comparable else None

    def of(self, name: str) -> list[Note]:
        """Those of one client."""
        own, used = self._cards[name], {column.name for column in self._schema.columns}
        notes: list[Note] = []
        if self._schema.label.kind == "classes":
            # Labels of which no other client has any, and that look like theirs in other clothes, or are all it has.
            meant, common = self._meant(own.classes, self._holders)
            if meant:
                notes.append(Note("schema.other-coding", {"found": tuple(meant), "meant": tuple(meant.values())}))
            elif own.classes and common and all(self._holders[label] == 1 for label in own.classes):
                facts: dict[str, Fact] = {"count": len(own.classes), "classes": own.classes[:_MOST_NAMED]}
                notes.append(Note("schema.unknown-classes", facts))
        levels = []
        for column in own.columns:
            meant, _ = self._meant(column.levels, self._holders_of_levels[column.name])
            if meant and column.name in used:
                written, names = tuple(meant)[:_MOST_NAMED], tuple(meant.values())[:_MOST_NAMED]
                levels.append(Note(LEVEL_CODING, {"column": column.name, "found": written, "meant": names}))
        shares = {column: share for column, share in missing_of_columns(own).items() if column in used}
        return [*notes, *levels[:MOST_COLUMNS], *self._columns_off(name), *lacking_notes(shares)]

    def _meant(self, own: Sequence[str], holders: Mapping[str, int]) -> tuple[dict[str, str], list[str]]:
        """What names that one client alone has probably mean, and the names that most of the others have."""
        # Two clients that write names in their own way must not make each other's the federation's.
        common = [one for one, number in holders.items() if (number - (one in own)) * 2 > len(self._cards) - 1]
        return other_coding([one for one in own if holders[one] == 1], common), common

    def _columns_off(self, name: str) -> list[Note]:
        """Columns of numbers that are in another unit, or somewhere else, than those of the median other client."""
        if self._beside is None:
            return []
        beside, at = self._beside, self._places[name]
        odd: list[tuple[float, dict[str, Fact]]] = []
        for column in self._schema.columns:
            start = self._schema.slices[column.name].start
            for place in range(0 if column.kind == "categorical" else column.width):
                strength = float(beside.strength[at, start + place])
                # Among pixels some hardly ever vary; one is off where it varies more than any pixel does.
                wide = column.kind != "block" or beside.wide[at, start + place] > _BLOCK_SPREAD
                if strength > 1.0 and wide:
                    facts: dict[str, Fact] = {
                        "column": f"{column.name}[{place}]" if column.kind == "block" else column.name,
                        "deviations": round(abs(float(beside.away[at, start + place])), 1),
                        "spread": float(f"{beside.times[at, start + place]:.2g}"),
                    }
                    if np.isfinite(factor := beside.factor[at, start + place]):
                        facts["factor"] = float(f"{factor:.2g}")
                    odd.append((strength, facts))
        worst = sorted(odd, key=lambda pair: -pair[0])[:MOST_COLUMNS]
        notes = [Note(COLUMN_OFF, facts) for _, facts in worst]
        for code, where in ((LABEL_AGAIN, beside.label), (CONSTANT, beside.constant)):
            of_numbers = (column.name for column in self._schema.columns if column.kind == "numeric")
            still = [column for column in of_numbers if where[at, self._schema.slices[column].start]]
            notes += [Note(code, {"column": column}) for column in still[:MOST_COLUMNS]]
        return notes


@dataclass(frozen=True, eq=False)
class _Beside:
    """Every client (N) beside the median of its others, in each coordinate (d).

    ``away`` is how many deviations the client's class means lie away on average, 0 where no class is shared;
    ``times`` how many times its spread is the others'; ``wide`` its spread; a ``strength`` above 1 is worth a word.
    ``factor`` is how many times its values are theirs, where another unit explains them. ``constant`` is a column that
    does not vary, where the others' does; ``label`` one that varies between its classes and within none.

    A column x that is 0 but for a share p of rows, which have values of size a, has E[x] = pa and E[x²] = pa²: so a is
    E[x²]/E[x], and p is E[x]²/E[x²]. Another unit changes a, never p; more or fewer such rows change p, and not a.
    """

    away: Floats
    times: Floats
    wide: Floats
    strength: Floats
    factor: Floats
    constant: NDArray[np.bool_]
    label: NDArray[np.bool_]

    @classmethod
    def of(cls, parts: Sequence[ClassMoments], schema: Schema) -> _Beside:
        counts = np.stack([np.maximum(part.counts, 0.0) for part in parts])
        means, variances = map(np.stack, zip(*map(_means_and_variances, parts), strict=True))
        rows = np.maximum(counts.sum(axis=1, keepdims=True), 1e-12)
        spread = _known(np.sqrt(variances), variances > _VARIES)
        usual = medians_of_others(spread)
        most_vary = 2 * (np.isfinite(spread).sum(axis=0) - np.isfinite(spread)) > len(parts) - 1
        apart, shared_rows = np.zeros(variances.shape), np.zeros((len(parts), 1))
        for own, number in zip(means.swapaxes(0, 1), counts.T[:, :, None], strict=True):
            others = medians_of_others(np.where(number > 0, own, np.nan))
            shared = np.isfinite(others) & (number > 0)
            apart += np.where(shared, number * (own - others), 0.0)
            shared_rows += np.where(shared.any(axis=1, keepdims=True), number, 0.0)
        away = np.nan_to_num(apart / np.maximum(shared_rows, 1e-12) / usual)
        times = spread / usual
        mean = np.einsum("ik,ikj->ij", counts, means) / rows
        second = variances + np.einsum("ik,ikj->ij", counts, (means - mean[:, None]) ** 2) / rows
        # Noise of ε is no spread, and of a few rows none need differ.
        enough = np.maximum(_LEAST_ROWS, _LEAST_OF_CLASS * (counts > 0).sum(axis=1, keepdims=True))
        said = (rows >= enough) & np.array([[part.noise == EXACT] for part in parts])
        still, apart_by_label = said & most_vary & ~(variances > _VARIES), second > _VARIES
        # About where 0 lies in the schema's coordinates, of columns of numbers.
        for column in schema.columns:
            if column.kind != "categorical":
                mean[:, schema.slices[column.name]] += np.array(column.mean) / np.array(column.scale)
        second = second + mean**2
        there = second > 0
        share = _known(mean**2, there) / np.where(there, second, 1.0)
        size = np.log(_known(second, mean != 0)) - np.log(_known(np.abs(mean), mean != 0))
        larger = size - medians_of_others(size)
        # Means and values that tell a unit from a site, and from rows with a value that are more or fewer.
        rare = medians_of_others(share) < _RARE
        told = ~rare | (share > _COMMON) | (np.abs(larger) > np.log(_TIMES))
        by_place = np.abs(away) / (_DEVIATIONS * np.hypot(1.0, _between(away))) * told
        log_times = np.log(times)
        least = np.maximum(np.log(_TIMES), _DEVIATIONS * np.hypot(_USUAL_SPREAD, _between(log_times)))
        by_size = np.abs(log_times) / least * (larger * np.sign(log_times) > np.abs(log_times) / 2)
        strength = np.where(most_vary, np.fmax(by_place, by_size), 0.0)
        unit = (np.abs(larger - log_times) < _ALIKE) & (np.abs(larger) > _OTHER_UNIT)
        constant, label = still & ~rare & ~apart_by_label, still & ~rare & apart_by_label
        factor = np.exp(_known(larger, unit))
        return cls(away, np.nan_to_num(times), np.sqrt(variances), strength, factor, constant, label)


def _known(values: Floats, where: NDArray[np.bool_]) -> Floats:
    return np.where(where, values, np.nan)


def _between(found: Floats) -> Floats:
    """How far the others of each client lie apart, as a standard deviation; 0 where there are not two of them."""
    if len(found) < 3:
        return np.zeros(found.shape)
    middle = medians_of_others(np.vstack([found, np.full(found.shape[1], np.nan)]))[-1]  # of all, known or not
    return np.asarray(np.nan_to_num(1.4826 * medians_of_others(np.abs(found - middle))))


def medians_of_others(points: Floats) -> Floats:
    """For each of (n, d) points the coordinate medians of all others; NaN is no point, and no other has no median.

    Sorted once: a median without one of the values is next to the median with it.
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


def counted_as(cards: Mapping[str, Card]) -> dict[str, str]:
    """For each client the first one whose card says the same: class shares, means and products of columns."""
    with np.errstate(all="ignore"):  # numbers that are too large are nobody's, and like no other
        said = {name: _Said.of(card) for name, card in cards.items()}
    places = {name: place for place, name in enumerate(cards)}
    # In the order of a number that equal cards share but for rounding, so that not every pair has to be compared.
    groups: list[list[str]] = []
    near: list[list[str]] = []
    for name in sorted(cards, key=lambda name: said[name].number):
        own = said[name]
        near = [group for group in near if own.number - said[group[-1]].number <= own.rounding]
        group = next((group for group in near if said[group[-1]].same(own)), None)
        if group is None:
            group = []
            groups.append(group)
            near.append(group)
        group.append(name)
    first = {name: min(group, key=places.__getitem__) for group in groups for name in group}
    return {name: first[name] for name in cards}


@dataclass(frozen=True, eq=False)
class _Said:
    """What a card says per row: means in the columns' own units, and all else in their standard deviations."""

    about: tuple[object, ...]
    mean: Floats
    deviation: Floats
    shares: Floats

    @classmethod
    def of(cls, card: Card) -> _Said:
        rows = max(float(card.counts.sum()), np.finfo(float).tiny)
        mean = card.centre + card.sums.sum(axis=0) / rows
        middle = card.about(mean)
        variance = (np.diag(middle.second) if card.full else middle.second) / rows
        varies = variance > np.maximum((1e-9 * mean) ** 2, 1e-200)
        deviation = np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), np.maximum(1e-9 * np.abs(mean), 1e-100))
        by = np.outer(deviation, deviation) if card.full else deviation**2
        parts = card.counts / rows, middle.sums / rows / deviation, middle.second / rows / by
        schema = None if card.schema is None else card.schema.fingerprint
        about = (card.label, card.kind, card.columns, card.classes, schema, card.release, card.full)
        return cls(about, mean, deviation, np.concatenate([part.ravel() for part in parts]))

    @property
    def number(self) -> float:
        return float(np.nan_to_num(np.abs(self.shares).sum()))

    @property
    def rounding(self) -> float:
        """How far the numbers of equal cards can be apart."""
        return 2.0 * _SAME * (len(self.shares) + self.number)

    def same(self, other: _Said) -> bool:
        if self.about != other.about or self.mean.shape != other.mean.shape:
            return False
        near = np.abs(self.mean - other.mean) <= _SAME * np.maximum(self.deviation, other.deviation)
        return bool(near.all() and np.allclose(self.shares, other.shares, rtol=_SAME, atol=_SAME))
