"""What is odd about the numbers and dates of a table: codes for missing values, outliers, another unit."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

import numpy as np
from numpy.typing import NDArray

from fedbary.checkup.coded import Coded, CodedTable
from fedbary.checkup.described import day
from fedbary.checkup.finding import Finding, Severity
from fedbary.checkup.outliers import outliers
from fedbary.checkup.refusals import MIN_GROUP
from fedbary.checkup.sentinels import sentinels
from fedbary.notes import Note
from fedbary.space.columns import ColumnSpec
from fedbary.space.schema import Schema
from fedbary.wording import number

Floats = NDArray[np.float64]

# Beyond a schema's limits lie some numbers of a heavy tail; from this share of rows on they are many, as in a reply.
_MANY = 0.05
# So many times as far from the middle as a limit, a single number is too far.
_TOO_FAR = 10.0
# A number is another unit's below this share of the schema's middle, which lies so many standard deviations from zero:
# of an exponential tail 0.7 % are so small, of others fewer.
_SMALLER, _FROM_ZERO = 0.01, 0.5
# Different values below which a column of numbers is one of codes.
_LEAST_DIFFERENT = 10


def odd_numbers(coded: CodedTable, schema: Schema | None) -> list[Finding]:
    """Codes for missing values, numbers beyond the schema's, and outliers.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> ages = Table({"age": [*range(20, 70), -999.0, -999.0]}, ["a", "b"] * 26)
    >>> print(*odd_numbers(CodedTable.of(ages), None))
    column 'age' is −999 in 2 rows, apart from all other values (20 to 69): leave cells empty where it means "missing"
    """
    found: list[Note] = []
    specs = {} if schema is None else {column.name: column for column in schema.columns if column.low}
    for name, column in coded.columns.items():
        if column.values.ndim != 1 or column.values.dtype.kind != "f" or not len(column.values):
            continue
        kind = coded.kind(name)
        if kind in ("number", "date"):
            found += _notes(_Numbers.of(name, column, dates=kind == "date"), specs.get(name))
    return [Finding(note, Severity.DOUBTFUL) for note in found]


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The different values of a column in ascending order, and how many rows have each."""

    name: str
    values: Floats
    counts: NDArray[np.int64]
    dates: bool

    @classmethod
    def of(cls, name: str, column: Coded, *, dates: bool) -> _Numbers:
        order = np.argsort(column.values)
        return cls(name, column.values[order], column.counts[order], dates)

    def without(self, places: list[int]) -> _Numbers:
        return _Numbers(self.name, np.delete(self.values, places), np.delete(self.counts, places), self.dates)

    def word(self, value: float) -> str:
        return day(float(value)) if self.dates else number(float(value))


def _notes(numbers: _Numbers, spec: ColumnSpec | None) -> list[Note]:
    if len(numbers.values) < _LEAST_DIFFERENT:
        return [] if spec is None else _beyond(numbers, spec)
    codes = sentinels(numbers.values, numbers.counts, dates=numbers.dates)
    rest = numbers.without(codes)
    notes = [
        Note(
            "checkup.sentinel",
            {
                "column": numbers.name,
                "count": int(numbers.counts[place]),
                "value": numbers.word(numbers.values[place]),
                "low": rest.word(rest.values[0]),
                "high": rest.word(rest.values[-1]),
            },
        )
        for place in codes
    ]
    beyond = [] if spec is None else _beyond(rest, spec)
    return notes + (beyond or _outliers(rest))


def _outliers(numbers: _Numbers) -> list[Note]:
    ascending = np.repeat(numbers.values, numbers.counts)
    low, high = outliers(ascending)
    if not low + high:
        return []
    inside = ascending[low : len(ascending) - high]
    farthest = ascending[-1] if high else ascending[0]
    return [
        Note(
            "checkup.outliers",
            {
                "column": numbers.name,
                "count": low + high,
                "example": numbers.word(farthest),
                "low": numbers.word(inside[0]),
                "high": numbers.word(inside[-1]),
            },
        )
    ]


def _beyond(numbers: _Numbers, spec: ColumnSpec) -> list[Note]:
    """Numbers beyond the limits of a schema, if they are many or very far."""
    low, middle, high = spec.low[0], spec.middle[0], spec.high[0]
    outside = (numbers.values < low) | (numbers.values > high)
    count, rows = int(numbers.counts[outside].sum()), int(numbers.counts.sum())
    if not count:
        return _smaller(numbers, spec)
    reach = np.where(numbers.values > middle, high - middle, middle - low)
    far = np.abs(numbers.values - middle) > _TOO_FAR * np.maximum(reach, 0.0)
    below, above = outliers(np.repeat(numbers.values, numbers.counts))
    if count < max(_MANY * rows, MIN_GROUP) and not (outside & far).any() and not below + above:
        return []
    own = float(np.median(np.repeat(numbers.values[outside], numbers.counts[outside])))
    return [
        Note(
            "checkup.beyond-schema",
            {
                "column": numbers.name,
                "count": count,
                "times": None if numbers.dates else _times(own, middle),
                "low": numbers.word(low),
                "high": numbers.word(high),
            },
        )
    ]


def _smaller(numbers: _Numbers, spec: ColumnSpec) -> list[Note]:
    """Numbers that are a hundredth of the schema's middle or less, where it is no number near zero by chance."""
    middle, rows = spec.middle[0], int(numbers.counts.sum())
    if numbers.dates or abs(middle) < _FROM_ZERO * spec.scale[0]:
        return []
    small = (numbers.values * middle > 0.0) & (np.abs(numbers.values) <= _SMALLER * abs(middle))
    count = int(numbers.counts[small].sum())
    if count < max(_MANY * rows, MIN_GROUP):
        return []
    own = float(np.median(np.repeat(numbers.values[small], numbers.counts[small])))
    times, said = _times(own, middle), numbers.word(middle)
    return [Note("checkup.below-schema", {"column": numbers.name, "count": count, "times": times, "middle": said})]


def _times(own: float, middle: float) -> float | None:
    """How many times the schema's middle numbers are, as a power of ten, where that is ten at least, or a tenth."""
    if not own * middle > 0.0 or 0.1 < own / middle < 10.0 or not 1e-300 < own / middle < 1e300:
        return None
    power = round(log10(own / middle))
    return float(f"1e{power}") if power < 0 else 10**power
