"""CSV and TSV files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedbary.data.formats.damage import one_line
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t"}


def read_csv(path: Path, usual: str, options: ReadOptions, most: int | None) -> pd.DataFrame:
    """The cells of a CSV file."""
    import pandas as pd

    separator = options.separator or usual
    # The header is read on its own, as pandas would rename the second of two columns of one name; a row
    # comes along, as pandas would take the surplus cell of rows longer than the header for an index.
    try:
        header = pd.read_csv(
            path, sep=separator, header=None, nrows=2, dtype=str, keep_default_na=False, encoding="utf-8-sig"
        )
        frame = pd.read_csv(
            path, sep=separator, encoding="utf-8-sig", low_memory=False, nrows=most, float_precision=_precision()
        )
    except UnicodeDecodeError as error:
        raise DataError("data.not-utf8", where=str(path)) from error
    except Exception as error:  # a damaged file can fail in the parser, in gzip or in zlib
        _refuse_semicolons(path, separator)
        raise DataError("data.not-csv", where=str(path), why=one_line(error)) from error
    names = [str(name).strip() for name in header.iloc[0]]
    if len(names) == 1:
        _refuse_semicolons(path, separator)
    if "" in names:
        raise DataError("data.column-without-name", where=str(path), position=names.index("") + 1, columns=len(names))
    return frame.set_axis(names, axis=1)


def _precision() -> Literal["round_trip"] | None:
    """Each number as Python reads its text, so that a column that is read as text holds the same ones.

    From pandas 3.1 on that is the default, and asking for it is deprecated.
    """
    import pandas as pd

    major, minor = pd.__version__.split(".")[:2]
    return None if (int(major), int(minor)) >= (3, 1) else "round_trip"


def _refuse_semicolons(path: Path, separator: str) -> None:
    """Spreadsheets of many countries write semicolons, and then often decimal commas, which would be read as text."""
    import gzip
    import zlib

    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8-sig") as file
        ):
            first = file.readline(100_000)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error):
        return
    if separator == "," and first.count(";") > first.count(","):
        raise DataError("data.semicolons", where=str(path))
