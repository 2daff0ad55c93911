"""Numbers and dates that stand for "missing": codes such as −999, where they stand apart from all other values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

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


def sentinels(values: Floats, counts: Counts, *, dates: bool = False) -> list[int]:
    """The places of codes for "missing" among different values in ascending order, of which each has so many rows.

    A code counts only where it is the smallest or largest value, and farther from the next one than all others are
    from each other, or a spike that is cut off from them.

    Examples
    --------
    >>> ages = np.array([-999.0, *range(20, 80)])
    >>> sentinels(ages, np.ones(61, dtype=np.int64))
    [0]
    >>> sentinels(np.arange(-30.0, 60.0), np.ones(90, dtype=np.int64))
    []
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
