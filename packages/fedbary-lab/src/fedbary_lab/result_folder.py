"""The folder of a saved result: an index that says what wrote it, and no file of anybody else overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fedbary.errors import DataError

VERSION = 2
Index = TypeVar("Index")


def write_index(file: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write the index of a result of this kind, such as a ``"comparison"``."""
    index = {"fedbary": kind, "version": VERSION, **content}
    file.write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_index(file: Path, kind: str, parse: Callable[[Mapping[str, Any]], Index]) -> Index:
    """Read an index back; refuses a file of another kind or version, and one that ``parse`` cannot read.

    Examples
    --------
    >>> read_index(Path("nowhere/comparison.json"), "comparison", dict)
    Traceback (most recent call last):
    fedbary.errors.DataError: 'nowhere' holds no comparison (there is no comparison.json): check the folder.
    """
    if not file.is_file():
        raise DataError("research.no-saved-result", folder=str(file.parent), kind=kind, file=file.name)
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
        if index["fedbary"] != kind or index["version"] != VERSION:
            raise DataError("research.result-of-another-version", file=str(file), kind=kind, own=VERSION)
        return parse(index)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError("research.result-damaged", file=str(file), kind=kind, why=str(error)) from error


def refuse_foreign(home: Path, files: Iterable[Path], kind: str) -> None:
    """Refuse to overwrite files that no result of this kind has written."""
    for file in sorted(files):
        if file.exists():
            raise DataError("research.foreign-file", folder=str(home), file=str(file.relative_to(home)), kind=kind)
