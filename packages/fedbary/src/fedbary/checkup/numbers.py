"""What is odd about the numbers and dates of a table: codes for missing values, outliers, another unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import log10

import numpy as np
from numpy.typing import NDArray

from fedbary.checkup.coded import CodedTable, day
from fedbary.checkup.findings import MIN_GROUP, Facts, Look, Severity
from fedbary.space.columns import ColumnSpec
from fedbary.space.schema import Schema
from fedbary.wording import number

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Beyond a schema's limits lie some numbers of a heavy tail; from this share of rows on they are many, as in a reply.
_MANY = 0.05
# So many times as far from the middle as a limit, a single number is too far.
_TOO_FAR = 10.0
# A number is another unit's below this share of the schema's middle, which lies so many standard deviations from zero:
# of an exponential tail 0.7 % are so small, of others fewer.
_SMALLER, _FROM_ZERO = 0.01, 0.5
# Different values below which a column of numbers is one of codes.
_LEAST_DIFFERENT = 10

_NINES = (9.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0, 9999999.0, 99999999.0)
_LIMITS_OF_TYPES = (32767.0, 65535.0, 2147483647.0, 4294967295.0)
_CODES = frozenset({-1.0, *(-code for code in _NINES), *_NINES[1:], -32768.0, -2147483648.0, *_LIMITS_OF_TYPES})
# Days since 1970 of 0001-01-01, 1753-01-01, 1899-12-30, 1899-12-31, 1900-01-01, 1970-01-01, 2099-12-31, 9999-12-31.
_DATES = frozenset({-719162.0, -79258.0, -25569.0, -25568.0, -25567.0, 0.0, 47481.0, 2932896.0})
# Other values that a code must stand apart from, and those of them that are its neighbours.
_LEAST_OTHERS, _NEIGHBOURS = 10, 10
# A code is a spike where it is so many times as frequent as any neighbour, and lies so many of their steps away.
_SPIKE, _STEPS = 3, 10
# Codes below this in size are common values, so that one cell says nothing.
_SMALL = 90.0
_LEAST_REPEATED = 5

# Numbers that lie to one side of the middle; with fewer, nothing can be said of a tail.
_LEAST_NUMBERS = 30
# More than this share of all numbers are no outliers, but a part of the column.
_MOST_SHARE = 0.05
# An outlier is so many times as far from the middle as any number that is none.
_GAP = 2.0
# How much farther out than the usual largest of so many numbers one must be: by chance it is once in e^7 columns.
_MARGIN = 7.0
# The shape of a tail is told by these of its quantiles, the last only where so many numbers lie in it; and so much,
# over the root of its numbers, is added for chance.
_PERCENTILES, _MANY_NUMBERS, _DOUBT = (0.8, 0.96, 0.992), 400, 2.0


@dataclass(frozen=True, eq=False)
class Numbers:
    """The different values of a column in ascending order, how many rows have each, and what the schema says of it."""

    name: str
    values: Floats
    counts: Counts
    dates: bool
    spec: ColumnSpec | None

    @cached_property
    def codes(self) -> list[int]:
        """The places of codes for missing values; in a column of codes none is told apart."""
        few = len(self.values) < _LEAST_DIFFERENT
        return [] if few else sentinels(self.values, self.counts, dates=self.dates)

    @cached_property
    def rest(self) -> Numbers:
        """The values without codes."""
        return replace(self, values=np.delete(self.values, self.codes), counts=np.delete(self.counts, self.codes))

    @cached_property
    def outside(self) -> NDArray[np.bool_]:
        """Which values lie beyond the schema's limits, if it has any."""
        if self.spec is None:
            return np.zeros(len(self.values), dtype=bool)
        return (self.values < self.spec.low[0]) | (self.values > self.spec.high[0])

    def every(self, chosen: NDArray[np.bool_] | slice = slice(None)) -> Floats:
        """The numbers of all rows, or of those whose value is chosen, in ascending order."""
        return np.repeat(self.values[chosen], self.counts[chosen])

    def word(self, value: float) -> str:
        return day(float(value)) if self.dates else number(float(value))

    def are_many(self, count: int) -> bool:
        return count >= max(_MANY * int(self.counts.sum()), MIN_GROUP)


def _numbers(coded: CodedTable, schema: Schema | None) -> Iterator[Numbers]:
    specs = {} if schema is None else {column.name: column for column in schema.columns if column.low}
    for name, column in coded.columns.items():
        if column.is_number and (kind := coded.kind(name)) in ("number", "date"):
            order = np.argsort(column.values)
            yield Numbers(name, column.values[order], column.counts[order], kind == "date", specs.get(name))


NUMBERS = Look(_numbers)


@NUMBERS.issue("checkup.sentinel", Severity.DOUBTFUL)
def _codes(numbers: Numbers) -> Iterator[Facts]:
    rest = numbers.rest
    for place in numbers.codes:
        value, count = numbers.word(numbers.values[place]), int(numbers.counts[place])
        low, high = rest.word(rest.values[0]), rest.word(rest.values[-1])
        yield {"column": numbers.name, "count": count, "value": value, "low": low, "high": high}


@NUMBERS.issue("checkup.beyond-schema", Severity.DOUBTFUL)
def _beyond(numbers: Numbers) -> Iterator[Facts]:
    """Numbers beyond the limits of a schema, if they are many or very far."""
    rest, spec = numbers.rest, numbers.spec
    if spec is None or not rest.outside.any():
        return
    low, middle, high = spec.low[0], spec.middle[0], spec.high[0]
    count = int(rest.counts[rest.outside].sum())
    reach = np.where(rest.values > middle, high - middle, middle - low)
    far = np.abs(rest.values - middle) > _TOO_FAR * np.maximum(reach, 0.0)
    if rest.are_many(count) or (rest.outside & far).any() or any(outliers(rest.every())):
        times = None if rest.dates else _times(float(np.median(rest.every(rest.outside))), middle)
        limits = {"low": rest.word(low), "high": rest.word(high)}
        yield {"column": rest.name, "count": count, "times": times, **limits}


