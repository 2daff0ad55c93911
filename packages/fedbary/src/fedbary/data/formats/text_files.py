"""The text of a file: out of gzip and zip, in whatever encoding, never more of it than fits a machine; and JSON in it.

Cells that are not UTF-8 are read as Windows-1252, each by itself: what a cell says does not depend on other rows.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fedbary.data.formats.cells import Cells, Request, clean_names, one_line, refuse_bytes
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

JSON = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
_MOST_DIGITS = 400
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
    """The first line that is not blank; a line break between quotation marks does not end it."""
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
        with _member(path) as (archive, member), archive.open(member) as inside:
            yield io.BufferedReader(_Bounded(inside, path), 2**18)
    else:
        with path.open("rb") as stream:
            yield stream


@contextmanager
def _member(path: Path) -> Iterator[tuple[zipfile.ZipFile, zipfile.ZipInfo]]:
    """A zip and the one file in it; what macOS adds does not count."""
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:  # zipfile promises no kind of error for damage
        raise DataError("formats.damaged", where=str(path), kind="zip", why=one_line(error)) from error
    with archive:
        members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
        if len(members) != 1:
            raise DataError("formats.zip-members", where=str(path), count=len(members))
        if members[0].flag_bits & 1:
            raise DataError("formats.encrypted", where=str(path))
        yield archive, members[0]


def member_name(path: Path) -> str:
    """What the one file in a zip is called."""
    with _member(path) as (_, member):
        return member.filename


class _Bounded(io.RawIOBase):
    """What a compressed file holds, up to the size that a file may have."""

    def __init__(self, inside: Any, path: Path) -> None:
        self._inside, self._path, self._read = inside, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._inside.read(len(buffer))
        self._read += len(data)
        refuse_bytes(self._path, self._read)
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


def read_json_lines(path: Path, request: Request) -> Cells:
    """The cells of a JSON file, one record a line or a list of records: a column for every key, none is looked into.

    Where each cell is by itself, no record says which columns there are: all that are asked for, in every file.
    """
    with encoding_notes() as notes:
        frame = _frame(list(islice(_records(path, request), request.most)), request)
    return Cells(frame, tuple(notes))


def _records(path: Path, request: Request) -> Iterator[dict[str, Any]]:
    lenient = request.wanted is not None
    file = text_file(path, request.options.encoding, lenient=lenient, headless=lenient)
    whole = _whole if lenient else None
    with file.text() as text:
        lines: Iterable[str] = text
        if file.header.lstrip().startswith("["):
            content = text.read().lstrip("\ufeff")
            try:
                found = json.loads(content, parse_int=whole)
                if not isinstance(found, list):
                    raise ValueError("it holds no list of records")
            except (ValueError, RecursionError):
                if not lenient:
                    raise
                lines = content.split("\n")  # one record alone must not say that the file is a list
            else:
                yield from (_record(one, place, lenient=lenient) for place, one in enumerate(found, start=1))
                return
        for place, line in enumerate(lines, start=1):
            if line.strip("\ufeff \t\r\n"):
                try:
                    yield _record(json.loads(line.lstrip("\ufeff"), parse_int=whole), place, lenient=lenient)
                except (ValueError, RecursionError):
                    if not lenient:
                        raise
                    yield {}  # a row of which nothing can be read


def _record(found: Any, place: int, *, lenient: bool) -> dict[str, Any]:
    if isinstance(found, dict):
        return found
    if lenient:
        return {}
    raise ValueError(f"record {place} is no object")


def _whole(digits: str) -> int | float:
    """Python refuses to read whole numbers that have thousands of digits, and no column has room for them."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _frame(records: list[dict[str, Any]], request: Request) -> pd.DataFrame:
    import pandas as pd

    if not records:
        raise ValueError("it holds no record")
    if request.wanted:  # a record that spells a name with a blank must not make a second column of it
        records = [dict(zip(clean_names(record), record.values(), strict=True)) for record in records]
    names = list(dict.fromkeys(name for record in records for name in record))
    if request.wanted:
        names = list(dict.fromkeys((*request.wanted.asked, *names)))
    names = [names[place] for place in request.places(names)]
    columns = {place: [record.get(name) for record in records] for place, name in enumerate(names)}
    return pd.DataFrame(columns, dtype=request.dtype).set_axis(clean_names(names), axis=1)
