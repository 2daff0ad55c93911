"""The English of every code: facts are values, and these are the sentences that are made of them where they are shown.

A code is ``area.what-happened``; its sentence stands in the file of that area. Another package offers areas of its own
by entry points of the group ``fedbary.sentences``, the area's name and a module with ``SENTENCES``. In a sentence

- ``{field}`` is a fact, with Python's format specifications and those of `fedbary.filling.Formatter`;
- ``[[ such as {example!r}]]`` is left out where one of its facts is not known, ``[[{n} rows|nothing]]`` says the other;
- ``<missing=indicate>`` is a setting: ``missing='indicate'`` in Python, ``--missing indicate`` on the command line;
- facts that another party may hear are ``public``; all others stay with the owner of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

AREAS = (
    "audit", "checkup", "cli", "data", "deploy", "encoders", "engines", "formats", "games", "guard", "internal",
    "judging", "protocols", "schema", "settings", "transport", "valuation", "verdict", "views",
)  # fmt: skip


@dataclass(frozen=True)
class Sentence:
    """One sentence, and which of its facts may leave; ``command`` replaces it on the command line."""

    text: str
    public: frozenset[str] = frozenset()
    command: str = ""


def say(text: str, public: str = "", *, command: str = "") -> Sentence:
    """A sentence; ``public`` names the facts that another party may hear, with blanks between them."""
    return Sentence(text, frozenset(public.split()), command)


def sentence(code: str) -> Sentence | None:
    """The sentence of a code, or None where this version of fedbary knows no such code."""
    area, _, name = code.partition(".")
    return _area(area).get(name)


@cache
def _area(area: str) -> dict[str, Sentence]:
    """The sentences of an area: of this package, or of one that offers them by an entry point."""
    if area in AREAS:
        own: dict[str, Sentence] = import_module(f"fedbary.sentences.{area}").SENTENCES
        return own
    found = [point for point in entry_points(group="fedbary.sentences") if point.name == area]
    return dict(found[0].load().SENTENCES) if found else {}
