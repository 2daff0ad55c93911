"""The text of a file: out of gzip and zip, in whatever encoding, and never more of it than fits a machine.

Cells that are not UTF-8 are read as Windows-1252, each by itself: what a cell says does not depend on other rows.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fedbary.data.formats import damage
from fedbary.data.formats.damage import one_line, too_large
from fedbary.errors import DataError
from fedbary.notes import Note

_START = 2**18
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# How files begin that are sometimes called .csv and are none.
_OTHERS = {
    b"PK\x03\x04": "an Excel or zip file",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
    b"PAR1": "a Parquet file",
    b"ARROW1": "a Feather file",
    b"\x1f\x8b": "a gzip file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
}
_REPLACED: ContextVar[list[bool]] = ContextVar("_REPLACED")


@dataclass(frozen=True)
class TextFile:
    """A file that holds text, perhaps compressed."""

    path: Path
    encoding: str
    errors: str
    # The first line that is not blank, which in a table is its header; and what follows, up to some length.
    header: str
    start: str

    @contextmanager
    def text(self) -> Iterator[io.TextIOWrapper]:
        """The whole text from its beginning."""
        with opened_bytes(self.path) as stream:
            yield io.TextIOWrapper(stream, self.encoding, self.errors, newline="")


def text_file(path: Path, encoding: str | None, *, lenient: bool = False, headless: bool = False) -> TextFile:
    """Look at the beginning of a file that should be text; ``lenient`` to bytes that are none in its encoding.

    Where it is ``headless`` its first line is a row, which does not say that the file is none of text.
    """
    with opened_bytes(path) as stream:
        start = stream.read(_START)
    found = encoding or next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8")
    errors = ("replace" if lenient else "strict") if encoding or found == "utf-16" else PER_CELL
    # A character may be cut in two at the end of what was read.
    text = codecs.getincrementaldecoder(found)("replace" if errors == "strict" else errors).decode(start)
    header = first_line(text)
    kind = next((kind for magic, kind in _OTHERS.items() if start.startswith(magic)), None)
    odd = any(ord(letter) < 32 and letter not in "\t\r\n" for letter in header)
    if odd and (kind is not None or not headless):
        raise DataError("formats.not-text", where=str(path), kind=kind)
    return TextFile(path, found, errors, header, text)


def first_line(text: str) -> str:
    r"""The first line that is not blank; a line break between quotation marks does not end it.

    Examples
    --------
    >>> first_line('\n"a\nb",c\n1,2')
    '"a\nb",c'
    """
    text = text.lstrip("\ufeff\r\n")
    inside = False
    for place, letter in enumerate(text):
        if letter == '"':
            inside = not inside
        elif letter in "\r\n" and not inside:
            return text[:place]
    return text


@contextmanager
def encoding_notes() -> Iterator[list[Note]]:
    """Collect a note where text that is read in here was not all UTF-8."""
    notes: list[Note] = []
    replaced: list[bool] = []
    token = _REPLACED.set(replaced)
    try:
        yield notes
    finally:
        _REPLACED.reset(token)
        if replaced:
            notes.append(Note("formats.guessed-encoding"))


@contextmanager
def opened_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, out of gzip or zip; more of them than a file may have are refused where they come."""
    name = path.name.lower()
    if name.endswith(".gz"):
        with gzip.open(path) as inside:
            yield io.BufferedReader(_Bounded(inside, path), 2**18)
    elif name.endswith(".zip"):
        with _archive(path) as archive, archive.open(only_member(archive, path)) as inside:
            yield io.BufferedReader(_Bounded(inside, path), 2**18)
    else:
        with path.open("rb") as stream:
            yield stream


def only_member(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """The one file in a zip; what macOS adds does not count."""
    members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        raise DataError("formats.zip-members", where=str(path), count=len(members))
    if members[0].flag_bits & 1:
        raise DataError("formats.encrypted", where=str(path))
    return members[0]


def member_name(path: Path) -> str:
    """What the one file in a zip is called."""
    with _archive(path) as archive:
        return only_member(archive, path).filename


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except Exception as error:  # zipfile promises no kind of error for damage
        raise DataError("formats.damaged", where=str(path), kind="zip", why=one_line(error)) from error


class _Bounded(io.RawIOBase):
    """What a compressed file holds, up to the size that a file may have."""

    def __init__(self, inside: Any, path: Path) -> None:
        self._inside, self._path, self._read = inside, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._inside.read(len(buffer))
        self._read += len(data)
        if self._read > damage.MAX_FILE_BYTES:
            raise too_large(self._path, self._read)
        buffer[: len(data)] = data
        return len(data)


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Decode what is not UTF-8 as Windows-1252; the five bytes that it lacks are control characters, as in browsers."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if (replaced := _REPLACED.get(None)) is not None and not replaced:
        replaced.append(True)
    wrong = error.object[error.start : error.end]
    return "".join(bytes([byte]).decode("cp1252" if byte not in _LACKING else "latin-1") for byte in wrong), error.end


_LACKING = frozenset(b"\x81\x8d\x8f\x90\x9d")
PER_CELL = "fedbary-windows-1252"
codecs.register_error(PER_CELL, _as_windows)
