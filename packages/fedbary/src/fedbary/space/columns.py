"""A column of a schema, one class per kind: its coordinates, where cells lie in them, and what it may contain.

Where a cell lies depends on that cell and the schema alone, whatever the type of its column and the other rows. So the
same code serves answers without ε, which refuse beforehand what does not fit (`ColumnSpec.require`), and those with it,
where nothing refuses a cell and coordinates are bounded (``farthest``).
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fedbary.columns.category import category_name, category_names
from fedbary.data.table import Table
from fedbary.errors import SchemaError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Cells = NDArray[np.generic]

# No measured quantity is larger (see `fedbary.data`), and squares of these are still finite.
LARGEST, SMALLEST = 1e100, 1e-100
# Beyond so many levels a column says little of any one of them.
MOST_LEVELS = 100
# The fields of a column that hold a number for each of its coordinates.
NUMBERS = ("mean", "scale", "middle", "low", "high")
# What the mean of equal numbers may be off by.
_ROUNDING = 1e-9
# Few cells are fewer than so many groups. With 50 rows and factor 2, 9 of 80 clean clients had 5 % of rows beyond.
_FEW_GROUPS = 20


@dataclass(frozen=True)
class ColumnDescription:
    """What a party says of a column: of numbers mean and variance of each coordinate, of text its frequent categories.

    ``lacks`` says that enough rows have no value in it, ``unusable`` that hardly any has, or that its texts name rows.
    """

    name: str
    kind: str
    width: int
    mean: tuple[float, ...] = ()
    variance: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    lacks: bool = False
    unusable: bool = False


@dataclass(frozen=True)
class ColumnSpec:
    """One column: its kind and what is needed to encode it; numbers, where no class below says otherwise.

    ``numeric`` and ``boolean`` have one coordinate, a ``block`` has ``width`` of them, a ``categorical`` one per
    category and a last one for any ``other``. ``middle`` stands for missing numbers; ``low`` and ``high`` are limits
    beyond anything in the reference, empty without one. ``absence`` is what the column adds to a squared distance where
    all its cells are missing, and ``may_lack`` says that they have a coordinate of their own (`encode.marks`).
    In a ``bounded`` column numbers beyond the limits stand in the middle: rows of another time are no worse for that.
    """

    name: str
    kind: str = "numeric"
    width: int = 1
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    middle: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    absence: float = 0.0
    may_lack: bool = False
    bounded: bool = False

    @property
    def coordinates(self) -> int:
        """Number of coordinates that the column becomes."""
        return self.width

    def encode(self, values: Cells, farthest: float | None = None) -> Floats:
        """Where cells lie, one line per row; never farther from 0 than ``farthest``."""
        numbers = cell_numbers(values).reshape(len(values), self.width)
        holes = np.isnan(numbers)
        if holes.any():
            numbers = np.where(holes, np.array(self.middle), numbers)
        if self.bounded:  # those beyond the limits say nothing
            numbers = np.where(self.beyond(numbers), np.array(self.middle), numbers)
        return standardised(numbers, np.array(self.mean), np.array(self.scale), farthest)

    def beyond(self, values: Cells) -> Bools:
        """Which numbers lie beyond the limits, a coordinate in each column."""
        numbers = cell_numbers(values).reshape(len(values), self.width)
        return np.asarray((numbers < np.array(self.low)) | (numbers > np.array(self.high)))

    def holes(self, values: Cells) -> Bools:
        """Which coordinates of `encode` stand for cells without a value."""
        return np.isnan(values if values.dtype.kind == "f" else cell_numbers(values)).reshape(len(values), self.width)

    def missing(self, values: Cells) -> Integers:
        """How many cells of each row have no value."""
        return np.asarray(self.holes(values).sum(axis=1, dtype=np.int64))

    def require(self, table: Table, missing: str) -> None:
        """Refuse cells that have no place: text, and missing ones, where the schema's ``missing`` refuses them."""
        values = table.columns[self.name]
        texts = enumerate(values) if values.dtype.kind == "O" and self.kind != "categorical" else ()
        row = next((place for place, value in texts if value is not None), None)
        if row is not None:
            facts = {"kind": self.kind, "example": repr(values[row]), "row": str(table.row_names[row])}
            raise SchemaError("schema.column-holds-text", where=table.origin, column=self.name, **facts)
        if missing == "refuse" and (count := int((self.missing(values) > 0).sum())):
            where, rows = table.origin, len(table)
            raise SchemaError("schema.missing-values", where=where, column=self.name, count=count, rows=rows)

    @classmethod
    def agreed(cls, parts: Sequence[ColumnDescription], scaling: str) -> tuple[Self, bool]:
        """The column by what parties say of it, and whether it varies anywhere."""
        # Medians over the parties: one with other units, or with nonsense, must not set everybody's scale.
        means = np.array([part.mean for part in parts])
        mean = np.median(means, axis=0)
        spreads = np.array([part.variance for part in parts]) + (means - mean) ** 2
        # What rounding leaves of a constant column's variance is noise, not spread.
        variance, together = (
            np.where(spread > (1e-10 * mean) ** 2, spread, 0.0)
            for spread in (np.median(spreads, axis=0), spreads.mean(axis=0))
        )
        varies = parts[0].kind == "block" or bool(together[0] > 0)
        scale, centre = np.ones_like(mean), np.zeros_like(mean)
        if scaling != "none":
            if scaling == "standard":  # a single column is a block of one
                variance, together = np.full_like(variance, variance.mean()), np.full_like(variance, together.mean())
            # What is constant with most of them, and not with all, has the spread that all have together.
            variance = np.where(variance > 0, variance, together)
            scale, centre = np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0), mean
        column = cls(
            parts[0].name,
            width=parts[0].width,
            mean=tuple(centre.tolist()),
            scale=tuple(scale.tolist()),
            middle=tuple(mean.tolist()),
            absence=2.0 * float((variance / scale**2).sum()) or 2.0 * parts[0].width,
            may_lack=any(part.lacks for part in parts),
        )
        return column, varies

    def by_reference(self, values: Cells, *, min_group: int, date: bool) -> Self:
        """With what only a reference can say: its middle, its limits, its levels."""
        numbers = cell_numbers(values).reshape(len(values), self.width)
        middle, low, high = (tuple(end.tolist()) for end in limits(numbers, min_group, usual=date))
        lacks = int((self.missing(values) > 0).sum()) >= max(min_group, 1)
        return replace(self, middle=middle, low=low, high=high, may_lack=lacks, bounded=date)

    def is_possible(self) -> bool:
        """Whether its parts fit together."""
        flags = type(self.may_lack) is bool and type(self.bounded) is bool and self.bounded <= bool(self.low)
        return type(self) is SPECS.get(str(self.kind)) and type(self.width) is int and flags and self._fits()

    def _fits(self) -> bool:
        fits = len(self.mean) == len(self.scale) == len(self.middle) == self.width and not self.categories
        limited = len(self.low) == len(self.high) and len(self.low) in (0, self.width)
        return fits and limited and (self.width == 1 or (self.kind == "block" and self.width > 1))

    def is_bounded(self) -> bool:
        """Whether the arithmetic of a row stays within the finite numbers, and limits are ordered."""
        places = (*self.mean, *self.middle, *self.low, *self.high)
        if not all(map(within_bounds, places)) or not all(within_bounds(scale, SMALLEST) for scale in self.scale):
            return False
        ordered = all(low <= high for low, high in zip(self.low, self.high, strict=True))
        return ordered and within_bounds(self.absence, 0.0)

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))  # asdict would copy every number


