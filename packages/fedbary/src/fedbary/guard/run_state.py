"""What a node remembers of a run between two messages: how far it is, its half's state, and its last answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fedbary.data.atomic import private_folder, read_arrays, write_arrays
from fedbary.data.reading import Reading
from fedbary.errors import DataError
from fedbary.guard.questions import message_key
from fedbary.notes import notes_from_text, notes_to_text
from fedbary.protocols.messages import Failure, Message, Reply, State, array_text, below, text_array, under
from fedbary.strict_json import read_json

STATE = "state.npz"
_LONGEST = 512 * 2**20


@dataclass(frozen=True)
class LastAnswer:
    """The last message of a run, and what left for it; ``flagged`` is what was told beside it."""

    key: str
    step: int
    found: Reply | Failure
    flagged: int | None = None

    def repeats(self, message: Message, step: int) -> bool:
        """Whether a message is the same one again."""
        return self.key == message_key(message) and self.step == step


@dataclass(frozen=True)
class RunState:
    """A run's memory; ``step`` counts its answers, and ``reading`` is how its first message wanted columns read.

    Of a run that is ``over`` nothing is needed but its last answer, should the server not have heard it.
    """

    step: int = 0
    client: State = field(default_factory=dict)
    last: LastAnswer | None = None
    reading: Reading | None = None
    over: bool = False

    @classmethod
    def load(cls, folder: Path) -> RunState:
        """What `save` wrote; an empty one where there is nothing, and a damaged one is refused."""
        try:
            arrays = read_arrays(folder / STATE)
            return cls._of(arrays) if arrays else cls()
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
            raise DataError("guard.state-unreadable", path=str(folder / STATE), why=str(error)) from error

    @classmethod
    def _of(cls, arrays: State) -> RunState:
        content = read_json(array_text(arrays["last"]), longest=_LONGEST)
        found: Reply | Failure
        if "failure" in arrays:
            found = Failure.from_array(arrays["failure"])
        else:
            notes = notes_from_text(content["notes"])
            found = Reply(int(content["round"]), dict(content["scalars"]), below(arrays, "array."), notes)
        last = LastAnswer(str(content["key"]), int(content["step"]), found, content["flagged"])
        reading = Reading.from_json(array_text(arrays["reading"])) if "reading" in arrays else None
        return cls(int(arrays["step"]), below(arrays, "client."), last, reading, "over" in arrays)

    def save(self, folder: Path) -> None:
        """Whole or not at all, and for the owner alone; raises where it cannot, as nothing leaves that is not kept."""
        assert self.last is not None
        content: dict[str, object] = {"key": self.last.key, "step": self.last.step, "flagged": self.last.flagged}
        arrays: dict[str, np.ndarray] = {"step": np.array(self.step), **under("client.", self.client)}
        if self.over:
            arrays["over"] = np.array(True)
        if self.reading is not None:
            arrays["reading"] = text_array(self.reading.to_json())
        found = self.last.found
        if isinstance(found, Failure):
            arrays["failure"] = found.to_array()
        else:
            content |= {"round": found.round, "scalars": dict(found.scalars), "notes": notes_to_text(found.notes)}
            arrays |= under("array.", found.arrays)
        arrays["last"] = text_array(json.dumps(content, default=_plain))
        try:
            write_arrays(private_folder(folder) / STATE, arrays, mode=0o600)
        except OSError as error:
            raise DataError("guard.state-unwritable", path=str(folder / STATE), why=error.strerror) from error


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")
