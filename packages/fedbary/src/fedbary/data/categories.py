"""What a category is called: one name for each level of a column and class of a label, however a file writes it."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np

from fedbary.data.columns import Array

_TRUTHS = {"true": "1", "false": "0"}


def category_name(cell: Any) -> str:
    """The name of a cell's category, by that cell alone; for levels and classes, with and without ε.

    A number is called as Python writes it, a whole one without its ``.0``; True and False are called 1 and 0, also
    where they are texts, in whatever letters. Any other text is its own name, without blanks around it. So 1, 1.0,
    True, "1", " 1.0" and "TRUE" are one category, and "007" and "7" are two, as are "1e3" and "1000".
    """
    if isinstance(cell, bool | np.bool_):
        return str(int(cell))
    if isinstance(cell, float | np.floating):
        number = float(cell)
        return str(int(number)) if isfinite(number) and number.is_integer() else repr(number)
    text = str(cell).strip()
    if text[-1:] in ("0", "e", "E"):  # of most texts a look at the end is enough
        whole, _, zeros = text.partition(".")
        digits = whole.removeprefix("-")
        if zeros and not zeros.strip("0") and digits.isascii() and digits.isdigit():
            return whole
        return _TRUTHS.get(text.lower(), text)
    return text


def category_names(values: Array) -> Array:
    """The names of many cells, None where one is missing.

    Examples
    --------
    >>> category_names(np.array([1.0, 2.5, np.nan])).tolist()
    ['1', '2.5', None]
    """
    import pandas as pd

    codes, different = pd.factorize(values)  # categories are few, cells many
    names = np.empty(len(different) + 1, dtype=object)  # the last one, of a missing cell, whose code is −1, stays None
    names[:-1] = [category_name(cell) for cell in different.tolist()]
    return names[codes]


def two_spellings(names: Iterable[str]) -> tuple[str, str] | None:
    """The first two of some names that are spelled differently and call one category.

    Examples
    --------
    >>> two_spellings(["1", "2", "1.0"]), two_spellings(["007", "7"])
    (('1', '1.0'), None)
    """
    found: dict[str, str] = {}
    for name in names:
        first = found.setdefault(category_name(name), name)
        if first != name:
            return first, name
    return None
