"""Checks of parameters, with the sentence that every wrong one gets."""

from __future__ import annotations

import math
from numbers import Integral, Real

from fedbary.errors import SettingsError


def whole(value: object, name: str, owner: str, *, least: int) -> int:
    """Return ``value`` as an int, or say that it must be a whole number of at least ``least``.

    Examples
    --------
    >>> from fedbary.checks import whole
    >>> whole(3, "samples", "group_testing_shapley", least=1)
    3
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise SettingsError(
            f"The '{name}' parameter of {owner} must be a whole number of at least {least}. Got {value!r} instead."
        )
    return int(value)


def number(value: object, name: str, owner: str, *, zero: bool = False) -> float:
    """Return ``value`` as a float, or say that it must be a finite positive number (or zero, where allowed).

    Examples
    --------
    >>> from fedbary.checks import number
    >>> number(0, "truncation", "permutation_shapley", zero=True)
    0.0
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        found = float(value)
        if math.isfinite(found) and (found > 0.0 or (zero and found == 0.0)):
            return found
    wanted = "a finite number, zero or above" if zero else "a finite number above zero"
    raise SettingsError(f"The '{name}' parameter of {owner} must be {wanted}. Got {value!r} instead.")
