"""`Record`: which fields something that another party made has, with types, shapes, bounds, and what each tells.

Nothing of it is used before it fits its record: unknown names, other types, numbers that are not finite or beyond all
sense, long or unprintable texts are refused here, whether a message, a reply, a file or a JSON text brings them. The
same definition writes and reads checkpoints, and says in words what leaves.
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
Sizes = Mapping[str, int | range]


@dataclass(frozen=True, kw_only=True)
class Field:
    """What all fields have.

    Parameters
    ----------
    optional : bool
        Whether it may be left out.
    tells : str
        What it tells whoever gets it; ``{min_group}`` and the like are settings.
    claim : str
        What of a result rests on it, where a client says it of itself and nobody else can check it.
    withheld_by : str
        The key of an owner's policy by which it stays at home.
    when : str
        In which runs alone it is sent (`fedbary.protocols.forms.WHEN`).
    public : bool
        With ε: no row has a say in it, and it has no noise.
    """

    optional: bool = False
    tells: str = ""
    claim: str = ""
    withheld_by: str = ""
    when: str = ""
    public: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value is not such a field; None if it is."""
        raise NotImplementedError

    def to_state(self, value: Any) -> np.ndarray:
        """The value as an array, for a checkpoint."""
        return np.array(value)

    def from_state(self, array: np.ndarray) -> Any:
        """What `to_state` got."""
        return array.item()


@dataclass(frozen=True)
class Number(Field):
    """A finite number in a range."""

    least: float = 0.0
    most: float = LARGEST
    whole: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
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
class Text(Field):
    """A text that can be written down: not too long, no control characters, no half of a character.

    One that may be ``empty`` is null in a JSON text, too.
    """

    longest: int = 200
    empty: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        fits = isinstance(value, str) and len(value) <= self.longest and is_clean(value)
        if fits or (value is None and self.empty):
            return None
        return ProtocolError("protocols.text-unfit", name=name, longest=self.longest)

    def to_state(self, value: Any) -> np.ndarray:
        return text_array(value)

    def from_state(self, array: np.ndarray) -> str:
        return array_text(array)


@dataclass(frozen=True)
class Word(Field):
    """One of some words."""

    words: tuple[str, ...]

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        fits = isinstance(value, str) and value in self.words
        return None if fits else _unfit(name, f"one of {', '.join(self.words)}")


@dataclass(frozen=True)
class Flag(Field):
    """True or false."""

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        return None if isinstance(value, bool) else _unfit(name, "true or false")


@dataclass(frozen=True)
class TextOrNumber(Field):
    """A setting that is a word or a number."""

    text: Text = field(default_factory=Text)
    number: Number = field(default_factory=Number)

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        return (self.text if isinstance(value, str) else self.number).misfit(name, value)


@dataclass(frozen=True)
class Numbers(Field):
    """An array of finite numbers; a size that has a name is the same wherever the record names it."""

    shape: tuple[str | int, ...]
    least: float = -LARGEST
    most: float = LARGEST
    whole: bool = False

    def misfit(self, name: str, value: object, sizes: dict[str, int | range] | None = None) -> ProtocolError | None:
        """Why the value is not such an array; None if it is, and then its sizes are among ``sizes``."""
        array, sizes = np.asarray(value), {} if sizes is None else sizes
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

    def to_state(self, value: Any) -> np.ndarray:
        return np.asarray(value)

    def from_state(self, array: np.ndarray) -> np.ndarray:
        return array


@dataclass(frozen=True)
class Arrays(Field):
    """Any arrays, by name; for a checkpoint, which is its writer's own."""


@dataclass(frozen=True)
class Listed(Field):
    """A list of fields of one kind; ``different`` where none comes twice."""

    of: Field
    least: int = 0
    most: int = 2**20
    different: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            return _unfit(name, f"a list of {self.least} to {self.most}")
        for at, one in enumerate(value):
            if (error := self.of.misfit(f"{name}[{at}]", one)) is not None:
                return error
        return _unfit(name, "a list of different ones") if self.different and len(set(value)) < len(value) else None


@dataclass(frozen=True)
class Fields(Field):
    """The fields of an object in a JSON text; one that may be ``empty`` is null, too."""

    fields: Mapping[str, Field]
    empty: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
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


def _unfit(name: str, expected: str) -> ProtocolError:
    return ProtocolError("protocols.field-unfit", name=name, expected=expected)


