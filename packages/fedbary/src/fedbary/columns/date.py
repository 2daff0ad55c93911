"""`Date`: ISO, day or month first, with the month's name, 20200403, or a year alone; as days, month and weekday.

Each text is read by itself. Only 03/04/2020 says two things: `order_of` looks for other texts that tell which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from fedbary.columns.arrays import Array
from fedbary.columns.category import names_rows
from fedbary.columns.column import (
    NUMBER_MARKS,
    Clues,
    Column,
    ColumnCells,
    Mask,
    TextCells,
    as_arrow,
    as_mask,
    as_numbers,
    as_texts,
    form_of,
    groups,
    matches,
    mostly,
    present_cells,
)
from fedbary.columns.number_texts import number_texts
from fedbary.errors import DataError

Moments = npt.NDArray[np.datetime64]
Ints = npt.NDArray[np.int64]
ORDERS = ("dmy", "mdy")
# What a column of dates becomes, besides its days since 1970.
_MONTH, _WEEKDAY = "{} (month)", "{} (weekday)"


@dataclass(frozen=True)
class Date(Column):
    """Days since 1970, and month and weekday on circles; ``order`` is how this owner writes them, ``dmy`` or ``mdy``.

    The order is empty where each cell says it by itself.
    """

    order: str = field(default="", compare=False)

    kind: ClassVar[str] = "date"
    words: ClassVar[str] = "a date"
    plural: ClassVar[str] = "dates"
    option: ClassVar[str] = "dates"
    marks: ClassVar[frozenset[str]] = NUMBER_MARKS
    as_written: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        """Arrays of moments, and numbers and texts that all can be read as days, or all texts but a few."""
        cells = clues.texts
        if cells is None and form_of(clues.cells) == "moments":
            return cls()
        if cls.fits(clues):
            clues.notes.append("data.read-as-dates")
            return cls(_order(clues, cells) if cells is not None and _readable(cells).all() else "")
        if cells is None or not cells.telling or not mostly(clues, cells, _readable(cells), "dates"):
            return None
        clues.notes.append("data.read-as-dates")
        return cls(_order(clues, cells))

    @classmethod
    def fits(cls, clues: Clues) -> bool:
        """Whether numbers or texts all are days; then they are dates rather than numbers."""
        cells = clues.texts
        if cells is not None:
            texts = number_texts(cells)
            return bool(cells.telling) and (
                bool(_readable(cells).all()) or (bool(texts.points.all()) and are_day_numbers(texts.numbers()))
            )
        if form_of(clues.cells) != "numbers" or names_rows(clues):
            return False
        numbers = np.asarray(clues.cells)
        return are_day_numbers(numbers[~np.isnan(numbers)])

    @classmethod
    def told(cls, said: str, names: Sequence[str]) -> tuple[str, Column]:
        """A column's name, perhaps with an order behind it, such as day=dmy."""
        ordered = said not in names and said.endswith(tuple(f"={order}" for order in ORDERS))
        name, _, order = said.rpartition("=") if ordered else (said, "", "")
        return name.strip(), cls(order)

    def as_it_is_written(self, clues: Clues) -> Self:
        cells = clues.cells
        return replace(self, order=self.order or _order(clues, cells)) if isinstance(cells, TextCells) else self

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        """The moment of each cell in UTC, NaT where there is none."""
        if isinstance(cells, TextCells):
            return cells.spread_telling(_moments_of(cells, self.order))
        if cells.dtype.kind == "M":
            return cells, np.zeros(len(cells), dtype=bool)
        if cells.dtype.kind in "iuf":
            return self.read(as_texts(cells))
        return np.full(len(cells), np.datetime64("NaT", "us")), present_cells(cells)

    def arrays(self, name: str, values: Array) -> dict[str, Array]:
        """Days, and points on circles, so that December lies beside January."""
        months = values.astype("datetime64[M]").astype(np.int64) % 12
        weekdays = (values.astype("datetime64[D]").astype(np.int64) + 3) % 7  # the first of 1970 was a Thursday
        found, missing = [(values - np.datetime64(0, "us")) / np.timedelta64(1, "D")], np.isnat(values)
        for turns in (months / 12, weekdays / 7):
            angles = 2 * np.pi * turns
            found.append(np.where(missing[:, None], np.nan, np.column_stack([np.cos(angles), np.sin(angles)])))
        return dict(zip(self.made(name), found, strict=True))

    def made(self, name: str) -> tuple[str, ...]:
        return name, _MONTH.format(name), _WEEKDAY.format(name)


