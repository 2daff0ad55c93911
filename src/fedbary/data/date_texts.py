"""Dates that are written as text: ISO, day or month first, with the month's name, 20200403, or a year alone.

Each text is read by itself. Only 03/04/2020 says two things: `order_of` looks for other texts that tell which.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Moments = npt.NDArray[np.datetime64]
ORDERS = ("dmy", "mdy")


def moments_of(texts: Sequence[str], order: str = "") -> Moments:
    """The moment of each text in UTC, NaT where there is none.

    Examples
    --------
    >>> moments_of(["2020-04-03 06:00", "3.4.2020", "Apr 3, 2020", "13/04/2020", "03/04/2020"]).astype("M8[h]")
    array(['2020-04-03T06', '2020-04-03T00', '2020-04-03T00', '2020-04-13T00',
                     'NaT'], dtype='datetime64[h]')
    >>> moments_of(["03/04/2020"], "dmy").astype("M8[D]")
    array(['2020-04-03'], dtype='datetime64[D]')
    """
    found = _iso([text if _ISO.fullmatch(text) else None for text in texts])
    for place in np.flatnonzero(np.isnat(found)).tolist():
        if (moment := _written(texts[place], order)) is not None:
            found[place] = moment
    return found


def order_of(texts: Sequence[str]) -> Literal["", "dmy", "mdy", "both", "unclear"]:
    """Whether day or month comes first: empty where no text needs to be told, ``unclear`` where none of them tells.

    Examples
    --------
    >>> order_of(["03/04/2020", "13/04/2020"]), order_of(["03/04/2020"]), order_of(["2020-04-03"])
    ('dmy', 'unclear', '')
    """
    told, unclear = set(), False
    for text in texts:
        if (found := _NUMERIC.fullmatch(text)) is None or found[2] == ".":
            continue
        first, second = int(found[1]), int(found[3])
        if first > 12 or second > 12:
            told.add("dmy" if first > 12 else "mdy")
        else:
            unclear |= first != second
    if len(told) == 2:
        return "both"
    return told.pop() if told else "unclear" if unclear else ""  # type: ignore[return-value]


_CLOCK = r"(?:[T ]+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?\s*([aApP][mM])?)?"
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?)?"
)
_NUMERIC = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})" + _CLOCK)
_OTHERS = tuple(
    re.compile(pattern + _CLOCK)
    for pattern in (
        r"(?P<year>[0-9]{4})[./-](?P<month>[0-9]{1,2})[./-](?P<day>[0-9]{1,2})",
        r"(?P<year>[12][0-9]{3})(?:(?P<month>[0-9]{2})(?P<day>[0-9]{2}))?",
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


def _iso(texts: list[str | None]) -> Moments:
    import pandas as pd

    moments = pd.to_datetime(pd.Series(texts, dtype=object), format="ISO8601", errors="coerce", utc=True)
    return moments.dt.tz_localize(None).to_numpy(dtype="datetime64[us]").copy()


def _written(text: str, order: str) -> datetime.datetime | None:
    if (found := _NUMERIC.fullmatch(text)) is not None:
        return _ordered(found, order)
    for pattern in _OTHERS:
        if (found := pattern.fullmatch(text)) is not None:
            month = found["month"] or "1"
            number = int(month) if month.isdigit() else _MONTHS.get(month.lower(), 0)
            return _moment(found["year"], number, int(found["day"] or 1), found.groups()[3:])
    return None


def _ordered(found: re.Match[str], order: str) -> datetime.datetime | None:
    first, second = int(found[1]), int(found[3])
    day_first = found[2] == "." or first == second or order == "dmy" or (not order and first > 12)
    if not day_first and not order and second <= 12:
        return None
    day, month = (first, second) if day_first else (second, first)
    return _moment(found[4], month, day, found.groups()[4:])


def _moment(year: str, month: int, day: int, clock: tuple[str | None, ...]) -> datetime.datetime | None:
    # Two digits are a year as Python's own %y has it: 69 to 99 are of the last century.
    full = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= 69 else 2000)
    hour, minute, second, fraction, half = clock
    hours = int(hour or 0)
    if half is not None:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half in ("pm", "PM", "pM", "Pm") else 0)
    microseconds = int((fraction or "0").ljust(6, "0")[:6])
    try:
        return datetime.datetime(full, month, day, hours, int(minute or 0), int(second or 0), microseconds)
    except ValueError:
        return None
