"""CSV and TSV files: separators and encodings as they come, and notes on what was guessed.

Separator and encoding are guessed from the header line and from each cell by itself, so that no row decides how another
one is read. Where nobody has said how to read a column, numbers that begin with a zero stay as they are written.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import dropwhile, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.columns import Number
from fedbary.data.formats import cells
from fedbary.data.formats.cells import Cells, Request, clean_names, column_without_name, readable
from fedbary.data.formats.text_files import TextFile, encoding_notes, member_name, text_file
from fedbary.data.options import ReadOptions
from fedbary.data.reading import Reading
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

# What usually separates cells, by suffix.
SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
COMPRESSED = (".gz", ".zip")
CSV = (*SEPARATORS, *(plain + packed for packed in COMPRESSED for plain in SEPARATORS), ".zip")
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# In columns of these kinds 007 is not 7; and where numbers have decimal commas, 1.234 is none of Python's.
# How many rows are looked at for numbers that begin with a zero.
_SAMPLE = 1000
_DIGITS = re.compile("[0-9]+")
# What pandas takes for a missing cell, in whatever column.
_MISSING = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip
_LEADING_ZERO = re.compile(r"""[,;\t|"'\n\r]0[0-9]""")


def read_csv(path: Path, request: Request) -> Cells:
    """The cells of a CSV file; as they are written, where each is by itself."""
    import pandas as pd

    with encoding_notes() as found:
        if request.wanted:
            return _each_by_itself(path, request)
        layout = _layout(path, request.options, request.reading)
        frame = layout.read(request.most, low_memory=True)
        # Read in parts, a column may be numbers in one and texts in the next; read at once, it is one of them.
        if any(dtype.kind == "O" and not isinstance(dtype, pd.StringDtype) for dtype in frame.dtypes):
            frame = layout.read(request.most, low_memory=False)
    return Cells(frame, (*layout.notes, *found))


def _each_by_itself(path: Path, request: Request) -> Cells:
    """What stands between two line breaks that are not quoted is a row; its surplus cells are not read.

    pandas would refuse the file for one such row, or for a quote that nothing closes.
    """
    import pandas as pd

    file = text_file(path, request.options.encoding, lenient=True)
    separator, skipped, notes = _separator(file, request.options)
    limit = csv.field_size_limit(cells.MAX_FILE_BYTES)
    try:
        with file.text() as text:
            lines = filter(None, islice(csv.reader(text, delimiter=separator), skipped, None))
            names = clean_names(next(lines))
            named = [place for place, name in enumerate(names) if name]
            places = [named[one] for one in request.places([names[place] for place in named])]
            rows = [[_written(line, place) for place in places] for line in islice(lines, request.most)]
    finally:
        csv.field_size_limit(limit)
    return Cells(pd.DataFrame(rows, columns=[names[place] for place in places], dtype=object), notes)


def _written(line: list[str], place: int) -> str | None:
    return line[place] if place < len(line) and line[place] not in _MISSING else None


@contextmanager
def written_rows(path: Path, options: ReadOptions) -> Iterator[tuple[str, list[str], Iterator[list[str]]]]:
    """What separates cells, the names of the columns, and all lines from the header on, each cell as it is written."""
    with readable(path, "CSV"):
        layout = _layout(path, options, None)
    with layout.file.text() as text, encoding_notes():
        lines = islice(csv.reader(text, delimiter=layout.separator), layout.skipped, None)
        yield layout.separator, layout.names, dropwhile(lambda line: not line, lines)


@dataclass(frozen=True)
class _Layout:
    """What a CSV file looks like, by its header: also the names of its columns, and what pandas is to know of it."""

    file: TextFile
    separator: str
    skipped: int
    names: list[str]
    notes: tuple[Note, ...]
    arguments: dict[str, Any]

    def read(self, most: int | None, *, low_memory: bool) -> pd.DataFrame:
        """The rows, or the first of them."""
        import pandas as pd

        with self.file.text() as text, warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frame = pd.read_csv(text, nrows=most, low_memory=low_memory, **self.arguments)
        named = self.named(frame)
        if len(named) == len(frame):
            return named
        # Beside a blank line whole numbers became floats: without it they are what they are.
        filled, quotes = io.StringIO(), 0
        with self.file.text() as text:
            for line in text:
                if quotes % 2 or line.strip(f'{self.separator}" \r\n'):  # inside a quoted cell a line is part of it
                    filled.write(line)
                quotes += line.count('"')
        filled.seek(0)
        return self.named(pd.read_csv(filled, nrows=most, **self.arguments))

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """With names as they are in the file, as pandas renames the second of two; a first without one is left out.

        And so are lines and nameless columns of separators alone, with which spreadsheets fill a page.
        """
        empty = frame.isna()
        used = [
            place for place, name in enumerate(self.names) if name or (place > 0 and not empty.iloc[:, place].all())
        ]
        if nameless := [place for place in used if not self.names[place]]:
            raise column_without_name(self.file.path, nameless[0] + 1, len(self.names))
        frame = frame.iloc[:, used] if len(used) < len(self.names) else frame
        blank = empty.all(axis=1).to_numpy()
        frame = frame[~blank].reset_index(drop=True) if blank.any() else frame
        return frame.set_axis([self.names[place] for place in used], axis=1)


