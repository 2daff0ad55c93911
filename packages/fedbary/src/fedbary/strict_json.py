"""JSON that came from elsewhere: short, finite and whole, or a ValueError."""

from __future__ import annotations

import json
import math
from typing import Any

# Digits of a whole number; Flower and pandas hold 63 bits.
_MOST_DIGITS = 19
# Lists, objects and what stands in them: a schema of a hundred thousand columns. Parts take far more time and memory
# than their text.
_MOST_PARTS = 2**20


def read_json(text: str, *, longest: int) -> Any:
    r"""What a JSON text says; raises ValueError, and nothing else, for whatever another party should not write.

    That is a text that is too long, has too many parts or is nested too deeply, numbers that are not finite or have too
    many digits, a name that comes twice, of which two readers may each take another, and halves of characters, which no
    file or terminal takes.
    """
    if len(text) > longest:
        raise ValueError("the text is too long")
    if sum(text.count(mark) for mark in ",[{") > _MOST_PARTS:
        raise ValueError("the text has too many parts")
    try:
        content = json.loads(
            text, parse_int=_whole, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_once
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if "\\u" in text or not text.isascii():
        json.dumps(content, ensure_ascii=False).encode("utf-8")  # a UnicodeEncodeError is a ValueError
    return content


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS + 1:
        raise ValueError("a number has too many digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a name comes twice")
    return content