def _order(clues: Clues, cells: TextCells) -> str:
    """Whether the day or the month comes first in dates that are written as text."""
    found = _order_of(cells)
    if found in ("both", "unclear"):
        example = next(level for level in cells.telling if order_of([level]))
        raise DataError("data.dates-unclear", column=clues.name, example=example)
    return found


def _order_of(cells: TextCells) -> str:
    return cells.once("order", lambda: order_of(cells.telling))


def _moments_of(cells: TextCells, order: str) -> Moments:
    return cells.once(f"moments {order}", lambda: moments_of(cells.telling, order))


def _readable(cells: TextCells) -> Mask:
    """Also 03/04/2020, whichever day that is; but 2020 among numbers is one of them."""
    texts = number_texts(cells)
    if 2 * int((texts.points | texts.commas).sum()) > len(texts.points):
        return np.zeros(len(texts.points), dtype=bool)
    orders = ORDERS if _order_of(cells) in ("both", "unclear") else (_order_of(cells),)
    return np.asarray(np.any([~np.isnat(_moments_of(cells, one)) for one in orders], axis=0))


def moments_of(texts: Sequence[str], order: str = "") -> Moments:
    """The moment of each text in UTC, NaT where there is none."""
    written = as_arrow(texts)
    found = np.full(len(texts), np.datetime64("NaT", "us"))
    iso = matches(written, _ISO)
    if iso.any():
        found[iso] = _iso(written.filter(iso))
    left = np.flatnonzero(~iso)
    left = left[matches(written.take(left), _WRITTEN)] if len(left) else left
    for pattern in (_NUMERIC, *_OTHERS):
        if not len(left):
            break
        fits, parts = groups(written.take(left), pattern)
        if fits.any():
            found[left[fits]] = _moments({name: part.filter(fits) for name, part in parts.items()}, order)
            left = left[~fits]
    return found


def order_of(texts: Sequence[str]) -> Literal["", "dmy", "mdy", "both", "unclear"]:
    """Whether day or month comes first: empty where no text needs to be told, ``unclear`` where none of them tells."""
    written = as_arrow(texts)
    fits, parts = groups(written.filter(matches(written, _AMBIGUOUS)), _NUMERIC)
    first, second = (_ints(parts[name].filter(fits)) for name in ("first", "second"))
    day_first, month_first = bool((first > 12).any()), bool((second > 12).any())
    if day_first or month_first:
        return "both" if day_first and month_first else "dmy" if day_first else "mdy"
    return "unclear" if bool((first != second).any()) else ""


def are_day_numbers(numbers: npt.NDArray[Any]) -> bool:
    """Whether all numbers are days that are written as one, such as 20200403, of the last or of this century."""
    if not len(numbers) or numbers.min() < 19000101 or numbers.max() > 20991231 or (numbers % 1).any():
        return False
    written = [str(number) for number in np.unique(numbers).astype(np.int64).tolist()]
    return not bool(np.isnat(moments_of(written)).any())


_CLOCK = (
    r"(?:[T ]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<clock>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"\s*(?P<half>[aApP][mM])?)?"
)
_ISO = (
    r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?)?"
)
_NUMERIC = (
    "(?P<first>[0-9]{1,2})(?P<one>[./-])(?P<second>[0-9]{1,2})(?P<other>[./-])(?P<year>[0-9]{4}|[0-9]{2})" + _CLOCK
)
_OTHERS = tuple(
    pattern + _CLOCK
    for pattern in (
        "(?P<year>[0-9]{4})(?P<one>[./-])(?P<month>[0-9]{1,2})(?P<other>[./-])(?P<day>[0-9]{1,2})",
        "(?P<year>[12][0-9]{3})(?:(?P<month>[0-9]{2})(?P<day>[0-9]{2}))?",
        r"(?P<day>[0-9]{1,2})\.?[ -](?P<month>[A-Za-z]{3,9})\.?,?[ -](?P<year>[0-9]{4}|[0-9]{2})",
        r"(?P<month>[A-Za-z]{3,9})\.? (?P<day>[0-9]{1,2}),? (?P<year>[0-9]{4})",
    )
)
_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTHS = {name[:length]: place for place, name in enumerate(_NAMES, start=1) for length in range(3, len(name) + 1)}
_MONTHS["sept"] = 9


