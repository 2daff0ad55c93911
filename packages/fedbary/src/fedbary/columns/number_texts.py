"""Numbers that are written as text: 1,5 and 1.234,5 and 1,234.5, € 3, 12 %, 3 kg, and times of day.

Each text is read by itself. Only ``1,234`` says two things: `NumberTexts.decimal` looks for others that tell which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.columns.column import Mask, TextCells, as_arrow, as_numbers, groups, matches

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumberTexts:
    """Texts, taken apart once: most are digits with a point or a comma, and only the rest is looked at closely."""

    written: Any
    points: Mask
    commas: Mask
    others: NDArray[np.intp]

    @classmethod
    def of(cls, written: Any) -> NumberTexts:
        """Take texts of Arrow's apart."""
        points = commas = others = matches(written, _BEGINNING)
        if others.any():
            points = matches(written, _SIMPLE["."])
            commas = others & ~points if points.all() else matches(written, _SIMPLE[","]) & ~points
            others = others & ~points & ~commas
        return cls(written, points, commas, np.flatnonzero(others))

    @cached_property
    def rest(self) -> tuple[Any, Any]:
        """What is neither: digits without their units, and the units."""
        return _without_units(self.written.take(self.others))

    def numbers(self, decimal: str = "") -> Floats:
        """The number of each text, NaN where there is none; without a decimal point each text says it by itself."""
        found = np.full(len(self.points), np.nan)
        for simple, own in ((self.points, "."), (self.commas, ",")):
            if simple.any():
                found[simple] = _simple(self.written.filter(simple), own, decimal)
        if len(self.others):
            body, _ = self.rest
            rest = _decided(body, decimal)
            times = matches(body, "")
            rest[times] = _times(self.written.take(self.others[times]))
            found[self.others] = rest
        return found

    def decimal(self) -> Literal["", ".", ",", "both", "unclear"]:
        """Which decimal point the texts use: empty where no text needs to be told, ``unclear`` where none tells."""
        points, commas, unclear = False, False, self._thousands_of_money()
        for texts in (self.written.filter(self.points), self.written.filter(self.commas), self.rest[0]):
            signed = texts.filter(matches(texts, ".*[.,].*"))
            if len(signed):
                point, comma = (_fits(signed, one) for one in ".,")
                points |= bool((point & ~comma).any())
                commas |= bool((comma & ~point).any())
                unclear |= bool((point & comma & _have_commas(signed)).any())
        if points or commas:
            return "both" if points and commas else "." if points else ","
        return "unclear" if unclear else ""

    def _thousands_of_money(self) -> bool:
        """Whether € 1.234 may be more than a thousand: prices have no three decimals."""
        body, units = self.rest
        return bool((matches(units, _CURRENCIES) & matches(body, _GROUPED[","])).any())

    def units(self) -> set[str]:
        """The units that the numbers are written with."""
        units = set(self.rest[1].unique().to_pylist())
        rest = self.written.take(self.others)
        for pattern, unit in ((_CLOCK, "hours"), (_SPAN, "days")):
            if len(rest) and matches(rest, pattern).any():
                units.add(unit)
        return units - {""}

    def have_codes(self) -> bool:
        """Whether some digits are a name, as 007 is not 7."""
        return bool(matches(self.written.filter(self.points), "0[0-9]+").any())


def number_texts(cells: TextCells) -> NumberTexts:
    """The levels that say something, taken apart as numbers."""
    return cells.once("numbers", lambda: NumberTexts.of(cells.telling_arrow))


def numbers_of(texts: Sequence[str], decimal: str = "") -> Floats:
    """The number of each text, NaN where there is none."""
    return NumberTexts.of(as_arrow(texts)).numbers(decimal)


_EXPONENT = "(?:[eE][+-]?[0-9]+)?"
_SIMPLE = {".": rf"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_EXPONENT}", ",": rf"-?(?:[0-9]+|[0-9]*,[0-9]+){_EXPONENT}"}
_BLANKS = "'’ \u00a0\u2009\u202f"
_CURRENCIES = "€|\\$|£|¥|₹|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CAD|AUD|CNY|INR"
_UNITS = (
    "%|‰|kg|g|mg|µg|μg|ug|ng|lbs?|oz|t|m|cm|mm|km|µm|μm|nm|ft|in|inch|inches|mi|miles?|l|L|ml|mL|dl|dL|cl|µl|μl|"
    "h|hrs?|hours?|min|mins|minutes?|s|secs?|seconds?|ms|days?|d|weeks?|months?|years?|yrs?|y|"
    "°|°C|°F|C|F|K|bpm|mmHg|kPa|hPa|Pa|bar|kcal|cal|kJ|J|W|kW|MW|Wh|kWh|MWh|Hz|kHz|MHz|GHz|[kMGT]?B|V|mV|A|mA|"
    "mol|mmol|µmol|μmol|nmol|mg/dl|mg/dL|g/dl|g/dL|g/l|g/L|mmol/l|mmol/L|U/l|U/L|IU|IU/l|IU/L|kg/m²|kg/m2|kg/m\\^2|"
    "m²|m2|m³|m3|km²|km2|ha|km/h|mph|m/s|rpm|dB|ppm|ppb|px|pt|pts|pcs"
)
_BLANK = rf"[\s{_BLANKS}]*"
_WRITTEN = (
    rf"\+?(?P<sign>-?){_BLANK}(?:(?P<before>{_CURRENCIES}){_BLANK})?"
    rf"(?P<body>[0-9.,](?:[0-9.,{_BLANKS}]*[0-9.])?{_EXPONENT})"
    rf"(?:{_BLANK}(?P<after>{_CURRENCIES}|{_UNITS}))?"
)
_CLOCK = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9](?:\.[0-9]+)?))?"
    r"(?:\s*(?P<half>[aApP])\.?[mM]\.?)?"
)
_SPAN = (
    r"(?P<sign>[+-]?)(?P<days>[0-9]+) days?,? "
    r"\+?(?P<hour>[0-9]{1,2}):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9](?:\.[0-9]+)?)"
)
# What a text begins with that could be a number: others are not looked at.
_BEGINNING = f"(?i)(?:[-+−.,0-9]|{_CURRENCIES}|inf|true|false)(?s:.*)"
_TRUTHS = (("(?i)true", 1.0), ("(?i)false", 0.0))


