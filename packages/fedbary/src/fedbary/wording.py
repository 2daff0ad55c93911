"""How facts become words: numbers, counts and names as a reader wants to see them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


def dash(value: Any) -> str:
    """The value as text, or a dash where there is none."""
    if not isinstance(value, str | int | float):  # pandas takes half a second to import
        import pandas as pd

        return "–" if pd.isna(value) else str(value)
    if isinstance(value, float) and math.isnan(value):
        return "–"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def number(value: Any) -> str:
    """Whole numbers with separators, others to two decimals, small ones to three digits."""
    if dash(value) == "–":
        return "–"
    if isinstance(value, int) or float(value).is_integer():
        text = f"{int(value):,}"
    else:
        text = f"{value:,.2f}" if abs(value) >= 1 else f"{value:#.3g}"
    return text.replace("-", "−")


def _shaped(shape: str, scale: float = 1.0) -> Callable[[Any], str]:
    return lambda value: "–" if dash(value) == "–" else shape.format(scale * value)


# A share in per cent, and in whole per cent, as an estimate is read; a number between 0 and 1, as a quality is; a
# difference in standard deviations; a ratio, as a reader multiplies by it.
percent, whole_percent = _shaped("{:.1f} %", 100), _shaped("{:.0f} %", 100)
two_decimals, sigmas, times = _shaped("{:.2f}"), _shaped("{:.1f} σ"), _shaped("×{:.1f}")


def headline_percent(share: float) -> str:
    """A share as a headline has it: in whole per cent, below one with a decimal, and a word for nothing."""
    return "none" if share < 0.0005 else percent(share) if share < 0.01 else whole_percent(share)


def counted(count: int, noun: str) -> str:
    """A count with its noun."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{ending}"


def shortened(name: str, longest: int = 60) -> str:
    """A name that fits a line. Both ends stay: long names of one federation tend to differ at one of them."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence; beyond ``most`` they are counted."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def quoted(names: Sequence[Any], most: int = 5) -> str:
    """The first few names of a list, in quotation marks."""
    first = ", ".join(repr(on_one_line(str(name))) for name in names[:most])
    return f"{first}, …" if len(names) > most else first or "none"


def shown_cell(cell: object) -> str:
    """A cell of any type as a sentence can hold it."""
    return on_one_line(repr(cell), 80)


def on_one_line(name: str, longest: int = 40) -> str:
    r"""A name as a sentence can hold it: on one line, and cut where it gets long."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in name[: 4 * longest]).split())
    return plain if len(plain) <= longest and len(name) <= 4 * longest else plain[:longest] + "…"


def is_plain(text: str) -> bool:
    r"""Whether a text from elsewhere is nothing but printable characters."""
    return all(letter.isprintable() for letter in text)


def is_clean(text: str) -> bool:
    r"""Whether a text from elsewhere can be kept: whole characters, and of those for control only tabs and line breaks.

    Names in tables hold these, and they are shown on one line; what turns a terminal or the direction of a text around
    is in no honest one.
    """
    return text.isprintable() or not any(_is_control(letter) for letter in set(text).difference("\t\n\r"))


def without_control(text: str) -> str:
    r"""A text with blanks for control characters, marks of direction and halves of characters."""
    return text if text.isprintable() else "".join(" " if _is_control(letter) else letter for letter in text)


def _is_control(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in _CONTROL)


def as_plain(text: str, longest: int) -> str:
    r"""A text of which `is_plain` is true, with blanks for what is not printable, and cut where it gets long."""
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(letter if letter.isprintable() else " " for letter in cut)


# Control characters, marks and overrides of direction, and halves of characters.
_CONTROL = ((0, 0x1F), (0x7F, 0x9F), (0x200E, 0x200F), (0x2028, 0x202E), (0x2066, 0x2069), (0xD800, 0xDFFF))


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever says it best."""
    if seconds < 100:
        return f"{max(seconds, 0.0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
