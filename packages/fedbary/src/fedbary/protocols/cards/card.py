"""`Card`: what a linear model needs to know of a client's rows, and nothing else; sums over classes, never rows.

A row is a point z. A card holds, about a centre, the count and the sum of the points of every class, and the sum of
zzᵀ over all rows. Every scaling, imputation, whitening or projection is an affine map of z, so the receiver applies it
to the sums; and the sums of two tables are those of both together (`joined`), so a large table's card is made a part at
a time. A card is what its sender claims: `check_card` refuses what no rows could make true; what could be true but is
not, the others' cards tell (`fedbary.protocols.cards.weights`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from fedbary.data.reading import Reading
from fedbary.errors import ProtocolError
from fedbary.forms import LARGEST, LONGEST_TEXT, MOST_ROWS, Field, Fields, Flag, Listed, Number, Text, Word
from fedbary.space.schema import Schema, is_reading_of
from fedbary.strict_json import read_json
from fedbary.wording import on_one_line

Floats = NDArray[np.float64]

VERSION = 2
ARRAYS = ("centre", "counts", "sums", "second")
_NAME, _POSITIVE = Text(10_000), Number(sys.float_info.min, LARGEST)
_SHARE = Number(sys.float_info.min, 1.0 - sys.float_info.epsilon)
_COLUMN: dict[str, Field] = {
    "name": _NAME,
    "kind": Word(("numeric", "block", "categorical")),
    "width": Number(1, 2**20, whole=True),
    "levels": Listed(_NAME),
    "lacks": Flag(),
}
_HEADER = Fields(
    {
        "version": Number(VERSION, VERSION, whole=True),
        "name": _NAME,
        "rows": Number(1, MOST_ROWS, whole=True),
        "label": _NAME,
        "kind": Word(("classes", "number")),
        "columns": Listed(Fields(_COLUMN)),
        "classes": Listed(_NAME, 1, different=True),
        "release": Fields({**dict.fromkeys(("epsilon", "sigma", "clip"), _POSITIVE), "delta": _SHARE}, empty=True),
        "shared": Flag(),
        "reading": Text(LONGEST_TEXT),
        "schema": Text(LONGEST_TEXT, empty=True),
    }
)
# Of sums of up to 10⁹ numbers, in units of the largest that they are compared with.
_ROUNDING = 1e-6
# Of noise; beyond so many standard deviations nobody is by chance.
_DEVIATIONS = 12.0


@dataclass(frozen=True)
class CardColumn:
    """A column of the table as its owner's rows have it, and the coordinates that it becomes.

    ``numeric`` columns have one coordinate, a ``block`` has ``width``, a ``categorical`` one for each of its levels.
    Where cells are missing (``lacks``) these lie at the card's centre, and as many coordinates follow that are one
    where a cell is missing (one for all levels): so the receiver can put anything else in their place.
    """

    name: str
    kind: str
    width: int = 1
    levels: tuple[str, ...] = ()
    lacks: bool = False

    @property
    def values(self) -> int:
        """Coordinates of its values."""
        return len(self.levels) if self.kind == "categorical" else self.width

    @property
    def coordinates(self) -> int:
        """All of its coordinates."""
        return self.values + (self.lacks * (1 if self.kind == "categorical" else self.width))


@dataclass(frozen=True)
class Release:
    """How a card was made differentially private: ε, δ, and σ, the noise relative to rows of norm ``clip``.

    Counts and squares have noise of √2·σ, sums σ, products of two coordinates σ, where rows have norm 1.
    """

    epsilon: float
    delta: float
    sigma: float
    clip: float


@dataclass(frozen=True, eq=False)
class Card:
    """Class moments of one client.

    Attributes
    ----------
    name : str
        What its owner is called; a claim.
    rows : int
        Rows of the table, as declared.
    label, kind : str
        The label's name, and whether it is ``classes`` or a ``number``.
    columns : tuple of CardColumn
        The columns, where coordinates are the table's own; empty where ``schema`` says what they are.
    classes : tuple of str
        The classes of ``counts`` and ``sums``. One without a name where the label is a number, which then is the last
        coordinate.
    centre : array (d,)
        What the moments are about.
    counts, sums : arrays (K,), (K, d)
        Different rows of each class, and the sum of z − centre over them.
    second : array (d, d) or (d,)
        The sum of (z − centre)(z − centre)ᵀ over all of them, or only its diagonal.
    schema : Schema, optional
        Public coordinates that were agreed on beforehand.
    release : Release, optional
        What was added for differential privacy; None in an exact card.
    shared : bool
        Its owner agrees that others may receive a model that is made of this card and no other.
    reading : Reading
        How the columns of a file became ``columns``, as far as its owner knows; a claim.
    """

    name: str
    rows: int
    label: str
    kind: str
    columns: tuple[CardColumn, ...]
    classes: tuple[str, ...]
    centre: Floats
    counts: Floats
    sums: Floats
    second: Floats
    schema: Schema | None = None
    release: Release | None = None
    shared: bool = False
    reading: Reading = field(default_factory=Reading)

    @property
    def width(self) -> int:
        return len(self.centre)

    @property
    def full(self) -> bool:
        """Whether products of different coordinates are known."""
        return self.second.ndim == 2

    @property
    def squares(self) -> Floats:
        return np.diag(self.second) if self.full else self.second

    @property
    def mean(self) -> Floats:
        return np.asarray(self.centre + self.sums.sum(axis=0) / max(float(self.counts.sum()), 1.0))

    def about(self, centre: Floats) -> Card:
        """The same moments about another centre."""
        moved = self.centre - centre
        total = self.sums.sum(axis=0)
        count = float(self.counts.sum())
        if self.full:
            cross = np.outer(total, moved)
            second = self.second + cross + cross.T + count * np.outer(moved, moved)
        else:
            second = self.second + 2.0 * total * moved + count * moved**2
        return replace(self, centre=centre, sums=self.sums + self.counts[:, None] * moved, second=second)

    def to_parts(self) -> tuple[str, dict[str, np.ndarray]]:
        """The card as a JSON text and arrays, for a reply or a file."""
        header = {
            "version": VERSION,
            "name": self.name,
            "rows": self.rows,
            "label": self.label,
            "kind": self.kind,
            "columns": [vars(column) for column in self.columns],
            "classes": self.classes,
            "release": None if self.release is None else vars(self.release),
            "shared": self.shared,
            "reading": self.reading.to_json(),
            "schema": None if self.schema is None else self.schema.to_json(),
        }
        return json.dumps(header, sort_keys=True), {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def from_parts(cls, header: str, arrays: Mapping[str, np.ndarray]) -> Card:
        """Read what `to_parts` wrote; what has not its form, or has parts that do not fit together, is refused."""
        try:
            content = read_json(header, longest=LONGEST_TEXT)
            if isinstance(content, dict) and (version := content.get("version", VERSION)) != VERSION:
                raise ProtocolError("protocols.card-other-version", version=on_one_line(str(version)), own=VERSION)
            if (error := _HEADER.misfit("card", content)) is not None:
                raise ValueError(str(error))
            schema, release = content["schema"], content["release"]
            card = cls(
                **{name: content[name] for name in ("name", "rows", "label", "kind", "shared")},
                columns=tuple(CardColumn(**{**one, "levels": tuple(one["levels"])}) for one in content["columns"]),
                classes=tuple(content["classes"]),
                reading=Reading.from_json(content["reading"]),
                schema=None if schema is None else Schema.from_json(schema),
                release=None if release is None else Release(**release),
                centre=arrays["centre"],
                counts=arrays["counts"],
                sums=arrays["sums"],
                second=arrays["second"],
            )
            card._require_shapes()
        except ValueError as error:
            raise ProtocolError("protocols.not-a-card", why=str(error)) from error
        return card

    def _require_shapes(self) -> None:
        """Refuse columns that come twice or are not what is read, and arrays that do not fit columns and classes."""
        if len({column.name for column in self.columns}) < len(self.columns):
            raise ValueError("a column comes twice")
        if not is_reading_of(self.reading, {column.name: (column.kind, column.width) for column in self.columns}):
            raise ValueError("the columns are not those that it reads")
        width, classes = len(self.centre), len(self.classes)
        if self.schema is None:
            expected = sum(column.coordinates for column in self.columns) + (self.kind == "number")
            if width != expected or not self.columns:
                raise ValueError("columns and coordinates differ")
            if self.release is not None:
                raise ValueError("noise without public coordinates")
        shapes = (self.centre.shape, self.counts.shape, self.sums.shape)
        if shapes != ((width,), (classes,), (classes, width)) or self.second.shape not in ((width,), (width, width)):
            raise ValueError("arrays of other shapes")


def laid_out(columns: Iterable[CardColumn]) -> Iterator[tuple[CardColumn, slice, slice]]:
    """Columns, each with the coordinates of its values and those that mark missing cells."""
    start = 0
    for column in columns:
        middle, end = start + column.values, start + column.coordinates
        yield column, slice(start, middle), slice(middle, end)
        start = end


def joined(cards: Iterable[Card]) -> Card:
    """One exact card for several of tables with the same columns, whose rows are all different.

    Each card's moments are about its own mean, so that adding them up loses no digits (Chan, Golub and LeVeque, 1983).
    Levels and classes that a part lacks are none of its rows', and cells that are missing move to the mean of all.
    """
    several = iter(cards)
    found = next(several)
    for card in several:
        found = _both(found, card)
    return found


def _both(one: Card, other: Card) -> Card:
    columns = tuple(
        replace(own, levels=tuple(sorted({*own.levels, *its.levels})), lacks=own.lacks or its.lacks)
        for own, its in zip(one.columns, other.columns, strict=True)
    )
    classes = tuple(sorted({*one.classes, *other.classes}))
    one, other = (_widened(card, columns, classes) for card in (one, other))
    values: list[int] = []
    marks: list[int] = []
    for column, own, missing in laid_out(columns):
        if column.lacks and column.kind != "categorical":
            values += range(own.start, own.stop)
            marks += range(missing.start, missing.stop)
    # Missing cells of each card lie at the mean of its own, its centre, and move to the mean of all that are there;
    # these are counts of cells, so that what is below a half is none.
    there, more = (np.round(card.counts.sum() * (1.0 - card.mean[marks])) for card in (one, other))
    mean, further = one.mean[values], other.mean[values]
    middle = np.where(there > 0, mean + more / np.maximum(there + more, 1.0) * (further - mean), further)
    one, other = _filled(one, values, marks, middle - mean), _filled(other, values, marks, middle - further)
    share = other.counts.sum() / max(float(one.counts.sum() + other.counts.sum()), 1.0)
    centre = one.centre + share * (other.centre - one.centre)
    one, other = one.about(centre), other.about(centre)
    return replace(
        one,
        rows=one.rows + other.rows,
        counts=one.counts + other.counts,
        sums=one.sums + other.sums,
        second=one.second + other.second,
    )


def _widened(card: Card, columns: tuple[CardColumn, ...], classes: tuple[str, ...]) -> Card:
    """The same rows with coordinates and classes that none of them has."""
    if columns == card.columns and classes == card.classes:
        return card
    width = sum(column.coordinates for column in columns) + (card.kind == "number")
    places: list[int] = []
    for own, (column, values, marks) in zip(card.columns, laid_out(columns), strict=True):
        if own.kind == "categorical":
            at = {level: values.start + place for place, level in enumerate(column.levels)}
            places += [at[level] for level in own.levels] + [marks.start] * own.lacks
        else:
            places += range(values.start, values.start + own.coordinates)
    places += [width - 1] * (card.kind == "number")
    known = [classes.index(name) for name in card.classes]
    centre, counts = np.zeros(width), np.zeros(len(classes))
    sums, second = np.zeros((len(classes), width)), np.zeros((width, width))
    centre[places], counts[known] = card.centre, card.counts
    sums[np.ix_(known, places)], second[np.ix_(places, places)] = card.sums, card.second
    return replace(card, columns=columns, classes=classes, centre=centre, counts=counts, sums=sums, second=second)


def _filled(card: Card, values: list[int], marks: list[int], moved: Floats) -> Card:
    """The card with its missing cells moved: a linear map, about a centre that moves along."""
    if not moved.any():
        return card
    centre, sums, second = card.centre.copy(), card.sums.copy(), card.second.copy()
    centre[values] += moved * centre[marks]
    sums[:, values] += moved * sums[:, marks]
    second[values] += moved[:, None] * second[marks]
    second[:, values] += moved * second[:, marks]
    return replace(card, centre=centre, sums=sums, second=second)


def check_card(card: Card) -> None:
    """Refuse counts beyond the rows, means beyond what a column can have, and products that no rows have."""
    exact, held = card.release is None, card.counts > 0
    noise = 0.0 if card.release is None else _DEVIATIONS * sqrt(2.0) * card.release.sigma
    if float(card.counts.min()) < -noise or (exact and (card.counts != np.round(card.counts)).any()):
        raise ProtocolError("protocols.card-counts-none")
    if float(card.counts.sum()) > card.rows + noise * sqrt(len(card.counts)):
        raise ProtocolError("protocols.card-counts", rows=card.rows)
    if not exact:  # with noise, what is summed may have any value
        return
    if not held.all() and np.abs(card.sums[~held]).max(initial=0.0) > 0.0:
        raise ProtocolError("protocols.card-counts-none")
    # A level, or a missing cell, is there in none to all rows of a class.
    means = card.centre + card.sums[held] / card.counts[held, None]
    for column, values, missing in laid_out(card.columns):
        levels = column.kind == "categorical"
        marks = means[:, (values if levels else missing).start : missing.stop]
        several = levels and marks.size and float(marks.sum(axis=1).max()) > 1.0 + _ROUNDING
        if several or (marks.size and not -_ROUNDING <= float(marks.min()) <= float(marks.max()) <= 1.0 + _ROUNDING):
            raise ProtocolError("protocols.card-levels", column=column.name)
    # Squares are at least what the class means make of them, and a matrix of products is one.
    squares = card.squares
    of_means = (card.sums[held] ** 2 / card.counts[held, None]).sum(axis=0)
    if (squares < 0).any() or (of_means > squares * (1.0 + _ROUNDING) + _ROUNDING * squares.max(initial=0.0)).any():
        raise ProtocolError("protocols.card-not-moments")
    if card.full:
        scale = np.sqrt(np.where(squares > 0, squares, 1.0))
        correlation = card.second / np.outer(scale, scale)
        uneven = np.abs(correlation - correlation.T).max(initial=0.0) > _ROUNDING
        if uneven or float(np.linalg.eigvalsh(correlation)[0]) < -_ROUNDING * len(correlation):
            raise ProtocolError("protocols.card-not-moments")
