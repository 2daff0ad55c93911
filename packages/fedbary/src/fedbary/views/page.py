"""`Page`: what is to be said, as plain values; as JSON, HTML or Markdown here, on a terminal by `cli.ui.terminal`.

A part of a page is a sentence (a plain text, or a `Line` with a look), `Items`, a `Grid` or `Files`; an empty text is a
blank line. Texts come from data and are shown as they are, whatever a renderer's markup is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, TypeAlias

from fedbary.errors import FedbaryError
from fedbary.filling import COMMAND
from fedbary.notes import Note
from fedbary.wording import shortened, without_control

# What Markdown would read as markup, and what would end a cell.
_MARKUP = frozenset("\\`*_{}[]<>!|~@$&")
HEADING = "bold"  # the look of a line that is one


@dataclass(frozen=True)
class Line:
    """A sentence; ``whole`` where it is copied and must not be wrapped, ``indent`` by so many blanks."""

    words: str
    look: str = ""
    whole: bool = False
    indent: int = 0


@dataclass(frozen=True)
class Cell:
    """Words of a table or list with a look of their own."""

    words: str
    look: str = ""


@dataclass(frozen=True)
class Items:
    """Sentences below each other, each with a bullet, which may have a look."""

    lines: Sequence[str | Cell]


@dataclass(frozen=True)
class Grid:
    """Rows of cells; the columns in ``numeric`` stand flush right, and ``more`` says what was left out."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    numeric: Sequence[str] = ()
    more: str = ""


@dataclass(frozen=True)
class Files:
    """What is where."""

    places: Mapping[str, str]


Part: TypeAlias = str | Line | Items | Grid | Files


@dataclass(frozen=True)
class Page:
    """What a command, a record or a check says.

    Parameters
    ----------
    parts : list
        What people read, from the top.
    data : mapping, optional
        The same for programs: anything of which `plain` knows a form in JSON.
    code : int
        The exit code of a command.
    refusal : FedbaryError, optional
        Why a command ends here; programs, which have the data, need no more than a code, if there is one.
    """

    parts: list[Part] = field(default_factory=list)
    data: Mapping[str, Any] | None = None
    code: int = 0
    refusal: FedbaryError | None = None

    def json(self) -> str:
        return json.dumps(plain(self.data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def markdown(self) -> str:
        return "\n\n".join(filter(None, map(_markdown, self.parts))) + "\n"

    def notebook(self) -> str:
        """The same inside a page of somebody else's."""
        from fedbary.views.html_file import templates

        shown = templates().get_template("parts.html").module.part  # type: ignore[attr-defined]
        return f"<div>{''.join(str(shown(part)) for part in self.parts)}</div>"

    def html(self, title: str) -> str:
        """A file of its own, which works offline: no script runs, and nothing is fetched or sent."""
        from fedbary.views.html_file import render

        return render("page.html", {"title": title, "parts": self.parts})


def plain(value: Any) -> Any:
    """The value in JSON's own types: frames as lists of records, arrays as lists, NaN and infinity as null.

    A note is its code, its facts, and its sentence for people.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Note):
        return {"code": value.code, "facts": plain(value.facts), "text": value.text(COMMAND)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "to_dict"):  # a DataFrame
        return plain(value.astype(object).where(value.notna(), None).to_dict("records"))
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return plain(value.tolist())
    return str(value)


def words_of(cell: object) -> str:
    return cell.words if isinstance(cell, Line | Cell) else str(cell)


def literal(text: str, longest: int = 200) -> str:
    """Text that Markdown shows as it is, on one line; addresses become links without any markup."""
    flat = shortened(" ".join(without_control(text).split()), longest)

    def is_markup(at: int) -> bool:
        address = flat.startswith("://", at) or (flat[at] == "." and flat[max(at - 3, 0) : at].lower() == "www")
        return flat[at] in _MARKUP or address

    return "".join(f"\\{letter}" if is_markup(at) else letter for at, letter in enumerate(flat))


def _markdown(part: Part) -> str:
    match part:
        case Items():
            return "\n".join(f"- {literal(words_of(line), 2000)}" for line in part.lines)
        case Grid():
            rule = ["---:" if name in part.numeric else "---" for name in part.columns]
            rows = [[literal(words_of(cell)) for cell in row] for row in (part.columns, *part.rows)]
            more = f"\n\n{literal(part.more)}" if part.more else ""
            return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:])) + more
        case Files():
            return "\n".join(f"- {literal(what)}: {literal(place)}" for what, place in part.places.items())
    text = literal(words_of(part).strip(), 2000)
    return f"## {text}" if text and isinstance(part, Line) and part.look == HEADING else text