@dataclass(frozen=True)
class BooleanSpec(ColumnSpec):
    """Zeros and ones."""

    kind: str = "boolean"

    def by_reference(self, values: Cells, *, min_group: int, date: bool) -> Self:
        return replace(super().by_reference(values, min_group=min_group, date=date), low=(0.0,), high=(1.0,))


@dataclass(frozen=True)
class BlockSpec(ColumnSpec):
    """Many numbers in each cell, such as an embedding or an image; thousands, which as base64 stay small and exact."""

    kind: str = "block"

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {name: pack(np.array(getattr(self, name))) for name in NUMBERS}


@dataclass(frozen=True)
class CategorySpec(ColumnSpec):
    """One of some categories in each cell, or any other."""

    kind: str = "categorical"

    @property
    def coordinates(self) -> int:
        return len(self.categories) + 1

    @property
    def between(self) -> Floats:
        """Where a missing category lies: as far from each of the column's categories as from any other."""
        known = len(self.categories)
        return np.array([1.0 / known] * known + [0.0]) if known else np.ones(1)

    def encode(self, values: Cells, farthest: float | None = None) -> Floats:  # noqa: ARG002 - never beyond 1
        places = category_places(values, self.categories, other=len(self.categories))
        coordinates = corners(places, self.coordinates)
        coordinates[places < 0] = self.between
        return coordinates

    def holes(self, values: Cells) -> Bools:
        return np.repeat(self.missing(values)[:, None] > 0, self.coordinates, axis=1)

    def missing(self, values: Cells) -> Integers:
        import pandas as pd

        return np.asarray(pd.isna(values), dtype=np.int64)

    @classmethod
    def agreed(cls, parts: Sequence[ColumnDescription], scaling: str) -> tuple[Self, bool]:  # noqa: ARG003
        names = tuple(sorted(set().union(*(part.categories for part in parts))))
        lacks = any(part.lacks for part in parts)
        # Two rows with different categories are 2 apart; that of two random rows is not known here.
        return cls(parts[0].name, categories=names, absence=2.0, may_lack=lacks), True

    def by_reference(self, values: Cells, *, min_group: int, date: bool) -> Self:  # noqa: ARG002
        lacks = int(self.missing(values).sum()) >= max(min_group, 1)
        return replace(self, may_lack=lacks, categories=named_levels(levels(values), min_group))

    def _fits(self) -> bool:
        return self.width == 1 and not any(getattr(self, name) for name in NUMBERS) and are_names(self.categories)


