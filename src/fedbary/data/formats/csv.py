"""CSV and TSV files: separators and encodings as they come, and notes on what was guessed.

Everything is guessed from the header line, so that no row decides how another one is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fedbary.data.formats.cells import Cells, clean_names
from fedbary.data.formats.damage import readable
from fedbary.data.formats.text_files import TextFile, encoding_notes, member_name, text_file
from fedbary.data.options import ReadOptions
from fedbary.data.reading import Reading
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

# What usually separates cells, by suffix.
SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
COMPRESSED = (".gz", ".zip")
CSV = (*SEPARATORS, *(plain + packed for packed in COMPRESSED for plain in SEPARATORS), ".zip")
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# In columns of these kinds 007 is not 7.
_AS_WRITTEN = ("category", "ordered", "date", "text", "identifier")


def read_csv(path: Path, options: ReadOptions, most: int | None, reading: Reading | None) -> Cells:
    """The cells of a CSV file."""
    import pandas as pd

    with readable(path, "CSV"), encoding_notes() as found:
        layout = _layout(path, options, reading)
        with layout.file.text() as text:
            frame = layout.named(pd.read_csv(text, nrows=most, **layout.arguments()))
    return Cells(frame, (*layout.notes, *found))


@dataclass(frozen=True)
class _Layout:
    """What a CSV file looks like, by its header."""

    file: TextFile
    separator: str
    skipped: int
    names: list[str]
    as_written: tuple[str, ...]
    decimal: str
    notes: tuple[Note, ...]

    def arguments(self) -> dict[str, Any]:
        """For pandas."""
        return {
            "sep": self.separator,
            "skiprows": self.skipped,
            "decimal": self.decimal,
            "dtype": {place: str for place, name in enumerate(self.names) if name in self.as_written},
            "low_memory": False,
            "float_precision": _precision(),
        }

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """With names as they are in the file, as pandas renames the second of two; a first without one is left out."""
        frame = frame.set_axis(self.names, axis=1)
        return frame.iloc[:, 1:] if self.names[0] == "" else frame


def _layout(path: Path, options: ReadOptions, reading: Reading | None) -> _Layout:
    import pandas as pd

    file = text_file(path, options.encoding)
    separator, skipped, notes = _separator(file, options)
    # A row comes along with the header, as pandas would take the surplus cell of rows longer than it for an index.
    with file.text() as text:
        header = pd.read_csv(
            text, sep=separator, skiprows=skipped, header=None, nrows=2, dtype=str, keep_default_na=False
        )
    names = clean_names(header.iloc[0])
    if "" in names[1:] or names == [""]:
        position = names.index("", min(1, len(names) - 1)) + 1
        raise DataError("data.column-without-name", where=str(path), position=position, columns=len(names))
    if names[0] == "":
        notes = (*notes, Note("formats.row-numbers"))
    return _Layout(file, separator, skipped, names, _told(options, reading), options.decimal or ".", notes)


def _separator(file: TextFile, options: ReadOptions) -> tuple[str, int, tuple[Note, ...]]:
    """What separates cells, and how many lines come before the header."""
    if file.header.lower().startswith("sep=") and len(file.header) == 5:  # Excel writes and reads this line
        return options.separator or file.header[4], 1, ()
    usual = _usual_separator(file.path)
    if options.separator is not None:
        return options.separator, 0, ()
    counts = {one: count_outside_quotes(file.header, one) for one in (usual, *_WORDS)}
    best = max(counts, key=lambda one: counts[one])
    notes = () if best == usual else (Note("formats.guessed-separator", {"separator": _WORDS[best]}),)
    return best, 0, notes


def count_outside_quotes(line: str, letter: str) -> int:
    """How often a letter stands in a line, but not between quotation marks.

    Examples
    --------
    >>> count_outside_quotes('age;"name, first";label', ",")
    0
    """
    return sum(part.count(letter) for part in line.split('"')[::2])


def _usual_separator(path: Path) -> str:
    name = path.name.lower()
    if name.endswith(".zip"):
        name = member_name(path).lower()
    return next((usual for suffix, usual in SEPARATORS.items() if name.removesuffix(".gz").endswith(suffix)), ",")


def _told(options: ReadOptions, reading: Reading | None) -> tuple[str, ...]:
    """The columns whose cells are wanted as they are written."""
    agreed = [name for name, column in (reading or {}).items() if column.kind in _AS_WRITTEN]
    ordered = [one.partition("=")[0].strip() for one in options.ordered]
    owner = [options.client_column] if options.client_column is not None else []
    return (*options.categories, *options.dates, *ordered, *owner, *agreed)


def _precision() -> Literal["round_trip"] | None:
    """Each number as Python reads its text, so that a column that is read as text holds the same ones.

    From pandas 3.1 on that is the default, and asking for it is deprecated.
    """
    import pandas as pd

    major, minor = pd.__version__.split(".")[:2]
    return None if (int(major), int(minor)) >= (3, 1) else "round_trip"
