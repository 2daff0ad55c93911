"""The table of an owner's rows: which rows and columns a page carries, and in which order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.valuation.cleaning import suggestions
from fedbary.wording import number, shortened

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.views.report.thumbnails import Images

MOST_ROWS, MOST_PICTURES, MOST_COLUMNS, PAGE = 5000, 2000, 8, 50
_LONGEST_CELL = 2000
_LONG_NUMBER = 1e7
_COLUMNS_ON_PAPER = 3
_NUMBERS = (("p_value", "p-value"), ("value", "Value"), ("label_p", "p of label"), ("feature_p", "p of features"))


@dataclass(frozen=True)
class Column:
    """One column: its name in files, its heading, its kind, and a value for each row of the page."""

    name: str
    title: str
    kind: str  # "text", "number" or "flag"
    values: list[Any]
    extra: bool = False  # left out on paper, which is narrower

    @property
    def look(self) -> str:
        """The column's class on the page."""
        return f"{self.kind[0]} extra" if self.extra else self.kind[0]


@dataclass(frozen=True)
class RowTable:
    """What the page carries: columns of equal length, and a picture for the first rows."""

    columns: tuple[Column, ...]
    pictures: list[str]
    rows: int
    left_out: int
    columns_left_out: int

    def to_json(self) -> dict[str, Any]:
        """For the script of the page."""
        return {
            "columns": [{"name": c.name, "title": c.title, "kind": c.kind, "look": c.look} for c in self.columns],
            "values": [column.values for column in self.columns],
            "pictures": self.pictures,
            "page": PAGE,
        }

    def plain(self) -> list[list[str]]:
        """The first page as text, for a browser without scripts."""
        return [[_cell(column, place) for column in self.columns] for place in range(min(PAGE, self.rows))]


def row_table(
    rows: pd.DataFrame, table: Table | None, given: Sequence[str], images: Images | None, *, numbers: bool
) -> RowTable:
    """Flagged rows first, worst first, then the least valuable; what no row has a value for is left out.

    ``given`` are the table's labels as text, ``numbers`` says that they are quantities.
    """
    listed = _order(rows)[:MOST_ROWS]
    chosen = rows.iloc[listed]
    columns = [Column("row", "Row", "text", [_text(name) for name in chosen["row"]])]
    if table is not None:
        columns.append(_labels("given_label", "Given label", [given[place] for place in listed], numbers))
    columns += _found(chosen, numbers)
    features = [] if table is None else [name for name, column in table.columns.items() if column.ndim == 1]
    taken = {column.name for column in columns}
    for place, name in enumerate(features[:MOST_COLUMNS]):
        assert table is not None
        heading = f"{name} (column)" if name in taken else name
        columns.append(_feature(heading, name, table.columns[name][listed], extra=place >= _COLUMNS_ON_PAPER))
    pictures = [] if images is None else [images.png(int(place)) for place in listed[:MOST_PICTURES]]
    hidden = max(0, len(features) - MOST_COLUMNS)
    return RowTable(tuple(columns), pictures, len(listed), len(rows) - len(listed), hidden)


def _order(rows: pd.DataFrame) -> NDArray[np.int64]:
    """Places of the rows, flagged ones first, and each kind from the worst on."""
    flag = rows["flag"].fillna(False).to_numpy(dtype=bool)
    value = rows["value"].to_numpy(dtype=float, na_value=np.inf)
    return np.lexsort((np.nan_to_num(value, nan=np.inf), ~flag))


def _found(chosen: pd.DataFrame, numbers: bool) -> list[Column]:
    """What the run says of each row."""
    columns = []
    suggested = suggestions(chosen)
    if suggested.notna().any():
        texts = ["" if missing else str(text) for text, missing in _with_missing(suggested)]
        columns.append(_labels("suggested_label", "Suggested label", texts, numbers))
    if chosen["reason"].notna().any():
        texts = ["" if missing else str(text) for text, missing in _with_missing(chosen["reason"])]
        columns.append(Column("reason", "Reason", "text", texts))
    for name, title in _NUMBERS:
        if chosen[name].notna().any():
            columns.append(Column(name, title, "number", _finite(chosen[name])))
    if chosen["flag"].notna().any():
        flags = [None if missing else bool(flag) for flag, missing in _with_missing(chosen["flag"])]
        columns.append(Column("flag", "Flag", "flag", flags))
    return columns


def _labels(name: str, title: str, texts: Sequence[str], numbers: bool) -> Column:
    if numbers:
        return Column(name, title, "number", _finite([text or math.nan for text in texts]))
    return Column(name, title, "text", [_text(text) for text in texts])


def _feature(name: str, title: str, values: NDArray[np.generic], *, extra: bool) -> Column:
    if values.dtype.kind == "f":
        return Column(name, title, "number", _finite(values), extra)
    return Column(name, title, "text", ["" if value is None else _text(value) for value in values], extra)


def _finite(values: Any) -> list[float | None]:
    return [float(value) if math.isfinite(float(value)) else None for value in values]


def _text(value: object) -> str:
    """A cell as text; half of a surrogate pair has no place in JSON that a browser reads."""
    return shortened(str(value), _LONGEST_CELL).encode("utf-8", "replace").decode("utf-8")


def _with_missing(series: pd.Series[Any]) -> list[tuple[Any, bool]]:
    return list(zip(series, series.isna(), strict=True))


def _cell(column: Column, place: int) -> str:
    value = column.values[place]
    if value is None:
        return "–"
    if column.kind == "number":
        return number(value) if abs(value) < _LONG_NUMBER else f"{value:.2e}".replace("-", "−")
    if column.kind == "flag":
        return "yes" if value else "no"
    return str(value)
