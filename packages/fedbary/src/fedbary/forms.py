"""Forms: which fields something that another party made has, with types, shapes and bounds.

Nothing of it is used before it fits its form: unknown names, other types, numbers that are not finite or beyond all
sense, long or unprintable texts are refused here, whether a message, a reply, a file or a JSON text brings them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.wording import is_clean, on_one_line

# Squares of such numbers, summed over any table, are still finite.
LARGEST = 1e100
# A client with more rows than this is making them up.
MOST_ROWS = 10**9
# Numbers in one array: half a gigabyte.
_MOST_NUMBERS = 2**26
LONGEST_TEXT = 64 * 2**20


@dataclass(frozen=True)
class Number:
    """A finite number in a range."""

    least: float = 0.0
    most: float = LARGEST
    whole: bool = False
    optional: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value is not such a number; None if it is."""
        kinds = (int, np.integer) if self.whole else (int, float, np.integer, np.floating)
        # Written so that NaN, of which no comparison is true, does not fit.
        if not isinstance(value, kinds) or isinstance(value, bool) or not self.least <= value <= self.most:
            got = f"{value:g}" if _is_short_number(value) else type(value).__name__
            return ProtocolError(
                "protocols.number-unfit", name=name, got=got, least=float(self.least), most=float(self.most)
            )
        return None


def _is_short_number(value: object) -> bool:
    """Whether it is a number that can be written down; a whole one may have millions of digits."""
    if isinstance(value, (int, np.integer)):
        return not isinstance(value, bool) and abs(int(value)) <= LARGEST
    return isinstance(value, (float, np.floating))


@dataclass(frozen=True)
class Text:
    """A text that can be written down: not too long, no control characters, no half of a character.

    One that may be ``empty`` is null in a JSON text, too.
    """

    longest: int = 200
    optional: bool = False
    empty: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value is not such a text; None if it is."""
        if isinstance(value, str) and len(value) <= self.longest and is_clean(value):
            return None
        if value is None and self.empty:
            return None
        return ProtocolError("protocols.text-unfit", name=name, longest=self.longest)


@dataclass(frozen=True)
class Word:
    """One of some words."""

    words: tuple[str, ...]
    optional: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value is none of them; None if it is."""
        fits = isinstance(value, str) and value in self.words
        return None if fits else _unfit(name, f"one of {', '.join(self.words)}")


@dataclass(frozen=True)
class Flag:
    """True or false."""

    optional: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value is neither; None if it is one of them."""
        return None if isinstance(value, bool) else _unfit(name, "true or false")


@dataclass(frozen=True)
class TextOrNumber:
    """A setting that is a word or a number."""

    text: Text = field(default_factory=Text)
    number: Number = field(default_factory=Number)
    optional: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value is neither; None if it is one of them."""
        return (self.text if isinstance(value, str) else self.number).misfit(name, value)


@dataclass(frozen=True)
class Numbers:
    """An array of finite numbers; a size that has a name is the same wherever the form names it."""

    shape: tuple[str | int, ...]
    least: float = -LARGEST
    most: float = LARGEST
    whole: bool = False
    optional: bool = False

    def misfit(self, name: str, value: object, sizes: dict[str, int | range]) -> ProtocolError | None:
        """Why the value is not such an array; None if it is, and then its sizes are among ``sizes``."""
        array = np.asarray(value)
        typed = array.dtype.kind in "iu" if self.whole else array.dtype == np.float64
        if not typed or not _fits(array.shape, self.shape, sizes):
            expected = tuple(sizes.get(one, one) if isinstance(one, str) else one for one in self.shape)
            return ProtocolError(
                "protocols.array-shape",
                name=name,
                shape=str(array.shape[:8]),
                type=array.dtype.name,
                expected=str(expected),
            )
        if array.size > _MOST_NUMBERS:
            return ProtocolError("protocols.array-too-large", name=name, most=_MOST_NUMBERS)
        if not array.size:
            return None
        least, most = array.min(), array.max()
        if not (np.isfinite(least) and np.isfinite(most)):
            return ProtocolError("protocols.array-not-finite", name=name)
        if least < self.least or most > self.most:
            return ProtocolError("protocols.array-bounds", name=name, least=float(self.least), most=float(self.most))
        return None


