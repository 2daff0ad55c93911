"""Names in sentences: short and on one line, however they were written."""

from __future__ import annotations

# A class name beyond this is free text, and every party would have to carry it in its schema.
LONGEST_CLASS = 200
_SHOWN = 40


def short(name: str) -> str:
    r"""A name as a sentence can hold it: on one line, and cut where it gets long.

    Examples
    --------
    >>> from fedbary.space.names import short
    >>> short("a\nb"), len(short("b" * 1000))
    ('a b', 41)
    """
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in name[: 4 * _SHOWN]).split())
    return plain if len(plain) <= _SHOWN and len(name) <= 4 * _SHOWN else plain[:_SHOWN] + "…"
