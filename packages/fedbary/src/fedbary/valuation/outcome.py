"""How a run went for a client: a status, and notes whose words are made where they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fedbary.notes import Note


class Status(StrEnum):
    """How it ended: an answer, a fault, the owner's refusal, or no answer in time."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"
    SILENT = "silent"


@dataclass(frozen=True)
class Outcome:
    """A client's status and what there is to say; where it is not ``ok``, the first note says why.

    Examples
    --------
    >>> outcome = Outcome(Status.FAILED, (Note("internal.error", {"kind": "KeyError", "text": "'Ann'"}),))
    >>> outcome.text, outcome.redacted().text, outcome.ok
    ("internal error (KeyError: 'Ann')", 'internal error (KeyError)', False)
    """

    status: Status = Status.OK
    notes: tuple[Note, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status is Status.OK

    @property
    def text(self) -> str:
        """All notes as one line; empty where there is nothing to say."""
        said = "; ".join(str(note) for note in self.notes)
        # A file's name may hold what is no Unicode, which no table takes.
        return said.encode("utf-8", "backslashreplace").decode("utf-8")

    def has(self, code: str) -> bool:
        return any(note.code == code for note in self.notes)

    def with_note(self, note: Note) -> Outcome:
        return Outcome(self.status, (*self.notes, note))

    def redacted(self) -> Outcome:
        """As another party may hear it."""
        return Outcome(self.status, tuple(note.redacted() for note in self.notes))

    def to_json(self) -> dict[str, Any]:
        return {"status": str(self.status), "notes": [note.to_json() for note in self.notes]}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Outcome:
        return cls(Status(content["status"]), tuple(Note.from_json(note) for note in content["notes"]))