@dataclass(frozen=True)
class Record:
    """The fields of a message, a reply or a checkpoint; ``sizes`` are those that are known beforehand, or their ranges.

    Of the arrays that are called ``either`` there is one, and only one. ``notes`` are kinds of notes that stand beside
    the fields of a reply.
    """

    fields: Mapping[str, Field] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=dict)
    either: tuple[str, ...] = ()
    notes: tuple[Field, ...] = ()

    def sized(self, **sizes: int | range) -> Record:
        """The record where these sizes are known."""
        return replace(self, sizes={**self.sizes, **sizes})

    def requiring(self, *names: str) -> Record:
        """The record where these fields are not optional."""
        required = {name: replace(self.fields[name], optional=False) for name in names}
        return replace(self, fields={**self.fields, **required})

    def misfit(self, scalars: Mapping[str, object], arrays: Mapping[str, np.ndarray]) -> ProtocolError | None:
        """Why a content does not have these fields; None if it has."""
        known: dict[bool, dict[str, Field]] = {False: {}, True: {}}
        for name, one in self.fields.items():
            known[isinstance(one, Numbers)][name] = one
        for kind, content in ((False, scalars), (True, arrays)):
            if unknown := [name for name in content if name not in known[kind]]:
                return ProtocolError("protocols.unknown-field", name=on_one_line(str(unknown[0])))
        for name, one in known[False].items():
            asked = name in scalars or not one.optional
            if asked and (error := one.misfit(name, scalars.get(name))) is not None:
                return error
        sizes = dict(self.sizes)
        for name, one in known[True].items():
            assert isinstance(one, Numbers)
            if name in arrays:
                if (error := one.misfit(name, arrays[name], sizes)) is not None:
                    return error
            elif not one.optional:
                return ProtocolError("protocols.lacks-array", name=name)
        if self.either and len(arrays.keys() & set(self.either)) != 1:
            return ProtocolError("protocols.lacks-array", name=" or ".join(self.either))
        return None

    def to_state(self, **values: Any) -> dict[str, np.ndarray]:
        """A checkpoint of these values, as arrays alone; what is None is left out.

        Examples
        --------
        >>> kept = Record({"step": Number(), "name": Text(), "part": Arrays()})
        >>> state = kept.to_state(step=2, name=None, part={"mean": np.zeros(1)})
        >>> sorted(state), kept.from_state(state)["step"], kept.from_state(state)["name"]
        (['part.mean', 'step'], 2, None)
        """
        state: dict[str, np.ndarray] = {}
        for name, value in values.items():
            if value is not None and isinstance(self.fields[name], Arrays):
                state |= under(f"{name}.", value)
            elif value is not None:
                state[name] = self.fields[name].to_state(value)
        return state

    def from_state(self, state: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """What `to_state` got; None where it was left out."""
        return {
            name: below(state, f"{name}.")
            if isinstance(one, Arrays)
            else one.from_state(state[name])
            if name in state
            else None
            for name, one in self.fields.items()
        }


def optional(fields: Mapping[str, Numbers], prefix: str = "", **words: Any) -> dict[str, Field]:
    """The same arrays, which a message may lack, by names with a prefix, and with what they tell."""
    return {f"{prefix}{name}": replace(one, optional=True, **words) for name, one in fields.items()}


def arrays_of(fields: Mapping[str, Numbers], arrays: Mapping[str, np.ndarray], sizes: Sizes) -> list[np.ndarray]:
    """The arrays of a record among all that a server sent, in its order; refuses one that is missing or unfit."""
    known = dict(sizes)
    for name, one in fields.items():
        if name not in arrays or one.misfit(name, arrays[name], known) is not None:
            raise ProtocolError("protocols.server-array", name=name)
    return [arrays[name] for name in fields]


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


def text_array(text: str) -> np.ndarray:
    """Text as an array of its UTF-8 bytes, so that checkpoints hold nothing but arrays."""
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8).copy()


def array_text(array: np.ndarray) -> str:
    """Inverse of `text_array`."""
    return np.asarray(array, dtype=np.uint8).tobytes().decode("utf-8")


def under(prefix: str, part: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A part with the prefix before its keys, to be joined with others."""
    return {f"{prefix}{key}": array for key, array in part.items()}


def below(state: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The part of a state that was stored under a prefix."""
    return {key.removeprefix(prefix): array for key, array in state.items() if key.startswith(prefix)}
