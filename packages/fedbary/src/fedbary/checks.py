"""Checks of parameters, with the sentence that every wrong one gets."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real

from fedbary.errors import wrong_parameter

# Below, noise drowns any answer.
_LEAST_EPSILON = 1e-4
_LEAST_BEGINNING = 3  # letters that say something about a name


def whole(value: object, name: str, owner: str, *, least: int) -> int:
    """Return ``value`` as an int, or say that it must be a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise wrong_parameter(name, owner, f"a whole number of at least {least}", value)
    return int(value)


def number(value: object, name: str, owner: str, *, zero: bool = False) -> float:
    """Return ``value`` as a float, or say that it must be a finite positive number (or zero, where allowed)."""
    if isinstance(value, Real) and not isinstance(value, bool):
        found = float(value)
        if math.isfinite(found) and (found > 0.0 or (zero and found == 0.0)):
            return found
    wanted = "a finite number, zero or above" if zero else "a finite number above zero"
    raise wrong_parameter(name, owner, wanted, value)


def epsilon(value: object, owner: str) -> None:
    """Refuse what is no ε that an answer could be made with."""
    fits = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or float(value) < _LEAST_EPSILON:  # type: ignore[arg-type]
        raise wrong_parameter("epsilon", owner, f"a finite number of at least {_LEAST_EPSILON:g}", value)


def one_of(value: object, name: str, owner: str, allowed: Iterable[str]) -> None:
    """Refuse what is none of the allowed words."""
    if value not in (words := tuple(allowed)):
        raise wrong_parameter(name, owner, f"one of {', '.join(words)}", value)


def truth(value: object, name: str, owner: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise wrong_parameter(name, owner, "True or False", value)


def optional(value: object, kind: type, name: str, owner: str, expected: str) -> None:
    """Refuse what is neither None nor of a kind."""
    if value is not None and not isinstance(value, kind):
        raise wrong_parameter(name, owner, expected, value)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name most like a wrong one, or the only one that begins with it, in words to put behind it."""
    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.casefold(), one)
    wrong = name.casefold()
    close = difflib.get_close_matches(wrong, folded, n=1, cutoff=0.6)
    if not close and len(wrong) >= _LEAST_BEGINNING:
        begun = [one for one in folded if one.startswith(wrong)]
        close = begun if len(begun) == 1 else []
    return f" (did you mean {folded[close[0]]!r}?)" if close else ""
