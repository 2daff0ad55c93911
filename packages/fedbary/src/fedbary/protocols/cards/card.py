"""`Card`: what a linear model needs to know of a client's rows, and nothing else; sums over classes, never rows.

A row is a point z. A card holds, about a centre, the count and the sum of the points of every class, and the sum of
zzᵀ over all rows. Every scaling, imputation, whitening or projection is an affine map of z, so the receiver applies it
to the sums; and the sums of two tables are those of both together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.reading import Reading
from fedbary.errors import ProtocolError
from fedbary.space.schema import Schema
from fedbary.space.schema_bounds import is_reading_of
from fedbary.strict_json import read_json
from fedbary.wording import is_clean

Floats = NDArray[np.float64]

VERSION = 2
ARRAYS = ("centre", "counts", "sums", "second")
_MOST_ROWS, _LONGEST_NAME, _LONGEST = 10**9, 10_000, 64 * 2**20


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
        """Number of coordinates."""
        return len(self.centre)

    @property
    def full(self) -> bool:
        """Whether products of different coordinates are known."""
        return self.second.ndim == 2

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
        """Read what `to_parts` wrote; anything whose parts do not fit together is refused."""
        try:
            content = read_json(header, longest=_LONGEST)
            if (version := content.pop("version")) != VERSION:
                raise ProtocolError("protocols.card-other-version", version=str(version), own=VERSION)
            columns = tuple(
                CardColumn(**{**column, "levels": _names(column["levels"])}) for column in content.pop("columns")
            )
            schema, release, reading = (content.pop(name) for name in ("schema", "release", "reading"))
            card = cls(
                **{**content, "classes": _names(content["classes"])},
                columns=columns,
                reading=Reading.from_json(reading),
                schema=None if schema is None else Schema.from_json(schema),
                release=None if release is None else Release(**{key: float(release[key]) for key in release}),
                centre=_floats(arrays["centre"]),
                counts=_floats(arrays["counts"]),
                sums=_floats(arrays["sums"]),
                second=_floats(arrays["second"]),
            )
            card._require_shapes()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ProtocolError("protocols.not-a-card", why=str(error)) from error
        return card

    def _require_shapes(self) -> None:
        """Refuse texts of other types, and arrays that do not fit the columns and classes."""
        texts = [self.name, self.label, *(column.name for column in self.columns)]
        if not all(isinstance(text, str) and is_clean(text) and len(text) <= _LONGEST_NAME for text in texts):
            raise ValueError("a name is none")
        if self.kind not in ("classes", "number") or type(self.rows) is not int or type(self.shared) is not bool:
            raise ValueError("no kind of label, or no number of rows")
        if not 1 <= self.rows <= _MOST_ROWS or len({column.name for column in self.columns}) < len(self.columns):
            raise ValueError("no such number of rows, or a column twice")
        for column in self.columns:
            whole = type(column.width) is int and column.width >= 1 and type(column.lacks) is bool
            if column.kind not in ("numeric", "block", "categorical") or not whole:
                raise ValueError("a column has no kind or width")
        if not is_reading_of(self.reading, self.columns):
            raise ValueError("the columns are not those that it reads")
        width, classes = len(self.centre), len(self.classes)
        if self.schema is None:
            expected = sum(column.coordinates for column in self.columns) + (self.kind == "number")
            if width != expected or not self.columns:
                raise ValueError("columns and coordinates differ")
        if len(set(self.classes)) < classes or not classes:
            raise ValueError("a class comes twice, or there is none")
        shapes = (self.centre.shape, self.counts.shape, self.sums.shape)
        if shapes != ((width,), (classes,), (classes, width)) or self.second.shape not in ((width,), (width, width)):
            raise ValueError("arrays of other shapes")


def _floats(array: np.ndarray) -> Floats:
    return np.asarray(array, dtype=np.float64)


def _names(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) and is_clean(value) for value in values):
        raise ValueError("not a list of names")
    if any(len(value) > _LONGEST_NAME for value in values):
        raise ValueError("a name is too long")
    return tuple(values)
