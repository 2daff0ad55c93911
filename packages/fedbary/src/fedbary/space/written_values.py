"""The values of a schema that somebody writes by hand: each is what its key needs, or a mistake with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from fedbary.checks import did_you_mean
from fedbary.data.categories import category_name, two_spellings
from fedbary.errors import SchemaError


def require_known(found: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    """Refuse keys that mean nothing, with the closest one that does."""
    for key in found:
        if key not in known:
            guess = did_you_mean(key, known)
            raise SchemaError("schema.written-unknown-key", place=place, key=key, guess=guess, known=", ".join(known))


def number(found: Mapping[str, Any], key: str, place: str, *, least: float | None = None) -> float:
    """A finite number, above ``least`` where there is one."""
    value = found[key]
    finite = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if finite and (least is None or value > least):
        return float(value)
    raise wrong(key, place, "a number" if least is None else f"a number above {least:g}", value)


def numbers(found: Mapping[str, Any], key: str, place: str, width: int, least: float | None) -> tuple[float, ...]:
    """One number for each coordinate of a column: all the same, or a list."""
    value = found[key]
    if not isinstance(value, list):
        return (number(found, key, place, least=least),) * width
    if len(value) != width:
        raise wrong(key, place, f"one number, or {width} of them, as many as its width", f"{len(value)} numbers")
    return tuple(number({key: one}, key, place, least=least) for one in value)


def truth(found: Mapping[str, Any], key: str, place: str) -> bool:
    """True or false; false where the key is left out."""
    value = found.get(key, False)
    if not isinstance(value, bool):
        raise wrong(key, place, "true or false", value)
    return value


def whole(
    found: Mapping[str, Any], key: str, place: str, *, least: int = 1, most: int = 2**20, default: int | None = None
) -> int:
    """A whole number within bounds."""
    value = found.get(key, default)
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise wrong(key, place, f"a whole number from {least} to {most}", value)


def names(found: Mapping[str, Any], key: str, place: str, *, least: int, column: str) -> tuple[str, ...]:
    """Different names of a column's categories, as these are called."""
    value = found[key]
    expected = f"a list of {least} different names or more"
    if not isinstance(value, list) or not all(isinstance(one, str | int) for one in value):
        raise wrong(key, place, expected, value)
    if (spelled := two_spellings([str(one).strip() for one in value])) is not None:
        raise SchemaError("schema.two-spellings", column=column, first=spelled[0], second=spelled[1])
    names = tuple(category_name(one) for one in value)
    if len(set(names)) < max(least, len(names)):
        raise wrong(key, place, expected, value)
    return names


def wrong(key: str, place: str, expected: str, got: object) -> SchemaError:
    """What is wrong with a key's value."""
    return SchemaError("schema.written-value", place=place, key=key, expected=expected, got=repr(got)[:80])
