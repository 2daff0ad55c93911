"""`Note`: something worth saying about a client or a run, as a code and facts; sentences are made where it is shown."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from fedbary.filling import Dialect, filled, spoken
from fedbary.sentences import Sentence, area, sentence
from fedbary.strict_json import read_json
from fedbary.wording import as_plain, is_plain

Fact = Union[str, int, float, bool, tuple[str, ...], "Note", None]
_MOST_FACTS, _LONGEST_TEXT, _MOST_NAMES, _DEEPEST = 20, 500, 50, 3
_LONGEST_NOTES = 2**20


@dataclass(frozen=True)
class Note:
    """A code and its facts. Which of them another party may hear is written beside the code's sentence.

    Examples
    --------
    >>> note = Note("internal.error", {"kind": "ZeroDivisionError", "text": "row 17 of ward.csv"})
    >>> str(note), str(note.redacted())
    ('internal error (ZeroDivisionError: row 17 of ward.csv)', 'internal error (ZeroDivisionError)')
    """

    code: str
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def public(self) -> dict[str, Fact]:
        """The facts that another party may hear."""
        known = self._sentence.public
        shown = {name: fact for name, fact in self.facts.items() if name in known}
        return {name: fact.redacted() if isinstance(fact, Note) else fact for name, fact in shown.items()}

    @property
    def private(self) -> dict[str, Fact]:
        """The facts that stay with the owner of the data."""
        return {name: fact for name, fact in self.facts.items() if name not in self._sentence.public}

    def redacted(self) -> Note:
        """The note as another party may hear it."""
        return Note(self.code, self.public)

    def text(self, dialect: Dialect | None = None) -> str:
        """The sentence; what is not known of it, or was redacted, is left out or is an ellipsis."""
        own, dialect = self._sentence, dialect or spoken()
        facts = {name: fact.text(dialect) if isinstance(fact, Note) else fact for name, fact in self.facts.items()}
        where = facts.pop("where", None)
        if dialect.command and own.command:
            facts["option"] = dialect.option(str(facts.get("name", "")))
            said = filled(own.command, facts, dialect)
        else:
            said = filled(own.text, facts, dialect)
        return f"{where}: {said}" if where else said

    def __str__(self) -> str:
        return self.text()

    def to_json(self) -> dict[str, Any]:
        """The note for a file of its reader's own; `redacted().to_json()` for anybody else."""
        facts = {name: _to_json(fact) for name, fact in self.facts.items()}
        return {"code": self.code, **({"facts": facts} if facts else {})}

    @classmethod
    def from_json(cls, content: object) -> Note:
        """What `to_json` gave in this or another place; raises ValueError for anything else.

        A code that this version does not know becomes ``internal.unknown-code``: foreign words are never shown.
        """
        return _read(content, depth=0)

    def to_text(self) -> str:
        """`to_json` as text."""
        return json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Note:
        """What `to_text` gave; raises ValueError for anything else."""
        return cls.from_json(read_json(text, longest=_LONGEST_NOTES))

    @property
    def _sentence(self) -> Sentence:
        return sentence(self.code) or _UNKNOWN


_UNKNOWN = area("internal")["unknown-code"]


def notes_to_text(notes: tuple[Note, ...]) -> str:
    """Notes as one text, for a message or a state."""
    return json.dumps([note.to_json() for note in notes], ensure_ascii=False)


def notes_from_text(text: str, *, most: int = 50) -> tuple[Note, ...]:
    """What `notes_to_text` wrote; raises ValueError for anything else."""
    content = read_json(text, longest=_LONGEST_NOTES) if text else []
    if not isinstance(content, list) or len(content) > most:
        raise ValueError("not a short list of notes")
    return tuple(Note.from_json(one) for one in content)


def _to_json(fact: Fact) -> Any:
    """A fact within the limits of `_fact`, so that no odd name or long list makes a note unreadable elsewhere."""
    match fact:
        case Note():
            return {"note": fact.to_json()}
        case str():
            return as_plain(fact, _LONGEST_TEXT)
        case tuple():
            return [as_plain(one, _LONGEST_TEXT) for one in fact[:_MOST_NAMES]]
        case float() if not math.isfinite(fact):
            return None
    return fact


def _read(content: object, depth: int) -> Note:
    if not isinstance(content, dict) or not content.keys() <= {"code", "facts"} or depth > _DEEPEST:
        raise ValueError("not a note")
    code, facts = content.get("code"), content.get("facts", {})
    if not isinstance(code, str) or not isinstance(facts, dict) or len(facts) > _MOST_FACTS:
        raise ValueError("not a note")
    if sentence(code) is None:
        return Note("internal.unknown-code")
    if not all(isinstance(name, str) and name.isidentifier() and len(name) <= 40 for name in facts):
        raise ValueError("not the name of a fact")
    return Note(code, {name: _fact(fact, depth) for name, fact in facts.items()})


def _fact(fact: object, depth: int) -> Fact:
    match fact:
        case None | bool() | float():
            return fact
        case int() if abs(fact) < 2**63:
            return fact
        case str() if len(fact) <= _LONGEST_TEXT and is_plain(fact):
            return fact
        case list() if len(fact) <= _MOST_NAMES and all(
            isinstance(one, str) and len(one) <= _LONGEST_TEXT and is_plain(one) for one in fact
        ):
            return tuple(fact)
        case {"note": inner}:
            return _read(inner, depth + 1)
    raise ValueError("not a fact")
