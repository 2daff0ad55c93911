"""What travels as a file: a question, an answer, a card, a model; plain arrays and a text, bounded, with a digest."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fedbary.data.atomic import read_arrays, write_arrays
from fedbary.engines.packed import (
    LONGEST_NAME,
    MOST_ARRAYS,
    MOST_BYTES,
    Packed,
    is_scalar,
    packed_message,
    packed_reply,
    require_answer_to,
    unpacked_message,
    unpacked_reply,
)
from fedbary.errors import DataError, FedbaryError, ProtocolError, SettingsError
from fedbary.forms import array_text, below, text_array, under
from fedbary.guard.node import Envelope
from fedbary.notes import Note
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.client import card_of, card_reply
from fedbary.protocols.messages import Failure, Message, Reply, injective_digest
from fedbary.strict_json import read_json
from fedbary.valuation.storage import row_file_names
from fedbary.wording import as_plain, counted

VERSION = 1
_HEAD, _ARRAY = "fedbary", "array."


class FileKind(StrEnum):
    """What a file holds: its suffix names the kind for people; what is inside says it, too, and that is what counts."""

    QUESTION = "question"
    ANSWER = "answer"
    CARD = "card"
    MODEL = "model"

    @property
    def suffix(self) -> str:
        """How the name of such a file ends."""
        return ".fb" if self is FileKind.QUESTION else f".{self}"

    def check(self, path: str | Path) -> None:
        """Refuse a name with another ending, since people go by it."""
        if Path(path).suffix != self.suffix:
            raise SettingsError("engines.file-suffix", file=str(path), kind=str(self), suffix=self.suffix)


@dataclass(frozen=True, eq=False)
class MessageFile:
    """What a file holds, and its kind; ``digest`` is that of its content."""

    kind: FileKind
    packed: Packed
    digest: str

    @classmethod
    def of(cls, kind: FileKind, packed: Packed) -> MessageFile:
        """A file before it is written."""
        return cls(kind, packed, _digest(kind, packed))

    @classmethod
    def load(cls, path: str | Path, *kinds: FileKind) -> MessageFile:
        """Read a file of one of these kinds, or of any; everything else is refused in a sentence that names it."""
        file = Path(path)
        arrays = _arrays(file)
        if _HEAD not in arrays:
            raise DataError("engines.file-not-ours", file=str(file))
        try:
            content = read_json(array_text(arrays.pop(_HEAD)), longest=MOST_BYTES)
            written, version = content["fedbary"], content["version"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError("engines.file-damaged", file=str(file)) from error
        if version != VERSION:
            shown = as_plain(repr(version), LONGEST_NAME)
            raise DataError("engines.file-other-version", file=str(file), version=shown, own=VERSION)
        try:
            kind, packed = FileKind(written), _packed(content, arrays)
            found = cls.of(kind, packed)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError("engines.file-damaged", file=str(file)) from error
        if found.digest != content.get("digest"):
            raise DataError("engines.file-damaged", file=str(file))
        for name, array in packed.arrays.items():
            if not np.isfinite(array).all():
                raise DataError("engines.file-not-finite", file=str(file), name=as_plain(name, LONGEST_NAME))
        if kinds and kind not in kinds:
            expected = " or ".join(str(one) for one in kinds)
            raise DataError("engines.file-other-kind", file=str(file), kind=str(kind), expected=expected)
        return found

    def save(self, path: str | Path) -> Path:
        """Write it; the suffix must be that of its kind."""
        file = Path(path)
        self.kind.check(file)
        head: dict[str, Any] = {"fedbary": str(self.kind), "version": VERSION, "digest": self.digest}
        head |= {"head": dict(self.packed.head), "scalars": dict(self.packed.scalars)}
        text = json.dumps(head, ensure_ascii=False, allow_nan=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        return write_arrays(file, {_HEAD: text_array(text), **under(_ARRAY, self.packed.arrays)})

    def message(self) -> tuple[Message, Envelope]:
        """The question or model that it holds, and what stands on it."""
        return unpacked_message(self.packed)

    def reply(self) -> tuple[Reply | Failure, Envelope]:
        """The answer or card that it holds, and what stands on it."""
        return unpacked_reply(self.packed)


def save_question(message: Message, envelope: Envelope, path: str | Path, kind: FileKind = FileKind.QUESTION) -> Path:
    """Write a question or a model."""
    return MessageFile.of(kind, packed_message(message, envelope)).save(path)


def save_answer(found: Reply | Failure, envelope: Envelope, path: str | Path, kind: FileKind = FileKind.ANSWER) -> Path:
    """Write an answer or a card."""
    return MessageFile.of(kind, packed_reply(found, envelope)).save(path)


def _arrays(file: Path) -> dict[str, np.ndarray]:
    if not file.is_file():
        raise DataError("engines.no-file", file=str(file))
    if file.stat().st_size > MOST_BYTES:
        raise DataError("engines.file-too-large", file=str(file), megabytes=MOST_BYTES // 2**20)
    try:
        return read_arrays(file, most_bytes=MOST_BYTES)
    except ValueError as error:
        with file.open("rb") as stream:
            ours = stream.read(2) == b"PK"
        raise DataError("engines.file-damaged" if ours else "engines.file-not-ours", file=str(file)) from error


def _packed(content: dict[str, Any], arrays: dict[str, np.ndarray]) -> Packed:
    """The content; raises ValueError or TypeError where it is none."""
    head, scalars, own = dict(content["head"]), dict(content["scalars"]), below(arrays, _ARRAY)
    if len(own) != len(arrays) or len(own) > MOST_ARRAYS or any(len(name) > LONGEST_NAME for name in own):
        raise ValueError("not the arrays of a message")
    if not all(is_scalar(value) for value in (*head.values(), *scalars.values())):
        raise ValueError("not the scalars of a message")
    return Packed(head, scalars, own)


def _digest(kind: FileKind, packed: Packed) -> str:
    scalars = {f"head {name}": value for name, value in packed.head.items()}
    scalars |= {f"scalar {name}": value for name, value in packed.scalars.items()}
    return injective_digest(str(kind), scalars, packed.arrays)


@dataclass(frozen=True, eq=False)
class CardFile:
    """A card, what its owner is called, and the run that it begins where a ledger has it.

    Examples
    --------
    >>> import tempfile
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits").train.take(range(200))
    >>> made = fb.card(digits, name="north")
    >>> fb.CardFile.load(made.save(tempfile.mkdtemp() + "/north.card"))
    Card of north: 200 rows, 1 column, 10 classes of 'label', exact sums
    """

    card: Card
    name: str = ""
    session: str = ""

    @classmethod
    def load(cls, path: str | Path) -> CardFile:
        """Read a card; whatever is wrong with it is said with the file's name."""
        return cls.of(MessageFile.load(path, FileKind.CARD), Path(path).name)

    @classmethod
    def of(cls, file: MessageFile, where: str) -> CardFile:
        """The card in a file that was read."""
        try:
            found, envelope = file.reply()
            if isinstance(found, Failure):
                raise DataError("engines.file-damaged", file=where)
            return cls(card_of(found), envelope.name, envelope.session)
        except FedbaryError as error:
            raise error.at(where) from error

    def save(self, path: str | Path) -> Path:
        """Write it to a file that ends in ``.card``."""
        return self.file().save(path)

    def file(self) -> MessageFile:
        """The card as a file before it is written."""
        envelope = Envelope(self.session, "card", 0, 1, name=self.name)
        return MessageFile.of(FileKind.CARD, packed_reply(card_reply(self.card), envelope))

    def __repr__(self) -> str:
        return card_words(self.card, self.name)


