"""JSON: one record a line, or a list of records. What stands in a record is a cell; none is looked into."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.formats.cells import Cells, Wanted, clean_names
from fedbary.data.formats.damage import readable
from fedbary.data.formats.text_files import encoding_notes, text_file
from fedbary.data.options import ReadOptions

if TYPE_CHECKING:
    import pandas as pd

JSON = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
_MOST_DIGITS = 400


def read_json_lines(path: Path, options: ReadOptions, most: int | None, *, alone: Wanted | None = None) -> Cells:
    """The cells of a JSON file: a column for every key, missing where a record does not have it.

    Where each cell is ``alone``, no record says which columns there are: all that are asked for, in every file.
    """
    with readable(path, "JSON"), encoding_notes() as notes:
        frame = _frame(list(islice(_records(path, options, alone=alone is not None), most)), alone)
    return Cells(frame, tuple(notes))


def _records(path: Path, options: ReadOptions, *, alone: bool = False) -> Iterator[dict[str, Any]]:
    file = text_file(path, options.encoding, lenient=alone, headless=alone)
    whole = _whole if alone else None
    with file.text() as text:
        lines: Iterable[str] = text
        if file.header.lstrip().startswith("["):
            content = text.read().lstrip("\ufeff")
            try:
                found = json.loads(content, parse_int=whole)
                if not isinstance(found, list):
                    raise ValueError("it holds no list of records")
            except (ValueError, RecursionError):
                if not alone:
                    raise
                lines = content.split("\n")  # one record alone must not say that the file is a list
            else:
                yield from (_record(one, place, alone=alone) for place, one in enumerate(found, start=1))
                return
        for place, line in enumerate(lines, start=1):
            if line.strip("\ufeff \t\r\n"):
                try:
                    yield _record(json.loads(line.lstrip("\ufeff"), parse_int=whole), place, alone=alone)
                except (ValueError, RecursionError):
                    if not alone:
                        raise
                    yield {}  # a row of which nothing can be read


def _record(found: Any, place: int, *, alone: bool) -> dict[str, Any]:
    if alone and not isinstance(found, dict):
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"record {place} is no object")
    return found


def _whole(digits: str) -> int | float:
    """Python refuses to read whole numbers that have thousands of digits, and no column has room for them."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _frame(records: list[dict[str, Any]], alone: Wanted | None) -> pd.DataFrame:
    import pandas as pd

    if not records:
        raise ValueError("it holds no record")
    if alone:  # a record that spells a name with a blank must not make a second column of it
        records = [dict(zip(clean_names(record), record.values(), strict=True)) for record in records]
    names = list(dict.fromkeys(name for record in records for name in record))
    if alone:
        names = list(alone(list(dict.fromkeys((*alone.asked, *names)))))
    columns = {place: [record.get(name) for record in records] for place, name in enumerate(names)}
    return pd.DataFrame(columns, dtype=object if alone else None).set_axis(clean_names(names), axis=1)
