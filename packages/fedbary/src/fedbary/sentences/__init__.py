"""The English of every code: facts are values, and these are the sentences that are made of them where they are shown.

A code is ``area.what-happened``; its sentence stands in ``area.toml``, one line each: the text, the facts that another
party may hear, the text on the command line where that differs. Another package offers areas of its own by entry points
of the group ``fedbary.sentences``, the area's name and a module with ``SENTENCES``. In a sentence

- ``{field}`` is a fact, with Python's format specifications and those of `fedbary.filling.Formatter`;
- ``[[ such as {example!r}]]`` is left out where one of its facts is not known, ``[[{n} rows|nothing]]`` says the other;
- ``<missing=indicate>`` is a setting: ``missing='indicate'`` in Python, ``--missing indicate`` on the command line;
- facts that another party may hear are ``public``; all others stay with the owner of the data.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

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


def say(text: str, public: str = "", command: str = "") -> Sentence:
    """A sentence; ``public`` names the facts that another party may hear, with blanks between them."""
    return Sentence(text, frozenset(public.split()), command)


def sentence(code: str) -> Sentence | None:
    """The sentence of a code, or None where this version of fedbary knows no such code."""
    name, _, what = code.partition(".")
    return area(name).get(what)


@cache
def area(name: str) -> Mapping[str, Sentence]:
    """The sentences of an area: of this package, or of one that offers them by an entry point."""
    if name in AREAS:
        text = Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8")
        return {code: say(*said) for code, said in tomllib.loads(text).items()}
    found = [point for point in entry_points(group="fedbary.sentences") if point.name == name]
    return dict(found[0].load().SENTENCES) if found else {}