@dataclass(frozen=True)
class Listed:
    """A list of fields of one kind; ``different`` where none comes twice."""

    of: Field
    least: int = 0
    most: int = 2**20
    different: bool = False
    optional: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value is not such a list; None if it is."""
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            return _unfit(name, f"a list of {self.least} to {self.most}")
        for at, one in enumerate(value):
            if (error := self.of.misfit(f"{name}[{at}]", one)) is not None:
                return error
        return _unfit(name, "a list of different ones") if self.different and len(set(value)) < len(value) else None


@dataclass(frozen=True)
class Fields:
    """The fields of an object in a JSON text; one that may be ``empty`` is null, too.

    Examples
    --------
    >>> form = Fields({"name": Text(), "columns": Listed(Fields({"width": Number(1, 9, whole=True)}))})
    >>> form.misfit("card", {"name": "north", "columns": [{"width": 3}]}) is None
    True
    >>> str(form.misfit("card", {"name": "north", "columns": [{"width": 0}]}))
    "the number 'card.columns[0].width' is 0, expected one in [1, 9]"
    """

    fields: Mapping[str, Field]
    empty: bool = False
    optional: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value does not have these fields; None if it has."""
        if value is None and self.empty:
            return None
        if not isinstance(value, dict):
            return _unfit(name, "an object with fields")
        if unknown := [key for key in value if key not in self.fields]:
            return ProtocolError("protocols.unknown-field", name=f"{name}.{on_one_line(str(unknown[0]))}")
        for key, one in self.fields.items():
            if key in value:
                if (error := one.misfit(f"{name}.{key}", value[key])) is not None:
                    return error
            elif not one.optional:
                return ProtocolError("protocols.lacks-field", name=f"{name}.{key}")
        return None


Field = Number | Text | TextOrNumber | Word | Flag | Listed | Fields


def _unfit(name: str, expected: str) -> ProtocolError:
    return ProtocolError("protocols.field-unfit", name=name, expected=expected)


@dataclass(frozen=True)
class Form:
    """The fields of a message or a reply; ``sizes`` are the sizes that are known beforehand, or their ranges.

    Of the arrays that are called ``either`` there is one, and only one.
    """

    scalars: Mapping[str, Field] = field(default_factory=dict)
    arrays: Mapping[str, Numbers] = field(default_factory=dict)
    sizes: Mapping[str, int | range] = field(default_factory=dict)
    either: tuple[str, ...] = ()

    def sized(self, **sizes: int | range) -> Form:
        """The form where these sizes are known."""
        return replace(self, sizes={**self.sizes, **sizes})

    def requiring(self, *arrays: str) -> Form:
        """The form where these arrays are not optional."""
        required = {name: replace(self.arrays[name], optional=False) for name in arrays}
        return replace(self, arrays={**self.arrays, **required})

    def misfit(self, scalars: Mapping[str, object], arrays: Mapping[str, np.ndarray]) -> ProtocolError | None:
        """Why a content does not have this form; None if it has."""
        for known, found in ((self.scalars, scalars), (self.arrays, arrays)):
            if unknown := [name for name in found if name not in known]:
                return ProtocolError("protocols.unknown-field", name=on_one_line(str(unknown[0])))
        for name, scalar in self.scalars.items():
            if name in scalars or not scalar.optional:
                error = scalar.misfit(name, scalars.get(name))
                if error is not None:
                    return error
        sizes = dict(self.sizes)
        for name, array in self.arrays.items():
            if name in arrays:
                error = array.misfit(name, arrays[name], sizes)
                if error is not None:
                    return error
            elif not array.optional:
                return ProtocolError("protocols.lacks-array", name=name)
        if self.either and len(arrays.keys() & set(self.either)) != 1:
            return ProtocolError("protocols.lacks-array", name=" or ".join(self.either))
        return None


def optional(form: Mapping[str, Numbers], prefix: str = "") -> dict[str, Numbers]:
    """The same arrays, which a message may lack, by names with a prefix."""
    return {f"{prefix}{name}": replace(one, optional=True) for name, one in form.items()}


def arrays_of(
    form: Mapping[str, Numbers], arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int | range]
) -> list[np.ndarray]:
    """The arrays of a form among all that a server sent, in the form's order; refuses one that is missing or unfit.

    Examples
    --------
    >>> arrays_of({"weights": Numbers(("n",))}, {"weights": np.ones(2), "points": np.zeros(3)}, {"n": 2})
    [array([1., 1.])]
    """
    known = dict(sizes)
    for name, one in form.items():
        if name not in arrays or one.misfit(name, arrays[name], known) is not None:
            raise ProtocolError("protocols.server-array", name=name)
    return [arrays[name] for name in form]


def _fits(found: tuple[int, ...], shape: tuple[str | int, ...], sizes: dict[str, int | range]) -> bool:
    """Whether an array has the shape; sizes that were not known before are known afterwards."""
    if len(found) != len(shape):
        return False
    for size, expected in zip(found, shape, strict=True):
        known: Any = sizes.get(expected, size) if isinstance(expected, str) else expected
        if size != known and not (isinstance(known, range) and size in known):
            return False
        if isinstance(expected, str):
            sizes[expected] = size
    return True