def card_words(card: Card, name: str = "") -> str:
    """A card in one line.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.protocols.cards.exact_card import exact_card
    >>> card_words(exact_card(fb.Table({"age": [30.0, 50.0]}, [1.5, 2.5]), task="regression"))
    "Card: 2 rows, 1 column, the number 'label', exact sums"
    """
    columns = len(card.columns) if card.schema is None else len(card.schema.columns)
    label = f"the number {card.label!r}"
    if card.kind == "classes":
        label = f"{counted(len(card.classes), 'class')} of {card.label!r}"
    made = "exact sums"
    if card.release is not None:
        made = f"noise for epsilon = {card.release.epsilon:g}, delta = {card.release.delta:g}"
    parts = (counted(card.rows, "row"), counted(columns, "column"), label, made)
    return f"Card{f' of {name}' if name else ''}: {', '.join(parts)}"


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
    """Files with answers, read once, and to whom each of them belongs.

    Where clients were registered, each has a question of its own, and an answer belongs to whose question it repeats.
    Where anybody may answer, a client is called as the file that the coordinator was given. What a file says of its
    sender decides nothing.

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
            others = tuple(other for other in same.get(_content_digest(mine[0]), ()) if other != name)
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
    if len({_content_digest(read) for read in mine}) > 1:
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


def _content_digest(read: _Read) -> str:
    return str(read.path) if read.file is None else read.file.digest
