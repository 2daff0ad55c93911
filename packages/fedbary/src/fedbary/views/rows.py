"""An owner's rows as a page shows them: which rows and columns, in which order, and images as small PNG files."""

from __future__ import annotations

import base64
import io
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import SettingsError, wrong_parameter
from fedbary.valuation.cleaning import suggestions
from fedbary.views.plots.row_plots import FLAGGED, SUSPECT, doubts
from fedbary.wording import number, shortened

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.valuation.result import ImageShape

Pixels = NDArray[np.uint8]

MOST_ROWS, MOST_PICTURES, MOST_COLUMNS, PAGE = 5000, 2000, 8, 50
_LONGEST_CELL = 2000
_LONG_NUMBER = 1e7
_COLUMNS_ON_PAPER = 3
# With every digit in files; on the page one bar says the same.
_IN_FILES = ("value", "p_value", "label_p", "feature_p")
# The bar of suspicion is full at a p-value of so many decimals.
_DECADES = 3
_LEAST_SIDE, _MOST_SIDE, _LARGEST = 8, 64, 512
# What the brightest pixel may be: a share, scikit-learn's digits, a byte.
_TOPS = (1.0, 16.0, 255.0)
_FEW_VALUES = 4
# Neighbouring pixels are alike; coordinates of an embedding are not. Compared on this many rows at most.
_ALIKE, _LOOKED_AT = 0.85, 200


@dataclass(frozen=True)
class Column:
    """One column: its name in files, its heading, its kind, and a value for each row of the page."""

    name: str
    title: str
    kind: str  # "text", "number", "bar", "mark" or "why"
    values: list[Any]
    feature: bool = False  # of the owner's table: hidden where the window is too narrow
    extra: bool = False  # left out on paper, which is narrower
    shown: bool = True  # or in files alone

    @classmethod
    def of(cls, name: str, title: str, values: Iterable[Any], *, numbers: bool, **more: bool) -> Column:
        """Numbers, or text of which half a surrogate pair has no place in JSON that a browser reads."""
        if numbers:
            floats = (math.nan if value == "" else float(value) for value in values)
            return cls(name, title, "number", [value if math.isfinite(value) else None for value in floats], **more)
        texts = ("" if value is None else shortened(str(value), _LONGEST_CELL) for value in values)
        return cls(name, title, "text", [text.encode("utf-8", "replace").decode("utf-8") for text in texts], **more)

    @property
    def look(self) -> str:
        """The column's class on the page."""
        return f"{self.kind[0]} extra" if self.extra else self.kind[0]

    @property
    def varies(self) -> bool:
        """Whether the column tells any two rows apart."""
        return any(value != self.values[0] for value in self.values)

    def cell(self, place: int) -> str:
        value = self.values[place]
        if value is None:
            return "–"
        if self.kind == "number":
            return number(value) if abs(value) < _LONG_NUMBER else f"{value:.2e}".replace("-", "−")
        return f"{value:.0f}" if self.kind == "bar" else str(value)


@dataclass(frozen=True)
class RowTable:
    """What the page carries: columns of equal length, and a picture for the first rows."""

    columns: tuple[Column, ...]
    odd: list[list[int]]  # for each row, the places of the columns whose cells are odd
    pictures: list[str]
    rows: int
    left_out: int
    columns_left_out: int

    def to_json(self) -> dict[str, Any]:
        """For the script of the page."""
        facts = ("name", "title", "kind", "look", "shown", "feature")
        return {
            "columns": [{fact: getattr(column, fact) for fact in facts} for column in self.columns],
            "values": [column.values for column in self.columns],
            "odd": self.odd,
            "pictures": self.pictures,
            "page": PAGE,
        }

    @property
    def headings(self) -> list[tuple[int, Column]]:
        """The columns that the page shows, with their places."""
        return [(place, column) for place, column in enumerate(self.columns) if column.shown]

    @property
    def filters(self) -> list[Column]:
        """Columns of which a reader may want one value alone."""
        names = ("reason", "given_label", "suggested_label")
        return [column for column in self.columns if column.name in names and column.kind == "text" and column.varies]

    def plain(self) -> list[list[str]]:
        """The first page as text, for a browser without scripts."""
        return [[column.cell(place) for _, column in self.headings] for place in range(min(PAGE, self.rows))]


