"""Names that are the same but for how they are written."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

_BETWEEN_WORDS = re.compile(r"[\s_]+|(?<=\w)-(?=\w)")
# Letters that a name must have for its case to mean nothing, unless it is known: Aa, AA and aa are three genotypes.
_LEAST_LETTERS = 3
_ALIKE = 0.8


def spelling(name: str) -> str:
    """A name in small letters with one blank between its words; the same for all ways in which it is written."""
    return _BETWEEN_WORDS.sub(" ", name.strip()).casefold()


def written_differently(counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Names of one spelling, the most frequent first, for each spelling of several; short ones may be codes.

    Examples
    --------
    >>> written_differently({"Male": 3, "female": 9, "male": 7, "Aa": 1, "aa": 1})
    [('male', 'Male')]
    """
    groups: dict[str, list[str]] = {}
    for name in counts:
        if sum(letter.isalpha() for letter in name) >= _LEAST_LETTERS:
            groups.setdefault(spelling(name), []).append(name)
    return [tuple(sorted(names, key=lambda one: -counts[one])) for names in groups.values() if len(names) > 1]


def respelled(names: Iterable[str], known: Sequence[str]) -> dict[str, str]:
    """For each name that is not known, the one known name that is written differently and is the same."""
    by_spelling: dict[str, list[str]] = {}
    as_it_is = set(known)
    for name in known:
        by_spelling.setdefault(spelling(name), []).append(name)
    found = ((name, by_spelling.get(spelling(name), [])) for name in names if name not in as_it_is)
    return {name: same[0] for name, same in found if len(same) == 1}


def similar(name: str, known: Sequence[str]) -> str | None:
    """The known name that a wrong one is probably a misspelling of."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
    return close[0] if close else None
