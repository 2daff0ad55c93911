"""`Finding`: one thing that was found in a table, as a note, and how bad it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fedbary.filling import Dialect
from fedbary.notes import Note


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    REFUSED = "refused"  # a federation would refuse the table
    DOUBTFUL = "doubtful"  # probably wrong, and its owner should look at it
    NOTE = "note"  # worth knowing, and fine


@dataclass(frozen=True)
class Finding:
    """One thing that was found: a code with facts, and how bad it is. It stays with the owner."""

    note: Note
    severity: Severity

    @property
    def code(self) -> str:
        """What was found, for programs."""
        return self.note.code

    @property
    def column(self) -> str | None:
        """The column that it is about, if it is about one."""
        found = self.note.facts.get("column")
        return found if isinstance(found, str) else None

    @property
    def count(self) -> int | None:
        """How many cells, rows, levels or classes, where it is about so many."""
        found = self.note.facts.get("count")
        return found if isinstance(found, int) else None

    def text(self, dialect: Dialect | None = None) -> str:
        """The finding in words, without the file that all of them are about."""
        return Note(self.code, {name: fact for name, fact in self.note.facts.items() if name != "where"}).text(dialect)

    def __str__(self) -> str:
        return self.text()

    def to_json(self, dialect: Dialect | None = None) -> dict[str, Any]:
        """The finding for programs, and in words."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "column": self.column,
            "count": self.count,
            "facts": self.note.to_json().get("facts", {}),
            "text": self.text(dialect),
        }