@NUMBERS.issue("checkup.below-schema", Severity.DOUBTFUL)
def _below(numbers: Numbers) -> Iterator[Facts]:
    """Numbers that are a hundredth of the schema's middle or less, where it is no number near zero by chance."""
    rest, spec = numbers.rest, numbers.spec
    if spec is None or rest.dates or rest.outside.any() or abs(spec.middle[0]) < _FROM_ZERO * spec.scale[0]:
        return
    middle = spec.middle[0]
    small = (rest.values * middle > 0.0) & (np.abs(rest.values) <= _SMALLER * abs(middle))
    count = int(rest.counts[small].sum())
    if rest.are_many(count):
        times = _times(float(np.median(rest.every(small))), middle)
        yield {"column": rest.name, "count": count, "times": times, "middle": rest.word(middle)}


@NUMBERS.issue("checkup.outliers", Severity.DOUBTFUL)
def _outliers(numbers: Numbers) -> Iterator[Facts]:
    """Numbers far from all others, where the schema says nothing of them."""
    if len(numbers.values) < _LEAST_DIFFERENT or any(_beyond(numbers)) or any(_below(numbers)):
        return
    ascending = numbers.rest.every()
    low, high = outliers(ascending)
    if low + high:
        inside = ascending[low : len(ascending) - high]
        farthest = ascending[-1] if high else ascending[0]
        usual = {"low": numbers.word(inside[0]), "high": numbers.word(inside[-1])}
        yield {"column": numbers.name, "count": low + high, "example": numbers.word(farthest), **usual}


def _times(own: float, middle: float) -> float | None:
    """How many times the schema's middle numbers are, as a power of ten, where that is ten at least, or a tenth."""
    if not own * middle > 0.0 or 0.1 < own / middle < 10.0 or not 1e-300 < own / middle < 1e300:
        return None
    power = round(log10(own / middle))
    return float(f"1e{power}") if power < 0 else 10**power


def sentinels(values: Floats, counts: Counts, *, dates: bool = False) -> list[int]:
    """The places of codes for "missing" among different values in ascending order, of which each has so many rows.

    A code counts only where it is the smallest or largest value, and farther from the next one than all others are
    from each other, or a spike that is cut off from them.
    """
    known = _DATES if dates else _CODES
    found: list[int] = []
    low, high = 0, len(values) - 1
    while high - low >= _LEAST_OTHERS:
        if float(values[high]) in known and _stands_apart(values[low : high + 1], counts[low : high + 1]):
            found.append(high)
            high -= 1
        elif float(values[low]) in known and _stands_apart(-values[low : high + 1][::-1], counts[low : high + 1][::-1]):
            found.append(low)
            low += 1
        else:
            break
    return sorted(found)


def _stands_apart(values: Floats, counts: Counts) -> bool:
    """Whether the largest value is a code rather than an end of the range."""
    gap, others = float(values[-1] - values[-2]), float(values[-2] - values[0])
    if gap >= others:
        return bool(abs(values[-1]) >= _SMALL or counts[-1] > 1)
    near, frequent = values[-1 - _NEIGHBOURS : -1], int(counts[-1 - _NEIGHBOURS : -1].max())
    step = float(near[-1] - near[0]) / (len(near) - 1)
    return bool(counts[-1] >= max(_LEAST_REPEATED, _SPIKE * frequent) and gap >= _STEPS * step)


def outliers(numbers: Floats) -> tuple[int, int]:
    """How many of the smallest and how many of the largest of ascending numbers are outliers."""
    middle = float(numbers[len(numbers) // 2]) if len(numbers) else 0.0
    return _far(middle - numbers[::-1], len(numbers)), _far(numbers - middle, len(numbers))


def _far(distances: Floats, total: int) -> int:
    """How many of the largest distances are too large; negative ones are on the other side."""
    tail = distances[np.searchsorted(distances, 0.0, side="right") :]
    most = min(int(_MOST_SHARE * total), len(tail) - _LEAST_NUMBERS)
    if most < 1:
        return 0
    outer = tail[-most - 1 :]
    widest = int(np.argmax(outer[1:] / outer[:-1]))
    if outer[widest + 1] < _GAP * outer[widest]:
        return 0
    count = most - widest
    return count if outer[widest + 1] > _largest(tail[: len(tail) - count]) else 0


def _largest(tail: Floats) -> float:
    """Beyond the largest of so many numbers of a tail, by its generalised Pareto distribution.

    With shape ξ its quantile at 1 − p is proportional to p^−ξ − 1, so that ξ = log₅((q₉₆ − q₈₀) / q₈₀), and farther
    out ξ = log₅((q₉₉.₂ − q₉₆) / (q₉₆ − q₈₀)), as Pickands (1975) estimates it. The larger one counts, and none below
    that of an exponential tail, which is 0.
    """
    quantiles = np.quantile(tail, _PERCENTILES if len(tail) >= _MANY_NUMBERS else _PERCENTILES[:-1])
    steps = np.diff(quantiles, prepend=0.0)
    heavier = float((steps[1:] / np.maximum(steps[:-1], np.finfo(float).tiny)).max())
    shape = np.log(max(heavier, 1.0)) / np.log(5.0) + _DOUBT / np.sqrt(len(tail))
    beyond = np.expm1(shape * (np.log(len(tail)) + _MARGIN)) / np.expm1(shape * np.log(5.0))
    return float(quantiles[0] * beyond)