def _layout(path: Path, options: ReadOptions, reading: Reading | None) -> _Layout:
    import pandas as pd

    file = text_file(path, options.encoding)
    separator, skipped, notes = _separator(file, options)
    # Rows come along with the header, as pandas would take the surplus cell of rows longer than it for an index.
    zeros = _LEADING_ZERO.search(file.start) is not None
    with file.text() as text:
        sample = pd.read_csv(
            text, sep=separator, skiprows=skipped, header=None, nrows=_SAMPLE if zeros else 2, dtype=str,
            keep_default_na=False,
        )  # fmt: skip
    names = clean_names(sample.iloc[0])
    if not any(names):
        raise column_without_name(path, 1, len(names))
    if names[0] == "":
        notes = (*notes, Note("formats.row-numbers"))
    columns = sample[1:].to_numpy(dtype=object).T if zeros else ()
    codes = [name for name, column in zip(names, columns, strict=False) if _are_codes(column)]
    as_written = _as_written(options, reading or Reading(), codes)
    major, minor = map(int, pd.__version__.split(".")[:2])
    arguments = {
        "sep": separator,
        "skiprows": skipped,
        "decimal": options.decimal or ".",
        "dtype": {place: str for place, name in enumerate(names) if name in as_written},
        # Each number as Python reads its text, so that a column that is read as text holds the same ones. From
        # pandas 3.1 on that is the default, and asking for it is deprecated.
        "float_precision": None if (major, minor) >= (3, 1) else "round_trip",
    }
    return _Layout(file, separator, skipped, names, notes, arguments)


def _are_codes(column: Iterable[str]) -> bool:
    """Whether the first cells are digits of which some begin with a zero, as postcodes do and numbers do not."""
    present = [cell for cell in column if cell]
    return any(len(cell) > 1 and cell[0] == "0" for cell in present) and all(
        _DIGITS.fullmatch(cell) for cell in present
    )


def _separator(file: TextFile, options: ReadOptions) -> tuple[str, int, tuple[Note, ...]]:
    """What separates cells, and how many lines come before the header."""
    if file.header.lower().startswith("sep=") and len(file.header) == 5:  # Excel writes and reads this line
        return options.separator or file.header[4], 1, ()
    name = file.path.name.lower()
    name = (member_name(file.path).lower() if name.endswith(".zip") else name).removesuffix(".gz")
    usual = next((usual for suffix, usual in SEPARATORS.items() if name.endswith(suffix)), ",")
    if options.separator is not None:
        return options.separator, 0, ()
    outside_quotes = file.header.split('"')[::2]
    counts = {one: sum(part.count(one) for part in outside_quotes) for one in (usual, *_WORDS)}
    best = max(counts, key=lambda one: counts[one])
    notes = () if best == usual else (Note("formats.guessed-separator", {"separator": _WORDS[best]}),)
    return best, 0, notes


def _as_written(options: ReadOptions, agreed: Reading, codes: Iterable[str]) -> set[str | None]:
    """The columns whose cells are wanted as they are written."""
    named = (*options.categories, *options.dates, *options.ordered)
    # An order follows the name of some: size=S<M<L.
    wanted = {name.strip() for one in named for name in (one, one.partition("=")[0], one.rpartition("=")[0])}
    guessed = {name for name in codes if name not in agreed and name not in options.numeric}
    comma = {name for name, how in agreed.items() if isinstance(how, Number) and how.decimal == ","}
    stated = {name for name, how in agreed.items() if how.as_written}
    return {options.client_column, options.person, *wanted, *guessed, *comma, *stated}
