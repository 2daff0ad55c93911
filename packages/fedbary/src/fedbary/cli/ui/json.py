"""JSON for programs: on standard output, alone, and with null for what is not known."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fedbary.filling import COMMAND
from fedbary.notes import Note


def write_json(content: Mapping[str, Any]) -> None:
    """Print the content, and nothing else.

    Examples
    --------
    >>> write_json({"share": float("nan"), "file": PurePath("out")})
    {
      "share": null,
      "file": "out"
    }
    """
    sys.stdout.write(json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def plain(value: Any) -> Any:  # noqa: PLR0911 - one per type
    """The value in JSON's own types: frames as lists of records, arrays as lists, NaN and infinity as null.

    A note is its code, its facts, and its sentence for people.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Note):
        return {"code": value.code, "facts": plain(value.facts), "text": value.text(COMMAND)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "to_dict"):  # a DataFrame
        return plain(value.astype(object).where(value.notna(), None).to_dict("records"))
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return plain(value.tolist())
    return str(value)