SPECS: dict[str, type[ColumnSpec]] = {
    "block": BlockSpec, "boolean": BooleanSpec, "numeric": ColumnSpec, "categorical": CategorySpec
}  # fmt: skip


def column_from_json(content: dict[str, Any]) -> ColumnSpec:
    """What `ColumnSpec.to_json` wrote; refuses what fitting never makes."""
    read = (lambda value: unpack(value).tolist()) if content["kind"] == "block" else tuple
    numbers = {key: tuple(read(content[key])) for key in NUMBERS}
    kind = SPECS.get(str(content["kind"]), ColumnSpec)
    column = kind(**{**content, **numbers, "categories": tuple(content["categories"])})
    if not column.is_possible():
        raise SchemaError("schema.impossible")
    return column


def are_names(names: Sequence[object]) -> bool:
    """Whether these are texts, and all different."""
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def within_bounds(number: object, least: float = -LARGEST) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and least <= number <= LARGEST


def pack(values: Floats) -> dict[str, Any]:
    data = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(data.shape), "float64": base64.b64encode(data.tobytes()).decode("ascii")}


def unpack(content: dict[str, Any]) -> Floats:
    data = np.frombuffer(base64.b64decode(content["float64"], validate=True), dtype="<f8")
    if not np.isfinite(data).all():
        raise ValueError("numbers that are not finite")
    values = data.reshape(content["shape"]).astype(np.float64)
    values.flags.writeable = False
    return values


def cell_numbers(values: Cells) -> Floats:
    """The numbers in cells, each by itself; NaN where there is none."""
    if values.dtype.kind != "O":
        return np.asarray(values, dtype=np.float64)
    return np.array([_number(cell) for cell in values.tolist()], dtype=np.float64)


def _number(cell: object) -> float:
    text = str(cell).strip()
    if text.lower() in ("true", "false"):  # in whatever letters, as a column of nothing else is read as booleans
        return float(text.lower() == "true")
    try:
        return float(text)
    except ValueError:
        return float("nan")


