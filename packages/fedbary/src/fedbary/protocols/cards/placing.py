"""Cards in one space: what they agree on as a schema, and each card's moments in its coordinates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fedbary.notes import Note
from fedbary.protocols.cards.card import Card, CardColumn, laid_out
from fedbary.protocols.cards.class_moments import EXACT, ClassMoments, Noise
from fedbary.space.columns import CategorySpec, ColumnDescription, ColumnSpec
from fedbary.space.description import Description
from fedbary.space.encode import PublicCoordinates
from fedbary.space.fit import agree
from fedbary.space.labels import class_positions
from fedbary.space.options import Space
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

# Standard deviations of the noise, beyond which cells are believed to be missing.
_DEVIATIONS = 3.0

# Names of classes, and of levels of all columns, that one run can have: time grows with their third power.
MOST_CLASSES, MOST_LEVELS = 1000, 2000


def agreed_schema(
    cards: Mapping[str, Card], space: Space, *, reference: Card | None = None, min_group: int = 1
) -> tuple[Schema, dict[str, Note]]:
    """The schema of the cards, and why some cards have no place in it.

    Columns that some cards or the reference lack, have in another kind or without any value are left out (see
    `fedbary.space.description`); the schema's notes name them. Levels that fewer than ``min_group`` rows of all
    together have count as any other. Where cards come in public coordinates, these are the schema.
    """
    public = {name: card for name, card in cards.items() if card.schema is not None}
    if len(public) * 2 > len(cards):
        schemas = [card.schema for card in public.values() if card.schema is not None]
        usual = Counter(schema.fingerprint for schema in schemas).most_common(1)[0][0]
        schema = next(schema for schema in schemas if schema.fingerprint == usual)
        reasons = {
            name: Note("protocols.card-other-coordinates")
            for name, card in cards.items()
            if card.schema is None or card.schema.fingerprint != schema.fingerprint
        }
        return schema, reasons
    reasons = {name: Note("protocols.card-other-coordinates") for name in public}
    if space.missing == "refuse":
        reasons |= {name: lack for name, card in cards.items() if (lack := _lack(card)) is not None}
    reasons |= _too_many_names({name: card for name, card in cards.items() if name not in reasons})
    described = {name: _described(card) for name, card in cards.items() if name not in reasons}
    described = described or {name: _described(card) for name, card in cards.items() if name not in public}
    settings = Space(task=space.task, scaling=space.scaling, projection="none", labels="onehot")
    schema, unlike = agree(described, settings, reference=None if reference is None else _described(reference))
    out = {**reasons, **unlike}
    within = [card for name, card in cards.items() if name not in out]
    return _without_rare_levels(schema, [*within, *([] if reference is None else [reference])], min_group), out


def placed(card: Card, schema: Schema) -> ClassMoments:
    """The moments of a card in the schema's coordinates (before any projection, where they are the table's own).

    A label that is a number follows as the last coordinate, standardised.
    """
    if card.schema is not None:
        return _in_public_coordinates(card, schema)
    matrix, offset = _affine(card, schema)
    second = card.second if card.full else _columnwise(card)
    total, count = card.sums.sum(axis=0) @ matrix.T, float(card.counts.sum())
    cross = np.outer(total, offset)
    moved = matrix @ second @ matrix.T + cross + cross.T + count * np.outer(offset, offset)
    sums = card.sums @ matrix.T + card.counts[:, None] * offset
    return _by_class(card, schema, sums, moved if card.full else np.diag(moved).copy(), EXACT)


def missing_share(card: Card, schema: Schema) -> float:
    """The share of cells without a value in columns that are used, by the coordinates that mark them."""
    if card.schema is not None:
        widths = np.array(PublicCoordinates(card.schema).mark_cells, dtype=float)
        first = card.schema.value_width
        found = card.sums[:, first : first + len(widths)].sum(axis=0) @ widths / max(card.rows, 1)
        # Every class brings noise along; what it may have made up is not told.
        noise = 0.0 if card.release is None else card.release.sigma * np.sqrt(len(card.classes) * (widths @ widths))
        seen = found > _DEVIATIONS * noise / max(card.rows, 1)
        return float(np.clip(found / widths.sum(), 0.0, 1.0)) if seen else 0.0
    shares, cells = missing_of_columns(card), {column.name: column.width for column in schema.columns}
    return sum(shares[name] * width for name, width in cells.items()) / max(sum(cells.values()), 1)


def missing_of_columns(card: Card) -> dict[str, float]:
    """The share of cells without a value in each column; of cards in public coordinates nothing is said of columns."""
    means = card.mean
    return {column.name: float(means[marks].sum()) / column.width for column, _, marks in laid_out(card.columns)}


def _too_many_names(cards: Mapping[str, Card]) -> dict[str, Note]:
    """Cards with more classes or levels than there is room for beside those of the others; who has few comes first.

    Otherwise a single card of made-up names would keep the server busy for hours.
    """
    classes: set[str] = set()
    levels: set[tuple[str, str]] = set()
    reasons = {}
    for name, card in sorted(cards.items(), key=lambda named: len(named[1].classes) + len(_levels(named[1]))):
        more = classes | set(card.classes), levels | _levels(card)
        if len(more[0]) > MOST_CLASSES or len(more[1]) > MOST_LEVELS:
            most = {"classes": MOST_CLASSES, "levels": MOST_LEVELS}
            reasons[name] = Note("protocols.card-too-many-names", most)
        else:
            classes, levels = more
    return reasons


def _without_rare_levels(schema: Schema, cards: Sequence[Card], min_group: int) -> Schema:
    counts: Counter[tuple[str, str]] = Counter()
    for card in cards:
        total = card.centre * float(card.counts.sum()) + card.sums.sum(axis=0)
        for column, own, _ in laid_out(card.columns):
            for level, rows in zip(column.levels, total[own], strict=False):
                counts[column.name, level] += round(float(rows))
    columns = []
    for spec in schema.columns:
        frequent = (level for level in spec.categories if counts[spec.name, level] >= min_group)
        columns.append(replace(spec, categories=tuple(frequent)))
    return replace(schema, columns=tuple(columns))


def _levels(card: Card) -> set[tuple[str, str]]:
    return {(column.name, level) for column in card.columns for level in column.levels}


def _lack(card: Card) -> Note | None:
    """The first column with cells that have no value, and how many."""
    total = card.centre * float(card.counts.sum()) + card.sums.sum(axis=0)
    for column, _, marks in laid_out(card.columns):
        if column.lacks:
            facts = {"column": column.name, "count": round(total[marks].max()), "rows": card.rows}
            return Note("schema.missing-values", facts)
    return None


def _described(card: Card) -> Description:
    """What a schema can be agreed by, read off the moments."""
    columns, rows, total, squares = [], float(card.counts.sum()), card.sums.sum(axis=0), card.squares
    for column, own, marks in laid_out(card.columns):
        if column.kind == "categorical":
            empty = not column.levels and column.lacks and bool(card.centre[marks] * rows + total[marks] > rows - 0.5)
            found = ColumnDescription(column.name, column.kind, 1, categories=column.levels, lacks=column.lacks)
            columns.append(replace(found, unusable=empty))
            continue
        missing = card.centre[marks] * rows + total[marks] if column.lacks else np.zeros(column.width)
        there = np.maximum(rows - missing, 1.0)
        shift = total[own] / there
        mean, variance = card.centre[own] + shift, np.maximum(squares[own] / there - shift**2, 0.0)
        moments = tuple(mean.tolist()), tuple(variance.tolist())
        empty = bool((missing > rows - 0.5).all())
        found = ColumnDescription(column.name, column.kind, column.width, *moments, lacks=column.lacks)
        columns.append(replace(found, unusable=empty))
    if card.kind == "classes":
        return Description(card.rows, tuple(columns), card.label, card.kind, card.classes, reading=card.reading)
    shift = float(total[-1]) / max(rows, 1.0)
    spread = max(float(squares[-1]) / max(rows, 1.0) - shift**2, 0.0)
    mean = float(card.centre[-1]) + shift
    return Description(card.rows, tuple(columns), card.label, card.kind, (), mean, spread, card.reading)


def _affine(card: Card, schema: Schema) -> tuple[Floats, Floats]:
    """The matrix and the offset that take z − centre to the schema's coordinates."""
    placed = {own.name: (own, slice(values.start, marks.stop)) for own, values, marks in laid_out(card.columns)}
    numeric = card.kind == "number"
    width = schema.encoded_width + numeric
    matrix, offset = np.zeros((width, card.width)), np.zeros(width)
    for spec in schema.columns:
        (own, mine), lines = placed[spec.name], schema.slices[spec.name]
        place = _place_levels if spec.kind == "categorical" else _place_numbers
        matrix[lines, mine], offset[lines] = place(spec, own, card.centre[mine])
    offset += matrix @ card.centre
    if numeric:
        matrix[-1, -1] = 1.0 / schema.label.scale
        offset[-1] = (card.centre[-1] - schema.label.mean) / schema.label.scale
    return matrix, offset


