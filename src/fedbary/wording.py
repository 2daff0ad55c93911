"""Numbers and counts as a reader wants to see them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def dash(value: Any) -> str:
    """The value as text, or a dash where there is none.

    Examples
    --------
    >>> dash(None), dash(float("nan")), dash(True)
    ('–', '–', 'yes')
    """
    if not isinstance(value, str | int | float):  # pandas takes half a second to import
        import pandas as pd

        return "–" if pd.isna(value) else str(value)
    if isinstance(value, float) and math.isnan(value):
        return "–"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def number(value: Any) -> str:
    """Whole numbers with separators, others to two decimals, small ones to three digits.

    Examples
    --------
    >>> number(12000), number(10.60357), number(-0.5), number(None)
    ('12,000', '10.60', '−0.500', '–')
    """
    if dash(value) == "–":
        return "–"
    if isinstance(value, int) or float(value).is_integer():
        text = f"{int(value):,}"
    else:
        text = f"{value:,.2f}" if abs(value) >= 1 else f"{value:#.3g}"
    return text.replace("-", "−")


def percent(share: Any) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.2175), percent(None)
    ('21.8 %', '–')
    """
    return "–" if dash(share) == "–" else f"{100 * share:.1f} %"


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{ending}"


def shortened(name: str, longest: int = 60) -> str:
    """A name that fits a line. Both ends stay: long names of one federation tend to differ at one of them.

    Examples
    --------
    >>> shortened("hospital_of_the_north", longest=11)
    'hospi…north'
    """
    half = longest // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def tenths(value: float) -> str:
    """A number between 0 and 1 to two decimals, as a quality is read.

    Examples
    --------
    >>> tenths(0.98765), tenths(float("nan"))
    ('0.99', '–')
    """
    return "–" if dash(value) == "–" else f"{value:.2f}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence; beyond ``most`` they are counted.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefgh"), most=3)
    ('a', 'a, b and c', 'a, b, c and 5 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever says it best.

    Examples
    --------
    >>> duration(12.4), duration(180), duration(9000)
    ('12 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{max(seconds, 0.0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
