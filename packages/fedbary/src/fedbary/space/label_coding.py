"""Labels that are the federation's in another coding: GOOD for good, 1 for yes, 1.0 for 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

# Words for the two answers to a question, as files write them.
_ANSWERS = (
    ("0", "no", "n", "false", "f", "negative", "neg", "-", "off"),
    ("1", "yes", "y", "true", "t", "positive", "pos", "+", "on"),
)


def other_coding(found: Iterable[str], classes: Iterable[str]) -> dict[str, str]:
    """Which class each unknown label probably means; empty unless all that are guessed mean different classes.

    Tried are, one after the other, the same letters or number in other clothes, another word for yes or no, and the
    beginning of a single class. A label of which nothing is obvious is left out.
    """
    known = sorted(set(classes))
    unknown = sorted(set(found) - set(known))
    for same in (_plain, _answer):
        meant = _by(same, unknown, known)
        if meant:
            return meant
    return _by_beginning(unknown, known)


def _by(same: Callable[[str], str | None], unknown: list[str], known: list[str]) -> dict[str, str]:
    """Labels and classes that are the same in a coarser reading, where only one class is."""
    read: dict[str, list[str]] = {}
    for name in known:
        if (key := same(name)) is not None:
            read.setdefault(key, []).append(name)
    meant = {}
    for name in unknown:
        key = same(name)
        if key is not None and len(read.get(key, ())) == 1:
            meant[name] = read[key][0]
    return meant


def _plain(name: str) -> str | None:
    """Small letters and digits alone; a number as its value."""
    text = name.strip().casefold()
    try:
        number = float(text)
    except ValueError:
        return "".join(letter for letter in text if letter.isalnum()) or None
    return repr(number)


def _answer(name: str) -> str | None:
    text = name.strip().casefold()
    with suppress(ValueError):
        text = f"{float(text):g}"
    return next((words[0] for words in _ANSWERS if text in words), None)


def _by_beginning(unknown: list[str], known: list[str]) -> dict[str, str]:
    """Abbreviations, if every unknown label is one and no two of the same class."""
    meant = {}
    for name in unknown:
        text = name.strip().casefold()
        longer = [one for one in known if one.casefold().startswith(text) or text.startswith(one.casefold())]
        if len(longer) != 1 or text.isdigit():
            return {}
        meant[name] = longer[0]
    return meant if len(set(meant.values())) == len(meant) else {}
