"""Sentences filled with facts, in the dialect of whoever listens: Python's, or the command line's."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from fedbary.wording import counted, listed, number, on_one_line, percent, quoted, whole_percent


@dataclass(frozen=True)
class Dialect:
    """How settings are written: as parameters of Python, or as options of the command line."""

    command: bool = False

    def option(self, name: str) -> str:
        return f"--{name.replace('_', '-')}" if self.command else name

    def setting(self, name: str, value: str) -> str:
        return f"{self.option(name)} {value}" if self.command else f"{name}={value!r}"


PYTHON, COMMAND = Dialect(), Dialect(command=True)
_spoken: ContextVar[Dialect] = ContextVar("fedbary's dialect", default=PYTHON)


def spoken() -> Dialect:
    """The dialect of whoever listens: Python, or the command line while a command runs."""
    return _spoken.get()


@contextmanager
def speaking(dialect: Dialect) -> Iterator[None]:
    """Say everything in this dialect meanwhile."""
    before = _spoken.set(dialect)
    try:
        yield
    finally:
        _spoken.reset(before)


_SETTING = re.compile(r"<([a-z_]+)(?:=([a-z-]+))?>")
_OPTIONAL = re.compile(r"\[\[(.*?)\]\]")
_UNKNOWN = "…"
_FORMS: dict[str, Callable[[Any], str]] = {
    "quoted": quoted,
    "listed": lambda names: listed([on_one_line(name) for name in names], most=4),
    "named": lambda names: listed([on_one_line(name) for name in names], most=20),
    "number": number,
    "percent": percent,
    "whole_percent": whole_percent,
    "hundredths": lambda share: f"{100 * share:.0f}",
}


def filled(template: str, facts: Mapping[str, Any], dialect: Dialect | None = None) -> str:
    """A sentence filled with facts; see `fedbary.sentences` for what may stand in it."""
    dialect = dialect or spoken()
    known = {name for name, fact in facts.items() if fact is not None and fact != ()}

    def chosen(part: re.Match[str]) -> str:
        said, _, otherwise = part[1].partition("|")
        return said if _fields(said) <= known else otherwise

    text = _OPTIONAL.sub(chosen, template)
    text = _SETTING.sub(lambda part: dialect.setting(part[1], part[2]) if part[2] else dialect.option(part[1]), text)
    return Formatter().vformat(text, (), dict(facts))


def fields(template: str) -> set[str]:
    """The facts that a sentence names."""
    return _fields(_OPTIONAL.sub(lambda part: part[1], template))


class Formatter(string.Formatter):
    """Python's format specifications, and words for counts and lists.

    ``counted row`` is a count with its noun, ``either is are`` the first word for one, also in a list, and the second
    for more, ``quoted`` a list of names in quotation marks, ``listed`` one without, ``named`` one that may be long,
    ``number``, ``percent`` and ``whole_percent`` as reports print them, ``hundredths`` per cent without the sign. A
    fact that is not known, or not of the kind that the sentence needs, is an ellipsis.
    """

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return _Unknown() if kwargs.get(str(key)) is None else super().get_value(key, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, _Unknown):
            return _UNKNOWN
        how, _, words = format_spec.partition(" ")
        try:
            if how == "counted":
                return counted(value, words)
            if how == "either":
                one, more = words.split()
                return one if (len(value) if isinstance(value, tuple | list) else value) == 1 else more
            return _FORMS[how](value) if how in _FORMS else str(super().format_field(value, format_spec))
        except (TypeError, ValueError):  # a text where another party should have sent a number
            return _UNKNOWN


class _Unknown:
    def __str__(self) -> str:
        return _UNKNOWN

    def __repr__(self) -> str:
        return f"'{_UNKNOWN}'"


def _fields(part: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(part) if name}
