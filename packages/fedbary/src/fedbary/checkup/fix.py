"""Writing a corrected copy of a table: nothing but what is corrected changes."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.checkup.corrections import Correction, corrections_of
from fedbary.checkup.subject import Subject
from fedbary.data.atomic import write_atomically
from fedbary.data.export import quoted, write
from fedbary.data.formats import opened, table_suffix
from fedbary.data.formats.cells import one_line
from fedbary.data.formats.csv import CSV, SEPARATORS, written_rows
from fedbary.data.options import ReadOptions
from fedbary.data.places import is_url
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

Changes = Mapping[str, Mapping[str, str]]


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
    if not is_url(source) and _is_part_of(home, Path(source)):
        raise DataError("checkup.fix-over-itself", where=str(home))
    # With a decimal comma numbers would be read at once, and nothing be left to correct.
    with opened(source, replace(subject.options, decimal=None)) as cells:
        found = corrections_of(cells.frame, subject)
        if not is_url(source) and table_suffix(Path(source)) in CSV and home.name.lower().endswith(tuple(SEPARATORS)):
            _copy(Path(source), home, _by_column(found), subject.options)
        else:
            write(corrected(cells.frame, found), home, mode=0o600)
    return found


def _is_part_of(home: Path, source: Path) -> bool:
    """Whether a file is what was read, or lies in the folder that was."""
    inside = source.is_dir() and source.resolve() in home.resolve().parents
    return inside or (home.exists() and home.samefile(source))


def _by_column(corrections: Iterable[Correction]) -> dict[str, dict[str, str]]:
    changes: dict[str, dict[str, str]] = {}
    for correction in corrections:
        changes.setdefault(correction.column, {}).update(correction.changes)
    return changes


def _copy(source: Path, home: Path, changes: Changes, options: ReadOptions) -> None:
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