# What any of these patterns matches, to be looked for at once.
_WRITTEN = "|".join(f"(?:{re.sub(r'[(][?]P<[a-z]+>', '(?:', pattern)})" for pattern in (_NUMERIC, *_OTHERS))
# Day or month: with points the day comes first.
_AMBIGUOUS = "[0-9]{1,2}[/-][0-9]{1,2}[/-].*"


def _moments(parts: Mapping[str, Any], order: str) -> Moments:
    """Moments of texts that all match one pattern; NaT where there is no such day or time."""
    fits = np.ones(len(parts["year"]), dtype=bool)
    if "other" in parts:
        fits &= _equal(parts["one"], parts["other"])
    if "first" in parts:
        first, second = _ints(parts["first"]), _ints(parts["second"])
        day_first = _equal(parts["one"], ".") | (first == second) | (order == "dmy")
        day_first |= (first > 12) & (order == "")
        fits &= day_first | (order == "mdy") | (second > 12)
        day, month = np.where(day_first, first, second), np.where(day_first, second, first)
    else:
        day, month = _ints(parts["day"], 1), _months(parts["month"])
    year = _ints(parts["year"])
    # Two digits are a year as Python's own %y has it: 69 to 99 are of the last century.
    short = matches(parts["year"], "..")
    year = np.where(short, year + np.where(year >= 69, 1900, 2000), year)
    fits &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = (np.where(fits, year, 1970) - 1970) * 12 + np.where(fits, month, 1) - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]") + (np.where(fits, day, 1) - 1)
    fits &= days.astype("datetime64[M]").astype(np.int64) == months  # no 31st of April
    microseconds, possible = _clocks(parts)
    moments = days.astype("datetime64[us]") + microseconds
    moments[~fits | ~possible] = np.datetime64("NaT")
    return np.asarray(moments)


def _clocks(parts: Mapping[str, Any]) -> tuple[Any, Mask]:
    """Times of day, and whether there are such times."""
    import pyarrow.compute as pc

    hour, minute, second = (_ints(parts[name]) for name in ("hour", "minute", "clock"))
    named, afternoon = matches(parts["half"], ".+"), matches(parts["half"], "(?i)pm")
    possible = np.where(named, (hour >= 1) & (hour <= 12), hour < 24) & (minute < 60) & (second < 60)
    hour = np.where(named, hour % 12 + 12 * afternoon, hour)
    fraction = _ints(pc.utf8_slice_codeunits(pc.utf8_rpad(parts["fraction"], 6, "0"), 0, 6))
    total = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction
    return total.astype("timedelta64[us]"), possible


def _months(names: Any) -> Ints:
    """Months of their digits or names; 0 for what is none."""
    coded = names.dictionary_encode()
    different, place = coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)
    numbers = [int(one) if one.isdigit() else 1 if one == "" else _MONTHS.get(one.lower(), 0) for one in different]
    return np.asarray(np.array(numbers, dtype=np.int64)[place])


def _iso(texts: Any) -> Moments:
    import pandas as pd
    import pyarrow.compute as pc

    # Microseconds at most: for one text with more digits pandas would count all in nanoseconds, which end in 2262.
    written = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    moments = pd.to_datetime(written.to_pandas(), format="ISO8601", errors="coerce", utc=True)
    return np.asarray(moments.dt.tz_localize(None).to_numpy(dtype="datetime64[us]"))


def _ints(digits: Any, empty: int = 0) -> Ints:
    return as_numbers(digits, str(empty)).astype(np.int64)


def _equal(part: Any, other: Any) -> Mask:
    import pyarrow.compute as pc

    return as_mask(pc.equal(part, other))