def _place_numbers(spec: ColumnSpec, own: CardColumn, centre: Floats) -> tuple[Floats, Floats]:
    matrix, lines = np.zeros((spec.width, own.coordinates)), np.arange(spec.width)
    scale = np.array(spec.scale)
    matrix[lines, lines] = 1.0 / scale
    if own.lacks:  # what is missing lies at the centre, and is to lie at the schema's middle
        matrix[lines, own.width + lines] = (np.array(spec.middle) - centre[: own.width]) / scale
    return matrix, -np.array(spec.mean) / scale


def _place_levels(spec: ColumnSpec, own: CardColumn, centre: Floats) -> tuple[Floats, Floats]:  # noqa: ARG001
    other = len(spec.categories)
    matrix, offset = np.zeros((spec.coordinates, own.coordinates)), np.zeros(spec.coordinates)
    offset[other] = 1.0
    for index, level in enumerate(own.levels):
        if level in spec.categories:
            matrix[spec.categories.index(level), index] = 1.0
            matrix[other, index] = -1.0
    if own.lacks:
        assert isinstance(spec, CategorySpec)
        matrix[:, len(own.levels)] = spec.between
        matrix[other, len(own.levels)] -= 1.0
    return matrix, offset


def _columnwise(card: Card) -> Floats:
    """A second moment with the products that are known without being told: those inside a column.

    A missing cell has no value, and a row has one level: such products of coordinates are 0 in every row.
    """
    total, count = card.sums.sum(axis=0), float(card.counts.sum())
    second = np.diag(card.second)
    for column, own, marks in laid_out(card.columns):
        pairs: list[tuple[int, int]] = []
        if column.kind == "categorical":
            pairs = list(combinations(range(own.start, marks.stop), 2))
        elif column.lacks:
            pairs = list(zip(range(own.start, own.stop), range(marks.start, marks.stop), strict=True))
        for one, two in pairs:
            # Σ(a − α)(b − β) for Σ(a − α₀)b = 0: values are about their filling, which is their centre.
            if column.kind == "categorical":
                product = -card.centre[one] * total[two] - card.centre[two] * total[one]
                product -= count * card.centre[one] * card.centre[two]
            else:
                product = -card.centre[two] * total[one]
            second[one, two] = second[two, one] = product
    return second


def _in_public_coordinates(card: Card, schema: Schema) -> ClassMoments:
    moments = card.about(np.zeros(card.width))
    keep = [*range(schema.value_width), *([card.width - 1] if card.kind == "number" else [])]
    noise = EXACT
    if (made := card.release) is not None:
        variance = made.sigma**2
        noise = Noise(2.0 * variance, variance * made.clip**2, variance * made.clip**4)
    second = moments.second[np.ix_(keep, keep)] if moments.full else moments.second[keep]
    return _by_class(card, schema, moments.sums[:, keep], second, noise)


def _by_class(card: Card, schema: Schema, sums: Floats, second: Floats, noise: Noise) -> ClassMoments:
    """In the order of the schema's classes."""
    if card.kind == "number":
        return ClassMoments(card.counts, sums, second, noise)
    places = class_positions(card.classes, schema.label.classes)
    known = places >= 0
    counts = np.zeros(len(schema.label.classes))
    ordered = np.zeros((len(schema.label.classes), sums.shape[1]))
    counts[places[known]], ordered[places[known]] = card.counts[known], sums[known]
    return ClassMoments(counts, ordered, second, noise)
