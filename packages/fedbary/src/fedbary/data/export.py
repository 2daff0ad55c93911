"""Writing tables to CSV and Parquet files, whole or not at all."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.atomic import write_atomically
from fedbary.data.formats import table_suffix
from fedbary.data.formats.arrow_files import PARQUET
from fedbary.data.formats.csv import SEPARATORS
from fedbary.data.places import AnyPath
from fedbary.data.table import Table
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

WRITTEN = (".csv", ".csv.gz", ".tsv", *PARQUET)
# What a spreadsheet may end a cell at, whatever we end it at: the separators of CSV files, and ends of lines.
_ENDS = ",;|\t\r\n"
# What begins a formula, also in the wide and small forms of East Asian keyboards.
_STARTS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
_WATCHED = frozenset(_STARTS + "\t\r\n")


def write(data: Table | pd.DataFrame, path: AnyPath, *, mode: int = 0o666) -> Path:
    """Write a table or DataFrame to a CSV or Parquet file, as the suffix says.

    A reader never sees half a file: the rows go to a temporary file beside it that then takes its
    place. In CSV, text that a spreadsheet would run as a formula gets a single quote (`quoted`).
    The index of a DataFrame is written only if it has a name. Parquet keeps a block as one column
    of vectors; CSV spreads it over columns. ``mode`` is the file's from its first byte on.
    """
    path = Path(path)
    suffix = table_suffix(path, WRITTEN)
    if not path.parent.is_dir():
        raise DataError("data.no-folder", where=str(path), folder=str(path.parent))
    if isinstance(data, Table):
        frame = data.to_frame(blocks="lists" if suffix in PARQUET else "columns")
    else:
        frame = data.reset_index() if any(name is not None for name in data.index.names) else data

    def fill(draft: Path) -> None:
        if suffix in PARQUET:
            frame.to_parquet(draft, index=False, engine="pyarrow")
        else:
            without_formulas(frame).to_csv(
                draft,
                index=False,
                sep=SEPARATORS[suffix.removesuffix(".gz")],
                compression="gzip" if suffix.endswith(".gz") else None,
            )

    try:
        return write_atomically(path, fill, mode=mode)
    except OSError as error:
        raise DataError("data.file-unwritable", where=str(path), why=error.strerror) from error


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Quote every text cell and header that a spreadsheet would run."""
    import pandas as pd

    safe = frame.copy(deep=False)
    for place, dtype in enumerate(frame.dtypes):
        if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
            continue
        safe.isetitem(place, [quoted(cell) for cell in frame.iloc[:, place]])
    return safe.set_axis([quoted(str(name)) for name in frame.columns], axis=1)


def quoted(cell: Any) -> Any:
    """Quote what a spreadsheet would run of a text, by whatever separator it reads the file.

    Each part of it that begins like a formula gets a single quote. A lone sign and a signed number are no formulas, and
    may well be labels.
    """
    if not isinstance(cell, str) or not set(cell) & _WATCHED:
        return cell
    starts = [0, *(place for place, letter in enumerate(cell, start=1) if letter in _ENDS)]
    parts = [cell[start:end] for start, end in pairwise([*starts, len(cell)])]
    if cell[0] not in _ENDS and all(map(_is_number, parts)):
        return cell
    text = "".join(f"'{part}" if _seen_first(part) in _STARTS else part for part in parts)
    return f"'{text}" if text[0] in "\t\r\n" else text


def _seen_first(part: str) -> str:
    """The first letter behind white space, marks that nobody sees, and quotes, all of which a spreadsheet may drop."""
    return next((letter for letter in part if letter.isprintable() and letter not in ' "'), " ")


def _is_number(part: str) -> bool:
    """Whether a text is a sign, or a number: a spreadsheet has nothing to run in it."""
    number = part.strip(f" {_ENDS}")
    number = number[1:] if number[:1] in ("+", "-") else number
    if not set(number) <= set("0123456789.eE+-") or number[:1] in ("+", "-", ".", "e", "E"):
        return False
    try:
        return not number or bool(float(number) + 1.0)
    except ValueError:
        return False
