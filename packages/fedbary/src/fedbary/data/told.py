"""What `ReadOptions` alone say about the kinds of columns."""

from __future__ import annotations

from collections.abc import Sequence

from fedbary.checks import did_you_mean
from fedbary.data.categories import category_name
from fedbary.data.date_texts import ORDERS
from fedbary.data.options import ReadOptions
from fedbary.data.reading import ColumnReading, Reading
from fedbary.errors import DataError, wrong_parameter


def told_reading(features: Sequence[str], options: ReadOptions, others: Sequence[str] = ()) -> Reading:
    """What the options alone say about feature columns; names that not even the label or the id has are refused.

    Examples
    --------
    >>> told_reading(["size", "zip", "age"], ReadOptions(ordered=("size=S<M<L",), categories=("zip",)))["size"].levels
    ('S', 'M', 'L')
    """
    names, told = (*features, *others), dict[str, ColumnReading]()
    for one in options.ordered:
        name, _, levels = one.partition("=")
        named = tuple(level.strip() for level in levels.split("<") if level.strip())
        if len(named) < 2 or len(set(map(category_name, named))) < len(named):
            raise wrong_parameter("ordered", "ReadOptions", "columns with their levels, such as size=S<M<L", one)
        told[_known("ordered", name.strip(), names)] = ColumnReading("ordered", levels=named)
    for one in options.dates:
        name, _, order = one.rpartition("=") if one not in names and one.endswith(ORDERS) else (one, "", "")
        told[_known("dates", name.strip(), names)] = ColumnReading("date", order=order)
    for name in options.categories:
        told[_known("categories", name, names)] = ColumnReading("category")
    for name in options.numeric:
        told[_known("numeric", name, names)] = ColumnReading("number", decimal=options.decimal or "")
    kept = {_known("columns", name, names) for name in options.columns}
    dropped = {_known("drop", name, names) for name in options.drop}
    for name in names:
        if name in dropped or (kept and name not in kept):
            told[name] = ColumnReading("dropped")
    return Reading({name: how for name, how in told.items() if name in features})


def _known(option: str, wanted: str, names: Sequence[str]) -> str:
    if wanted not in names:
        guess, known = did_you_mean(wanted, names), tuple(names)
        raise DataError(
            "data.option-without-column", name=option, wanted=wanted, guess=guess, columns=len(names), names=known
        )
    return wanted