def row_table(
    rows: pd.DataFrame, table: Table | None, given: Sequence[str], images: Images | None, *, numbers: bool
) -> RowTable:
    """Flagged rows first, then suspects, then the least valuable; what no row has, or all rows have, is not shown.

    ``table`` and ``images`` are of all rows, or of those alone that `listed_rows` names, in its order; ``given`` are
    the labels of all rows as text, ``numbers`` says that they are quantities.
    """
    listed = listed_rows(rows)
    places = listed if table is None or len(table) == len(rows) else np.arange(len(listed))
    chosen = rows.iloc[listed]
    doubted, suggested, reasons = findings(chosen), suggestions(chosen), chosen["reason"]
    odd = [[name for part in str(text).split(",") if (name := part.strip())] for text in chosen["columns"].fillna("")]
    columns = [
        Column.of("row", "Row", chosen["row"], numbers=False),
        Column("finding", "Finding", "mark", doubted),
        Column("suspicion", "Suspicion", "bar", suspicion(rows)[listed].tolist()),
    ]
    if table is not None:
        columns.append(Column.of("given_label", "Given label", [given[at] for at in listed], numbers=numbers))
    if suggested.notna().any():
        columns.append(Column.of("suggested_label", "Suggested label", suggested.fillna(""), numbers=numbers))
    if reasons.notna().any():
        cells = ["; ".join(_odd_cell(name, table, at) for name in names) for names, at in zip(odd, places, strict=True)]
        # By the cells themselves where they are known.
        why = [
            text.replace("features", f"features ({those})") if those else text
            for text, those in zip(reasons.fillna(""), cells, strict=True)
        ]
        columns.append(replace(Column.of("why", "Why", why, numbers=False), kind="why"))
    columns = [replace(column, shown=column.name == "row" or len(chosen) < 2 or column.varies) for column in columns]
    many = sum(map(bool, doubted))
    if many > 1 and columns[-1].name == "why" and len(set(columns[-1].values[:many])) == 1:
        columns[-1] = replace(columns[-1], shown=False)  # the rest of the rows are not doubted at all
    if reasons.notna().any():
        columns.append(Column.of("reason", "Doubted for", reasons.fillna(""), numbers=False, shown=False))
    columns += [
        Column.of(name, name, chosen[name], numbers=True, shown=False)
        for name in _IN_FILES
        if chosen[name].notna().any()
    ]
    features = [] if table is None else _features(table, places, odd, {column.name for column in columns})
    on_page = [replace(column, extra=at >= _COLUMNS_ON_PAPER) for at, column in enumerate(features[:MOST_COLUMNS])]
    at = {column.title: len(columns) + place for place, column in enumerate(on_page)}
    return RowTable(
        (*columns, *on_page),
        [[at[name] for name in names if name in at] for names in odd],
        [] if images is None else [images.png(int(place)) for place in places[:MOST_PICTURES]],
        len(listed),
        len(rows) - len(listed),
        len(features) - len(on_page),
    )


def _features(table: Table, places: NDArray[np.int64], odd: list[list[str]], taken: set[str]) -> list[Column]:
    """Columns of the owner's table that tell rows apart, those with odd cells first."""
    often = Counter(name for names in odd for name in names)
    named = [(name, column[places]) for name, column in table.columns.items() if column.ndim == 1]
    named.sort(key=lambda pair: -often[pair[0]])  # stable: otherwise as in the file
    columns = [
        Column.of(
            f"{name} (column)" if name in taken else name, name, values, numbers=values.dtype.kind == "f", feature=True
        )
        for name, values in named
    ]
    return [column for column in columns if len(places) < 2 or column.varies]