def _grouped(decimal: str) -> str:
    """Thousands apart, all by the same sign."""
    other = "," if decimal == "." else r"\."
    parts = "|".join(f"{one}[0-9]{{3}}(?:{one}[0-9]{{3}})*" for one in (other, *_BLANKS))
    fraction = rf"(?:\{decimal}[0-9]+)?"
    return f"-?[1-9][0-9]{{0,2}}(?:{parts}){fraction}"


_GROUPED = {decimal: _grouped(decimal) for decimal in ".,"}


def _without_units(texts: Any) -> tuple[Any, Any]:
    """The digits of numbers with their sign, empty where there is no number, and their units."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _, parts = groups(pc.replace_substring(texts, "−", "-"), _WRITTEN)
    nothing = pa.scalar("", pa.large_string())
    body = pc.binary_join_element_wise(parts["sign"], parts["body"], nothing)
    return body, pc.binary_join_element_wise(parts["before"], parts["after"], nothing)


def _fits(body: Any, decimal: str) -> Mask:
    return matches(body, f"{_SIMPLE[decimal]}|{_GROUPED[decimal]}")


def _decided(body: Any, decimal: str) -> Floats:
    """Numbers by one decimal point, or by that which each text allows; NaN for what is none, or could be two."""
    found = np.full(len(body), np.nan)
    fits = {one: _fits(body, one) if decimal in ("", one) else np.zeros(len(body), dtype=bool) for one in ".,"}
    if not decimal:
        both = fits["."] & fits[","]
        twofold = both & _have_commas(body) if both.any() else both
        fits = {".": fits["."] & ~twofold, ",": fits[","] & ~fits["."]}
    for one, these in fits.items():
        if these.any():
            found[these] = _by(body.filter(these), one)
    return found


def _simple(texts: Any, own: str, decimal: str) -> Floats:
    """Digits with at most one point or comma: by that one, unless another is asked for."""
    if decimal not in ("", own):
        return _decided(texts, decimal)
    found = _by(texts, own)
    return np.where(matches(texts, _GROUPED["."]), np.nan, found) if (own, decimal) == (",", "") else found


def _by(body: Any, decimal: str) -> Floats:
    """Numbers by one decimal point."""
    import pyarrow.compute as pc

    grouped = ~matches(body, _SIMPLE[decimal])
    if grouped.any():
        body = pc.if_else(grouped, pc.replace_substring_regex(body, f"[^-0-9{decimal}]", ""), body)
    return as_numbers(pc.replace_substring(body, ",", ".") if decimal == "," else body)


def _times(texts: Any) -> Floats:
    """Times of day in hours, lengths of time in days, numbers without end; and truths, as 0 and 1."""
    found = np.full(len(texts), np.nan)
    is_clock, parts = groups(texts, _CLOCK)
    if is_clock.any():
        hour, minute, second = (as_numbers(parts[name], "0") for name in ("hour", "minute", "second"))
        half = np.char.lower(parts["half"].to_numpy(zero_copy_only=False).astype(str))
        named = half != ""
        is_clock &= np.where(named, (hour >= 1) & (hour <= 12), hour < 24)
        hour = np.where(named, hour % 12 + 12 * (half == "p"), hour)
        found[is_clock] = (hour + minute / 60 + second / 3600)[is_clock]
    is_span, parts = groups(texts, _SPAN)
    if is_span.any():
        days, hour, minute, second = (as_numbers(parts[name], "0") for name in ("days", "hour", "minute", "second"))
        days = np.where(matches(parts["sign"], "-"), -days, days)
        found[is_span] = (days + (hour + minute / 60 + second / 3600) / 24)[is_span]
    for words, value in ((r"(?i)\+?inf(?:inity)?", np.inf), ("(?i)-inf(?:inity)?", -np.inf), *_TRUTHS):
        found[matches(texts, words)] = value
    return found


def _have_commas(body: Any) -> Mask:
    return matches(body, ".*,.*")
