"""Numbers that are written as text: 1,5 and 1.234,5 and 1,234.5, € 3, 12 %, 3 kg, and times of day.

Each text is read by itself. Only ``1,234`` says two things: `decimal_of` looks for other texts that tell which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan
from typing import Literal

import numpy as np
import numpy.typing as npt

# What people write for a missing cell, in small letters; the empty text is missing anyway.
MARKS = frozenset(
    ("?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "...", "n/a", "na", "n.a.", "#n/a", "<na>", "nan", "null")
)
# These could be names of categories, but say nothing in a column of numbers, dates or truths.
NUMBER_MARKS = MARKS | {"none", "nil", "missing", "unknown", "not available", "not applicable", "#value!", "#div/0!"}


def numbers_of(texts: Sequence[str], decimal: str = "") -> npt.NDArray[np.float64]:
    """The number of each text, NaN where there is none.

    Examples
    --------
    >>> numbers_of(["1,5", "1.234,5", "€ 3", "12 %", "13:45", "1e3", "many"]).tolist()
    [1.5, 1234.5, 3.0, 12.0, 13.75, 1000.0, nan]
    >>> numbers_of(["1,234"]).tolist(), numbers_of(["1,234"], ",").tolist(), numbers_of(["1,234"], ".").tolist()
    ([nan], [1.234], [1234.0])
    """
    return np.array([_number(text, decimal) for text in texts], dtype=np.float64)


def decimal_of(texts: Sequence[str]) -> Literal["", ".", ",", "both", "unclear"]:
    """Which decimal point texts use: empty where none of them needs to be told, ``unclear`` where none of them tells.

    Examples
    --------
    >>> decimal_of(["1,234", "1,5"]), decimal_of(["1,234", "1,234,567"]), decimal_of(["1,234"]), decimal_of(["1.234"])
    (',', '.', 'unclear', '')
    """
    told, unclear = set(), False
    for text in texts:
        body = _body(text)
        if "," not in body and "." not in body:
            continue
        point, comma = _plain(body, "."), _plain(body, ",")
        if not isnan(point) and not isnan(comma):
            unclear |= "," in body
        elif not isnan(point) or not isnan(comma):
            told.add("," if isnan(point) else ".")
    if len(told) == 2:
        return "both"
    return told.pop() if told else "unclear" if unclear else ""  # type: ignore[return-value]


def units_of(texts: Sequence[str]) -> set[str]:
    """The units that numbers are written with.

    Examples
    --------
    >>> sorted(units_of(["3 kg", "4", "€ 5"]))
    ['kg', '€']
    """
    return {unit for text in texts if (unit := _unit(text))}


def is_code(text: str) -> bool:
    """Whether digits are a name, as 007 is not 7.

    Examples
    --------
    >>> is_code("007"), is_code("0"), is_code("0.5"), is_code("70")
    (True, False, False, False)
    """
    return len(text) > 1 and text[0] == "0" and text.isdigit()


_NAN = float("nan")
_STARTS = frozenset("0123456789+-−.,'€$£¥₹~")
_PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_BLANKS = "'’ \u00a0\u2009\u202f"
_GROUPED = {
    ".": re.compile(rf"[+-]?[1-9][0-9]{{0,2}}([,{_BLANKS}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:\.[0-9]+)?"),
    ",": re.compile(rf"[+-]?[1-9][0-9]{{0,2}}([.{_BLANKS}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:,[0-9]+)?"),
}
_CURRENCIES = "€|\\$|£|¥|₹|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CAD|AUD|CNY|INR"
_UNITS = (
    "%|‰|kg|g|mg|µg|μg|ug|ng|lbs?|oz|t|m|cm|mm|km|µm|μm|nm|ft|in|inch|inches|mi|miles?|l|L|ml|mL|dl|dL|cl|µl|μl|"
    "h|hrs?|hours?|min|mins|minutes?|s|secs?|seconds?|ms|days?|d|weeks?|months?|years?|yrs?|y|"
    "°|°C|°F|C|F|K|bpm|mmHg|kPa|hPa|Pa|bar|kcal|cal|kJ|J|W|kW|MW|Wh|kWh|MWh|Hz|kHz|MHz|GHz|[kMGT]?B|V|mV|A|mA|"
    "mol|mmol|µmol|μmol|nmol|mg/dl|mg/dL|g/dl|g/dL|g/l|g/L|mmol/l|mmol/L|U/l|U/L|IU|IU/l|IU/L|kg/m²|kg/m2|kg/m\\^2|"
    "m²|m2|m³|m3|km²|km2|ha|km/h|mph|m/s|rpm|dB|ppm|ppb|px|pt|pts|pcs"
)
_WRITTEN = re.compile(
    rf"(?P<sign>[+-]?)\s*(?:(?P<before>{_CURRENCIES})\s*)?(?P<body>[0-9.,](?:[0-9.,{_BLANKS}]*[0-9.])?(?:[eE][+-]?[0-9]+)?)"
    rf"(?:\s*(?P<after>{_CURRENCIES}|{_UNITS}))?"
)
_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9](?:\.[0-9]+)?))?(?:\s*([aApP])\.?[mM]\.?)?")
_SPAN = re.compile(r"([+-]?[0-9]+) days?,? \+?([0-9]{1,2}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)")


def _number(text: str, decimal: str) -> float:
    if decimal != "," and _PLAIN.fullmatch(text):
        return float(text)
    if text[:1] not in _STARTS and text[:3] not in _CODES:
        return float(text) if text.lower() in ("inf", "infinity") else _NAN
    body = _body(text)
    if not body:
        return float("-inf") if text.lower() in ("-inf", "-infinity") else _clock(text)
    point, comma = (_plain(body, one) if decimal in ("", one) else _NAN for one in ".,")
    if not isnan(point) and not isnan(comma) and "," in body:
        return _NAN
    return comma if isnan(point) else point


_CODES = frozenset(code for code in _CURRENCIES.split("|") if len(code) == 3)


def _plain(body: str, decimal: str) -> float:
    """A number without its unit, by one decimal point."""
    simple = _PLAIN if decimal == "." or ("," not in body and "." not in body) else _COMMA
    if simple.fullmatch(body):
        return float(body.replace(",", "."))
    if _GROUPED[decimal].fullmatch(body):
        kept = "".join(letter for letter in body if letter in "+-0123456789" or letter == decimal)
        return float(kept.replace(",", "."))
    return _NAN


def _clock(text: str) -> float:
    """A time of day in hours, a length of time in days."""
    if (found := _CLOCK.fullmatch(text)) is not None:
        hour, minute, second = int(found[1]), int(found[2]), float(found[3] or 0)
        if found[4]:
            if not 1 <= hour <= 12:
                return _NAN
            hour = hour % 12 + (12 if found[4] in "pP" else 0)
        return hour + minute / 60 + second / 3600 if hour < 24 else _NAN
    if (found := _SPAN.fullmatch(text)) is not None:
        hours = int(found[2]) + int(found[3]) / 60 + float(found[4]) / 3600
        return int(found[1]) + hours / 24
    return _NAN


def _body(text: str) -> str:
    found = _WRITTEN.fullmatch(text.replace("−", "-"))
    return "" if found is None else found["sign"] + found["body"]


def _unit(text: str) -> str:
    found = _WRITTEN.fullmatch(text.replace("−", "-"))
    if found is not None:
        return found["before"] or found["after"] or ""
    return "h" if _CLOCK.fullmatch(text) else "days" if _SPAN.fullmatch(text) else ""
