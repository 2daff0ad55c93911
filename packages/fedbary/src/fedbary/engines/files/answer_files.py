"""`AnswerFiles`: answers that came as files, and to whom each of them belongs.

Where clients were registered, each has a question of its own, and an answer belongs to whose question it repeats.
Where anybody may answer, a client is called as the file that the coordinator was given. What a file says of its
sender decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fedbary.engines.files.message_file import FileKind, MessageFile
from fedbary.engines.packed import require_answer_to
from fedbary.errors import DataError, FedbaryError, ProtocolError
from fedbary.guard.envelope import Envelope
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Reply
from fedbary.valuation.storage import row_file_names

_NOBODY = Envelope("")


@dataclass(frozen=True)
class Answered:
    """What a client answered, what stands on it, and what is worth saying about its file."""

    found: Reply | Failure
    envelope: Envelope
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class _Read:
    path: Path
    file: MessageFile | None
    error: FedbaryError | None
    found: Reply | Failure | None = None
    envelope: Envelope = _NOBODY


class AnswerFiles:
    """Files with answers, read once.

    Parameters
    ----------
    places : paths
        Files, or folders of them.
    kinds : FileKind
        What they may hold. Default: answers.
    """

    def __init__(self, places: Iterable[str | Path], *kinds: FileKind) -> None:
        self._places = [Path(place) for place in places]
        self._kinds = kinds or (FileKind.ANSWER,)

    def names(self) -> list[str]:
        """What the clients are called where anybody may answer: as their files."""
        return list(dict.fromkeys(read.path.stem for read in self._read))

    def not_used(self, *, sessions: Collection[str] = (), nonces: Collection[str] = ()) -> list[Note]:
        """Files that cannot be read, and those that are of none of these runs and answer none of these questions."""
        found = []
        for read in self._read:
            if read.error is not None:
                found.append(read.error.note)
            elif read.envelope.session not in sessions and read.envelope.nonce not in nonces:
                found.append(Note("engines.answer-to-another", {"where": read.path.name}))
        return [Note("engines.file-not-used", {"why": why}) for why in found]

    def by_name(self, asked: Envelope) -> dict[str, Answered]:
        """The answers to a question that anybody may answer, by the names of their files."""
        same = self._same_content()
        found: dict[str, Answered] = {}
        for name in self.names():
            mine = [read for read in self._read if read.path.stem == name]
            found[name] = _one(mine, asked)
            others = tuple(other for other in same.get(_digest(mine[0]), ()) if other != name)
            if others:
                note = Note("engines.same-file", {"names": others})
                found[name] = Answered(found[name].found, found[name].envelope, (*found[name].notes, note))
            claimed = found[name].envelope.name
            if claimed and claimed != name:
                note = Note("engines.claims-name", {"name": claimed})
                found[name] = Answered(found[name].found, found[name].envelope, (*found[name].notes, note))
        return found

    def by_nonce(self, asked: Mapping[str, Envelope]) -> dict[str, Answered]:
        """The answers to questions that were asked of one client each, by the client."""
        found: dict[str, Answered] = {}
        names = row_file_names(list(asked))
        for name, question in asked.items():
            place = question.session, question.nonce
            mine = [read for read in self._read if (read.envelope.session, read.envelope.nonce) == place]
            mine = mine or [read for read in self._read if read.error is not None and read.path.stem == names[name]]
            if mine:
                found[name] = _one(mine, question)
        return found

    @cached_property
    def _read(self) -> list[_Read]:
        paths: dict[Path, None] = {}
        for place in self._places:
            inside = [found for kind in self._kinds for found in sorted(place.glob(f"*{kind.suffix}"))]
            paths |= dict.fromkeys(inside if place.is_dir() else [place] if place.exists() else [])
        return [_load(path, self._kinds) for path in paths]

    def _same_content(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for read in self._read:
            if read.file is not None:
                names.setdefault(read.file.digest, []).append(read.path.stem)
        return names


def _load(path: Path, kinds: tuple[FileKind, ...]) -> _Read:
    try:
        file = MessageFile.load(path, *kinds)
        found, envelope = file.reply()
    except FedbaryError as error:
        return _Read(path, None, error.at(path.name) if isinstance(error, ProtocolError) else error)
    return _Read(path, file, None, found, envelope)


def _one(mine: list[_Read], asked: Envelope) -> Answered:
    """The answer of one client; of two that differ, neither is believed."""
    if len({_digest(read) for read in mine}) > 1:
        files = tuple(read.path.name for read in mine)
        return Answered(Failure.of(DataError("engines.two-answers", files=files)), _NOBODY)
    first = mine[0]
    if first.error is not None:
        return Answered(Failure.of(first.error), _NOBODY)
    assert first.found is not None
    try:
        require_answer_to(asked, first.envelope, first.found)
    except FedbaryError as error:
        return Answered(Failure.of(error.at(first.path.name)), _NOBODY)
    return Answered(first.found, first.envelope)


def _digest(read: _Read) -> str:
    return str(read.path) if read.file is None else read.file.digest