def _odd_cell(name: str, table: Table | None, row: int) -> str:
    """A cell that made a row odd, with what is in it where the table is there."""
    block, _, coordinate = name.removesuffix("]").rpartition("[")
    if table is not None and name in table.columns:
        value: Any = table.columns[name][row]
    elif table is not None and block in table.columns and coordinate.isdigit():
        value = table.columns[block][row, int(coordinate)]
    else:
        return name
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return f"{name} missing"
    return f"{name} {number(float(value)) if isinstance(value, float | np.floating) else value}"


def findings(rows: pd.DataFrame) -> list[str]:
    """Which rows are flagged and which are suspects, in a word for each row."""
    flagged, suspect = doubts(rows)
    found: list[str] = np.where(flagged, FLAGGED, np.where(suspect, SUSPECT, "")).tolist()
    return found


def suspicion(rows: pd.DataFrame) -> NDArray[np.float64]:
    """How suspicious each row is, from 0 to 100: by p-values, or where there are none by the values alone.

    A third is for what one clean row in ten would reach, two thirds for one in a hundred, the whole for one in a
    thousand; rows without a p-value stand among the others by their values. By values alone it is 0 for the median row
    and better ones, and 100 for the worst hundredth.
    """
    p_value, value = (rows[name].to_numpy(dtype=float, na_value=np.nan) for name in ("p_value", "value"))
    if np.isfinite(p_value).any():
        part = np.log10(1.0 / np.clip(p_value, 10.0**-_DECADES, 1.0)) / _DECADES
        # A row that could not be tested stands where its value does among those that were.
        tested = np.flatnonzero(np.isfinite(part))[np.argsort(value[np.isfinite(part)], kind="stable")]
        part = np.where(np.isfinite(part), part, np.interp(value, value[tested], part[tested]))
    else:
        known = np.sort(value[np.isfinite(value)])
        middle, worst = (known[len(known) // 2], known[len(known) // 100]) if len(known) else (0.0, 0.0)
        part = (middle - value) / (middle - worst if middle > worst else np.inf)
    return np.asarray(np.round(100.0 * np.clip(np.nan_to_num(part, nan=0.0), 0.0, 1.0)))


def listed_rows(rows: pd.DataFrame) -> NDArray[np.int64]:
    """Places of the rows that a page carries: flagged ones, suspects, the rest, and each kind from the worst on."""
    value = rows["value"].to_numpy(dtype=float, na_value=np.inf)
    flagged, suspect = doubts(rows)
    kinds = np.where(flagged, 0, np.where(suspect, 1, 2))
    return np.lexsort((np.nan_to_num(value, nan=np.inf), kinds))[:MOST_ROWS]


@dataclass(frozen=True)
class Images:
    """The pictures of a table's rows, and the size of each."""

    pixels: Pixels
    known: NDArray[np.bool_]

    def png(self, row: int) -> str:
        """One row's picture as base64 of a PNG file; empty where the row has none."""
        return base64.b64encode(png(self.pixels[row])).decode("ascii") if self.known[row] else ""


def images_of(table: Table, shape: ImageShape = "auto") -> Images | None:
    """The rows as pictures, or None where they are none.

    A block is read row by row, from the top left; the three colours of a pixel stand side by side (height, width,
    red-green-blue), as NumPy flattens an image and as `fedbary.datasets` loads CIFAR-10.

    Parameters
    ----------
    table : Table
        The rows.
    shape : {"auto"}, None or (height, width) or (height, width, channels)
        ``auto`` takes a table's only block for pictures if it has the coordinates of a square of 8 to 64 pixels, grey
        or in colour, if most rows lie between 0 and 1, 16 or 255 and have more than a few values, and if pixels side
        by side are alike. A shape forces it, also for as many numeric columns as it has pixels. None: no pictures.
    """
    if shape is None:
        return None
    blocks = [column for column in table.columns.values() if column.ndim == 2]
    if isinstance(shape, str):
        if shape != "auto":
            raise wrong_parameter("images", "report", "'auto', None or (height, width)", shape)
        sides = _square(blocks[0].shape[1]) if len(blocks) == 1 else None
        if sides is None or not _looks_like_images(blocks[0].reshape(len(table), *sides)):
            return None
        return _bytes(blocks[0].reshape(len(table), *sides))
    return _bytes(_forced(table, blocks, shape).reshape(len(table), *_checked(shape)))


def png(pixels: Pixels) -> bytes:
    r"""A PNG file of grey (height, width) or red-green-blue (height, width, 3) bytes."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", optimize=True)
    return file.getvalue()


def _square(width: int) -> tuple[int, ...] | None:
    """The sides of a square with so many coordinates, grey or with three colours."""
    for channels in (1, 3):
        side = math.isqrt(width // channels)
        if side * side * channels == width and _LEAST_SIDE <= side <= _MOST_SIDE:
            return (side, side) if channels == 1 else (side, side, channels)
    return None


def _looks_like_images(values: NDArray[np.generic]) -> bool:
    """Whether most rows have a picture's range, and neighbours that are more alike than pixels far apart."""
    some = np.asarray(values[:: max(1, len(values) // _LOOKED_AT)][:_LOOKED_AT], dtype=float)
    some = some[np.isfinite(some).all(axis=tuple(range(1, some.ndim)))]
    if not len(some) or _top(some) is None or len(np.unique(some)) <= _FEW_VALUES:
        return False
    grey = some if some.ndim == 3 else some.mean(axis=3)
    beside = np.abs(np.diff(grey, axis=2)).mean() + np.abs(np.diff(grey, axis=1)).mean()
    flat = grey.reshape(len(grey), -1)
    elsewhere = np.abs(flat - flat[:, np.random.default_rng(0).permutation(flat.shape[1])]).mean()
    return bool(beside / 2.0 < _ALIKE * elsewhere)


def _top(values: NDArray[np.float64]) -> float | None:
    """The brightest pixel that at least half of the rows keep to, noisy ones aside."""
    inner = tuple(range(1, values.ndim))
    low, high = values.min(axis=inner), values.max(axis=inner)
    for top in _TOPS:
        if np.mean((low >= -1e-6) & (high <= top * (1.0 + 1e-6))) >= 0.5:
            return top
    return None


def _bytes(values: NDArray[np.generic]) -> Images:
    """Numbers as grey levels: by their known range, or else between the smallest and the largest."""
    numbers = np.asarray(values, dtype=float)
    known = np.isfinite(numbers).all(axis=tuple(range(1, numbers.ndim)))
    finite = numbers[known]
    low, top = 0.0, _top(finite) if len(finite) else 1.0
    if top is None:
        low, top = float(finite.min()), float(finite.max())
    span = top - low or 1.0
    pixels = np.zeros(numbers.shape, dtype=np.uint8)
    pixels[known] = np.clip(np.rint((finite - low) / span * 255.0), 0, 255).astype(np.uint8)
    return Images(pixels, known)


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    """A forced shape, without the one channel of a grey picture."""
    whole = isinstance(shape, Sequence) and all(isinstance(side, int) and 1 <= side <= _LARGEST for side in shape)
    if not whole or len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3)):
        raise wrong_parameter(
            "images", "report", f"(height, width) or (height, width, 1 or 3) of at most {_LARGEST} pixels", shape
        )
    return tuple(shape[:2]) if len(shape) == 2 or shape[2] == 1 else tuple(shape)


def _forced(table: Table, blocks: Sequence[NDArray[np.generic]], shape: Sequence[int]) -> NDArray[np.generic]:
    """The one block with the shape's pixels, or as many numeric columns."""
    size = math.prod(_checked(shape))
    fitting = [block for block in blocks if block.shape[1] == size]
    if len(fitting) == 1:
        return fitting[0]
    columns = [column for column in table.columns.values() if column.ndim == 1 and column.dtype.kind == "f"]
    if not fitting and len(columns) == size:
        return np.column_stack(columns)
    widths = ", ".join(str(block.shape[1]) for block in blocks) or "none"
    raise SettingsError(
        "views.no-block-of-that-shape", shape=str(tuple(shape)), pixels=size, fitting=len(fitting), widths=widths
    )
