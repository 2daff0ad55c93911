"""Forms: which fields a message or a reply of a kind has, with types, shapes and bounds; both sides check by them.

Nothing of what another party sent is used before it fits its form: unknown names, other types, numbers that are not
finite or beyond all sense, long or unprintable texts are refused by one function, whatever the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply, Scalar
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
    """A text that can be written down: not too long, no control characters, no half of a character."""

    longest: int = 200
    optional: bool = False

    def misfit(self, name: str, value: object) -> ProtocolError | None:
        """Why the value is not such a text; None if it is."""
        if isinstance(value, str) and len(value) <= self.longest and is_clean(value):
            return None
        return ProtocolError("protocols.text-unfit", name=name, longest=self.longest)


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


Field = Number | Text | TextOrNumber


@dataclass(frozen=True)
class Form:
    """The fields of a message or a reply; ``sizes`` are the sizes that are known beforehand, or their ranges.

    Examples
    --------
    >>> form = Form({"rows": Number(1, 10, whole=True)}, {"points": Numbers(("points", "width"))})
    >>> form.misfit({"rows": 3}, {"points": np.zeros((4, 2))}) is None
    True
    >>> form.sized(width=3).misfit({"rows": 3}, {"points": np.zeros((4, 2))}).code
    'protocols.array-shape'
    >>> form.misfit({"rows": 3, "more": 1}, {}).code
    'protocols.unknown-field'
    """

    scalars: Mapping[str, Field] = field(default_factory=dict)
    arrays: Mapping[str, Numbers] = field(default_factory=dict)
    sizes: Mapping[str, int | range] = field(default_factory=dict)

    def sized(self, **sizes: int | range) -> Form:
        """The form where these sizes are known."""
        return replace(self, sizes={**self.sizes, **sizes})

    def requiring(self, *arrays: str) -> Form:
        """The form where these arrays are not optional."""
        required = {name: replace(self.arrays[name], optional=False) for name in arrays}
        return replace(self, arrays={**self.arrays, **required})

    def misfit(self, scalars: Mapping[str, Scalar], arrays: Mapping[str, np.ndarray]) -> ProtocolError | None:
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
        return None


NOTHING = Form()


@dataclass(frozen=True)
class Exchange:
    """What a kind of message asks with, and what is answered."""

    message: Form = NOTHING
    reply: Form = NOTHING


def check_message(exchanges: Mapping[str, Exchange], protocol: str, message: Message) -> None:
    """Refuse a server's message that is not of a known kind and of that kind's form.

    Examples
    --------
    >>> check_message({"finish": Exchange()}, "sketch", Message("finish", 0))
    """
    kind = on_one_line(message.kind)
    if message.kind not in exchanges:
        raise ProtocolError("protocols.unknown-message", protocol=protocol, kind=kind)
    error = exchanges[message.kind].message.misfit(message.scalars, message.arrays)
    if error is not None:
        raise ProtocolError("protocols.message-unfit", kind=kind, name=str(error.public["name"])) from error


def fitting_replies(
    asked: Iterable[str], replies: Mapping[str, Reply | Failure], form: Form, *, number: int
) -> dict[str, Reply | Failure]:
    """One answer for each client that was asked: its reply if it fits the form, else why there is none.

    ``number`` is the round that the replies must be of.

    Examples
    --------
    >>> found = fitting_replies(["a", "b"], {"a": Reply(0, {"rows": -1})}, Form({"rows": Number()}), number=0)
    >>> found["a"].note.code, found["b"].note.code
    ('protocols.number-unfit', 'protocols.no-answer')
    """
    return {name: _fitting(replies.get(name, NO_ANSWER), form, number) for name in asked}


def _fitting(reply: Reply | Failure, form: Form, expected: int) -> Reply | Failure:
    if isinstance(reply, Failure):
        return reply
    if reply.round != expected:
        return Failure.of(ProtocolError("protocols.other-round", found=reply.round, expected=expected))
    error = form.misfit(reply.scalars, reply.arrays)
    return reply if error is None else Failure.of(error)


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
