"""A message or a reply as one file: plain arrays and a text, with a version, a bound on its size and a digest.

The suffix names the kind for people: ``.fb`` a question, ``.answer`` an answer, ``.card`` a client's card, ``.model``
what a client receives for it. What is inside says it, too, and that is what counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
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
    unpacked_message,
    unpacked_reply,
)
from fedbary.errors import DataError, SettingsError
from fedbary.guard.envelope import Envelope
from fedbary.protocols.messages import (
    Failure,
    Message,
    Reply,
    array_text,
    below,
    injective_digest,
    text_array,
    under,
)
from fedbary.strict_json import read_json
from fedbary.wording import as_plain

VERSION = 1
_HEAD, _ARRAY = "fedbary", "array."


class FileKind(StrEnum):
    """What a file holds."""

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
