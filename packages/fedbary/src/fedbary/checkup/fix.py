"""Writing a corrected copy of a table: nothing but what is corrected changes."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.checkup.findings import COLUMN_FIXES, LABEL_FIXES, MOST_NAMED, Writing
from fedbary.data.atomic import write_atomically
from fedbary.data.export import quoted, write
from fedbary.data.formats import opened, table_suffix
from fedbary.data.formats.cells import one_line
from fedbary.data.formats.csv import CSV, SEPARATORS, written_rows
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath, is_url
from fedbary.data.reading import Reading
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.space.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Subject:
    """What is checked, as it is written: a file, a database or a frame; its label, and how its columns were read."""

    source: AnyPath | pd.DataFrame
    label: str
    options: ReadOptions = field(default_factory=ReadOptions)
    reading: Reading = field(default_factory=Reading)
    schema: Schema | None = None


@dataclass(frozen=True)
class Correction:
    """Cells of one column that are certain to be meant otherwise: each as it is written, and as it should be."""

    code: str
    column: str
    changes: Mapping[str, str]
    count: int

    @property
    def note(self) -> Note:
        """The correction in words; each change where they are few."""
        changes = tuple(f"{old!r} → {new!r}" for old, new in self.changes.items())[:MOST_NAMED]
        return Note(self.code, {"column": self.column, "count": self.count, "changes": changes})


def corrections_of(frame: pd.DataFrame, subject: Subject) -> tuple[Correction, ...]:
    """What can be corrected in the cells of a file without asking anybody.

    Labels and levels are respelled where the schema has just one of that spelling; numbers that are written with a
    decimal comma, groups of digits or a unit are written plainly; what stands for a missing cell is left out.
    """
    schema = subject.schema
    known = {} if schema is None else {column.name: column.categories for column in schema.columns}
    if schema is not None:
        known[subject.label] = schema.label.classes if schema.label.kind == "classes" else ()
    found = []
    for place, name in enumerate(map(str, frame.columns)):
        if name != subject.label and name not in subject.reading:
            continue
        texts = _texts(frame.iloc[:, place])
        writing = Writing(texts, known.get(name, ()), subject.reading.get(name), subject.options.decimal)
        for fix in LABEL_FIXES if name == subject.label else COLUMN_FIXES:
            if changes := fix.changes(writing):
                found.append(Correction(fix.code, name, changes, sum(texts[text] for text in changes)))
    return tuple(found)


def _texts(cells: pd.Series[Any]) -> dict[str, int]:
    """The different texts of a column, and how many cells have each."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return {}
    codes, values = pd.factorize(cells.to_numpy(dtype=object))
    counts = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
    return {value: count for value, count in zip(values, counts, strict=True) if isinstance(value, str)}


def corrected(frame: pd.DataFrame, corrections: Iterable[Correction]) -> pd.DataFrame:
    """A frame whose cells are corrected; emptied ones are missing."""
    fixed = frame.copy(deep=False)
    for name, changes in _by_column(corrections).items():
        place = [str(one) for one in frame.columns].index(name)
        cells = frame.iloc[:, place].to_numpy(dtype=object).tolist()
        fixed.isetitem(place, [changes.get(cell, cell) or None if isinstance(cell, str) else cell for cell in cells])
    return fixed


def fix(subject: Subject, path: str | Path) -> tuple[Correction, ...]:
    """Write a corrected copy of what was checked, which only its owner may read, and say what was corrected.

    A CSV file is copied line by line with the separator that it has, as UTF-8, and its other cells stay as they are
    written; from anything else the copy is made of what was read.
    """
    home = Path(path)
    if not isinstance(subject.source, str | PathLike):
        found = corrections_of(subject.source, subject)
        write(corrected(subject.source, found), home, mode=0o600)
        return found
    source = subject.source
    if not is_url(source):
        read = Path(source)
        inside = read.is_dir() and read.resolve() in home.resolve().parents
        if inside or (home.exists() and home.samefile(read)):
            raise DataError("checkup.fix-over-itself", where=str(home))
    # With a decimal comma numbers would be read at once, and nothing be left to correct.
    with opened(source, replace(subject.options, decimal=None)) as cells:
        found = corrections_of(cells.frame, subject)
        if not is_url(source) and table_suffix(Path(source)) in CSV and home.name.lower().endswith(tuple(SEPARATORS)):
            _copy(Path(source), home, _by_column(found), subject.options)
        else:
            write(corrected(cells.frame, found), home, mode=0o600)
    return found


def _by_column(corrections: Iterable[Correction]) -> dict[str, dict[str, str]]:
    changes: dict[str, dict[str, str]] = {}
    for correction in corrections:
        changes.setdefault(correction.column, {}).update(correction.changes)
    return changes


def _copy(source: Path, home: Path, changes: Mapping[str, Mapping[str, str]], options: ReadOptions) -> None:
    if not home.parent.is_dir():
        raise DataError("data.no-folder", where=str(home), folder=str(home.parent))

    def fill(draft: Path) -> None:
        with (
            written_rows(source, options) as (separator, names, rows),
            draft.open("w", encoding="utf-8", newline="") as file,
        ):
            places = [(place, changes[name]) for place, name in enumerate(names) if name in changes]
            writer = csv.writer(file, delimiter=separator, lineterminator="\n")
            for line, row in enumerate(rows):
                for place, to in places if line else ():
                    if place < len(row):
                        # A name out of somebody's schema is theirs; the owner's own cells stay as they are.
                        row[place] = quoted(to[row[place]]) if row[place] in to else row[place]
                writer.writerow(row)

    try:
        write_atomically(home, fill, mode=0o600)
    except csv.Error as error:
        raise DataError("formats.damaged", where=str(source), kind="CSV", why=one_line(error)) from error
    except OSError as error:
        raise DataError("data.file-unwritable", where=str(home), why=error.strerror) from error