def standardised(numbers: Floats, mean: Floats | float, scale: Floats | float, farthest: float | None) -> Floats:
    """Numbers in units of a scale about a mean; where there is a bound, none lies beyond it, and NaN in the middle."""
    standard = np.asarray((numbers - mean) / scale)
    return standard if farthest is None else np.clip(np.where(np.isnan(standard), 0.0, standard), -farthest, farthest)


def category_places(values: Cells, names: tuple[str, ...], *, other: int = -1) -> Integers:
    """The place of each cell's category among names, ``other`` where it is none of them, −1 where it is missing."""
    import pandas as pd

    codes, different = pd.factorize(values)  # categories are few, cells many
    place = {category_name(name): index for index, name in enumerate(names)}
    places = [place.get(category_name(cell), other) for cell in different.tolist()]
    return np.array([*places, -1], dtype=np.int64)[codes]


def corners(places: Integers, width: int) -> Floats:
    """A one at each row's place; −1 is the last of them."""
    found = np.zeros((len(places), width))
    found[np.arange(len(places)), places] = 1.0
    return found


def levels(values: Cells) -> Counter[str]:
    """How many cells have each category."""
    return Counter(name for name in category_names(values).tolist() if name is not None)


def named_levels(counts: Mapping[str, float], least: int) -> tuple[str, ...]:
    """Levels that have a coordinate of their own: of ``least`` rows or more, and no more than a hundred."""
    frequent = sorted((name for name in counts if counts[name] >= least), key=lambda name: (-counts[name], name))
    return tuple(sorted(frequent[:MOST_LEVELS]))


class Limits(NamedTuple):
    """For each coordinate the imputation value, and where numbers lie beyond anything that was seen."""

    middle: Floats
    low: Floats
    high: Floats


def limits(numbers: Floats, min_group: int, *, usual: bool = False) -> Limits:
    """Middle and limits of the columns of a matrix, over the numbers that are there, such that no cell is told.

    All three are made of means of ``min_group`` cells: the middle is that of the middle ones, and a limit lies 2, 4, 8,
    … times as far from it as the mean of the outermost ones, the first that leaves every cell inside. Few cells say
    little of the tails, so theirs begins with 4. Where the ``usual`` is asked for, limits are those means themselves.

    The coordinates of a block are of one kind, so they have limits together: a pixel that is never lit in the reference
    may be lit. With fewer than twice ``min_group`` numbers there are no limits.
    """
    size = min(max(min_group, 1), len(numbers))
    ordered = np.sort(numbers, axis=0)  # NaN last
    present = (~np.isnan(ordered)).sum(axis=0)

    def mean_from(start: Integers) -> Floats:
        places = start + np.arange(size)[:, None]
        return np.asarray(np.nanmean(np.take_along_axis(ordered, places, axis=0), axis=0))

    middle = mean_from(np.maximum((present - size) // 2, 0))
    lowest, highest = mean_from(np.zeros_like(present)), mean_from(np.maximum(present - size, 0))
    enough = present >= 2 * max(min_group, 1)
    if usual:
        return Limits(middle, np.where(enough, lowest, -LARGEST), np.where(enough, highest, LARGEST))
    last = np.take_along_axis(ordered, np.maximum(present - 1, 0)[None], axis=0)[0]
    least = 1.0 if len(numbers) >= _FEW_GROUPS * min_group else 2.0

    def limit(middle: Floats, outer: Floats, farthest: Floats) -> Floats:
        """The upper limit of coordinates that have enough numbers, after ``least`` doublings; none of the others."""
        limit = np.full(len(middle), LARGEST)
        if enough.any():
            rounding = _ROUNDING * float(np.abs(middle[enough]).max())
            reach, widest = rounding, float(outer[enough].max())
            if widest > rounding:
                reach = widest * 2.0 ** max(least, np.ceil(np.log2(float(farthest[enough].max()) / widest)))
            limit[enough] = min(float(middle[enough].max()) + reach, LARGEST)
        return limit

    low, high = limit(-middle, middle - lowest, middle - ordered[0]), limit(middle, highest - middle, last - middle)
    return Limits(middle, -low, high)
