"""The cells of one column as they came, in few forms: numbers, booleans, moments, texts, or objects of other libraries.

`fedbary.data.guess` looks at them to decide a kind, `fedbary.data.read_columns` reads them by it. A cell reads alike
whatever form its column has: a number and its text, a moment and its text.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fedbary.data.arrow_texts import Mask, as_arrow, as_mask, matches
from fedbary.data.columns import ACCEPTED, Array
from fedbary.data.date_texts import Moments, moments_of, order_of
from fedbary.data.number_texts import NUMBER_MARKS, NumberTexts
from fedbary.errors import DataError
from fedbary.wording import shown_cell

if TYPE_CHECKING:
    import pandas as pd

Form = Literal["numbers", "booleans", "moments", "texts", "vectors", "images"]


@dataclass(frozen=True)
class TextCells:
    """Texts, each different one once: what is computed of texts is computed of ``levels`` and spread to the cells.

    Parameters
    ----------
    levels
        The different texts, without blanks around them.
    codes
        For each cell the place of its text; −1 where it is missing.
    declared
        ``category`` or ``ordered`` where the column's type says so.

    Examples
    --------
    >>> cells = TextCells(["a", "b"], np.array([0, 1, -1, 0]))
    >>> cells.spread(np.array([1.0, 2.0]), np.nan)
    array([ 1.,  2., nan,  1.])
    """

    levels: Sequence[str]
    codes: npt.NDArray[np.intp]
    declared: Literal["", "category", "ordered"] = ""
    _moments: dict[str, Moments] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def spread(self, values: Array, missing: object) -> Array:
        """The cells' values, of those of the levels."""
        last = np.empty(1, dtype=values.dtype)
        last[0] = missing
        return np.concatenate([values, last])[self.codes]  # the code −1 is the last

    @property
    def present(self) -> int:
        """How many cells are not missing."""
        return int((self.codes >= 0).sum())

    @cached_property
    def arrow(self) -> Any:
        """The levels as Arrow has them."""
        return as_arrow(self.levels)

    @cached_property
    def marks(self) -> Mask:
        """Which levels say in a column of numbers, dates or truths that a cell is missing."""
        return self.among(NUMBER_MARKS)

    def among(self, marks: frozenset[str]) -> Mask:
        """Which levels are some of these, in whatever letters."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return as_mask(pc.is_in(pc.utf8_lower(self.arrow), value_set=pa.array(sorted(marks), pa.large_string())))

    @cached_property
    def telling(self) -> Sequence[str]:
        """The levels that are no such marks."""
        if not self.marks.any():
            return self.levels
        return [level for level, mark in zip(self.levels, self.marks, strict=True) if not mark]

    @cached_property
    def number_texts(self) -> NumberTexts:
        """The same, taken apart as numbers."""
        return NumberTexts.of(self.arrow.filter(~self.marks) if self.marks.any() else self.arrow)

    @cached_property
    def date_order(self) -> str:
        """Whether the day or the month comes first in them, where they are dates."""
        return order_of(self.telling)

    def moments(self, order: str) -> Moments:
        """Their moments, computed once."""
        if order not in self._moments:
            self._moments[order] = moments_of(self.telling, order)
        return self._moments[order]

    def counts(self) -> npt.NDArray[np.intp]:
        """How many cells have each level."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))

    def row_of(self, level: int) -> int:
        """The first row with a level."""
        return int(np.argmax(self.codes == level))


ColumnCells = TextCells | Array


def form_of(cells: ColumnCells) -> Form:
    """Which of the forms cells have."""
    if isinstance(cells, TextCells):
        return "texts"
    if cells.dtype.kind == "O":
        return "vectors" if any(isinstance(cell, _VECTORS) for cell in cells) else "images"
    return {"b": "booleans", "M": "moments"}.get(cells.dtype.kind, "numbers")  # type: ignore[return-value]


def cells_of(name: str, series: pd.Series[Any]) -> ColumnCells:
    """The cells of a pandas column of any dtype."""
    import pandas as pd

    types, dtype = pd.api.types, series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        declared: Literal["ordered", "category"] = "ordered" if dtype.ordered else "category"
        levels = [written(level) for level in dtype.categories]
        return _stripped(levels, series.cat.codes.to_numpy().astype(np.intp), declared)
    if types.is_bool_dtype(dtype) and series.notna().all():
        return series.to_numpy(dtype=bool)
    if isinstance(dtype, pd.StringDtype) or types.is_bool_dtype(dtype):
        return _distinct(series if isinstance(dtype, pd.StringDtype) else series.astype("string"))
    if types.is_timedelta64_dtype(dtype) or (types.is_numeric_dtype(dtype) and dtype.kind != "c"):
        return _numbers(series)
    if types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return _moments(series)
    return _of_objects(name, series.astype(object))


_VECTORS = (list, tuple, np.ndarray)
# Objects that say the same as their text.
_SAID = (str, bool, np.bool_, numbers.Real, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)


def _of_objects(name: str, series: pd.Series[Any]) -> ColumnCells:
    """Look at the values themselves where the dtype says nothing about them."""
    import pandas as pd

    present = series.notna().to_numpy()
    objects = series.to_numpy(dtype=object)
    values = objects[present]
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred in {"string", "empty"}:
        return _distinct(series)
    if inferred == "boolean" and present.all():
        return objects.astype(bool)
    if inferred in {"integer", "floating", "mixed-integer-float", "decimal"}:
        found = np.full(len(objects), np.nan)
        found[present] = [_as_float(value) for value in values]
        return found
    if inferred in {"datetime", "datetime64", "date"}:
        return _moments(pd.Series(pd.to_datetime(series, utc=True, errors="coerce")))
    if any(isinstance(value, (*_VECTORS, bytes)) or is_image(value) for value in values[:1]):
        objects = objects.copy()
        objects[~present] = None
        return objects
    if (foreign := next((value for value in values if not isinstance(value, _SAID)), None)) is not None:
        raise DataError(
            "data.foreign-values", column=name, kind=inferred, example=shown_cell(foreign), expected=ACCEPTED
        )
    return _as_texts(objects)


def any_cells_of(series: pd.Series[Any], kind: str) -> ColumnCells:
    """Cells for a kind that is known, whatever single ones hold: what is no number, moment or text is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> any_cells_of(pd.Series([1, {}, "x"]), "category").codes
    array([ 0, -1,  1])
    """
    cells = plain_cells(series)
    if cells.dtype.kind == "m":
        return np.asarray(cells / np.timedelta64(1, "D"))
    if cells.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return cells.astype(np.float64)
    if cells.dtype.kind in "biuM":
        return cells
    if kind in ("vector", "image"):
        return np.fromiter((value if _may_be(value, kind) else None for value in cells), dtype=object)
    return _distinct(np.fromiter(map(any_text, cells), dtype=object))


def plain_cells(series: pd.Series[Any]) -> Array:
    """The cells of a column of any dtype: numbers, moments in UTC, lengths of time, or objects; no cell raises."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", "") == "pyarrow":
        from fedbary.data.arrow_cells import any_array

        return _of_our_time(any_array(series.array.__arrow_array__()))
    if isinstance(dtype, pd.CategoricalDtype):
        levels = plain_cells(pd.Series(dtype.categories)).tolist()
        return np.fromiter([*levels, None], dtype=object)[series.cat.codes]  # the code of a missing cell is −1
    if isinstance(dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    return _of_our_time(series.to_numpy() if series.dtype.kind in "mM" else _untimed(series))


def any_text(value: Any) -> str | None:
    """What a cell of any type says, as text that reads like it; None where it says nothing, or raises.

    Examples
    --------
    >>> any_text(1.0), any_text({}), any_text(decimal.Decimal("sNaN")), any_text(10**5000)
    ('1', None, None, None)
    """
    import pandas as pd

    try:
        if isinstance(value, pd.Period):
            value = value.to_timestamp()
        if isinstance(value, pd.Timestamp):
            value = value.to_pydatetime(warn=False)
        elif isinstance(value, pd.Timedelta):
            value = value.to_pytimedelta()
        elif isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        if not isinstance(value, _SAID) or value != value:  # noqa: PLR0124 - neither NaN nor NaT is itself
            return None
        return str.__str__(written(value))
    except Exception:  # an object may raise anything where it is looked at
        return None


def _may_be(value: Any, kind: str) -> bool:
    try:
        return isinstance(value, (*_VECTORS, bytes, dict)) or (kind == "image" and is_image(value))
    except Exception:
        return False


def _untimed(series: pd.Series[Any]) -> Array:
    numbers = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"
    return series.to_numpy() if numbers else series.to_numpy(dtype=object)


# Python's own years, and as many days: NumPy takes others for them where there is no room for microseconds.
_YEARS, _MOST_DAYS = (np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59")), 3_652_059


def _of_our_time(cells: Array) -> Array:
    """Moments and lengths of time in microseconds, missing where they are beyond Python's; others as they are."""
    if cells.dtype.kind not in "mM":
        return cells
    unit = np.datetime_data(cells.dtype)[0]
    if unit != "ns":  # which has room for some centuries alone
        moments = cells.dtype.kind == "M"
        edges = _YEARS if moments else (np.timedelta64(-_MOST_DAYS, "D"), np.timedelta64(_MOST_DAYS, "D"))
        low, high = (edge.astype(cells.dtype) for edge in edges)
        cells = np.where((cells < low) | (cells > high), np.array("NaT", cells.dtype), cells)
    return cells.astype(f"{cells.dtype.kind}8[us]")


def _as_texts(objects: Array) -> TextCells:
    import pandas as pd

    missing = pd.isna(objects)
    texts = [None if none else written(value) for value, none in zip(objects, missing, strict=True)]
    return _distinct(pd.Series(texts, dtype=object))


def is_image(value: object) -> bool:
    """Whether an object is an image as data sets hold it."""
    if isinstance(value, dict):
        return bool(value) and value.keys() <= {"bytes", "path"}
    return isinstance(value, bytes) or type(value).__module__.partition(".")[0] == "PIL"


def _distinct(series: pd.Series[Any] | Array) -> TextCells:
    import pandas as pd

    codes, levels = pd.factorize(series)
    return _stripped(np.asarray(levels, dtype=object).tolist(), codes)


# All that Python strips: with less, a text would be stripped where another one is, and else not.
_BLANK = r"[\s\pZ\x0b\x1c-\x1f\x{85}]"


def _stripped(levels: list[str], codes: npt.NDArray[np.intp], declared: Any = "") -> TextCells:
    """Levels without blanks around them; those that only differ by these become one, and empty ones missing."""
    cells = TextCells(levels, codes, declared)
    if not matches(cells.arrow, f"(?s:{_BLANK}.*|.*{_BLANK}|)").any():
        return cells
    stripped = [level.strip() for level in levels]
    places = {level: place for place, level in enumerate(dict.fromkeys(filter(None, stripped)))}
    new = np.array([*(places.get(level, -1) for level in stripped), -1], dtype=np.intp)
    return TextCells(list(places), new[codes], declared)


def _numbers(series: pd.Series[Any]) -> Array:
    """Whole numbers stay whole: as floats large ones would lose their last digits. Lengths of time are in days."""
    if series.dtype.kind == "m":
        return np.asarray(series.to_numpy(dtype="timedelta64[us]") / np.timedelta64(1, "D"))
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu":
        return series.to_numpy()
    if series.dtype.kind in "iu" and series.notna().all():
        return series.to_numpy(dtype=np.uint64 if series.dtype.kind == "u" else np.int64)
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _moments(series: pd.Series[Any]) -> Array:
    import pandas as pd

    if isinstance(series.dtype, pd.PeriodDtype):
        series = series.dt.to_timestamp()
    if isinstance(series.dtype, pd.ArrowDtype):
        series = series.astype("datetime64[us]" if series.dt.tz is None else "datetime64[us, UTC]")
    if series.dt.tz is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    return series.to_numpy(dtype="datetime64[us]")


def written(value: Any) -> str:
    """A value as text that reads like it."""
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
        return moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat(sep=" ")
    if isinstance(value, datetime.timedelta):
        value = value / datetime.timedelta(days=1)
    if isinstance(value, numbers.Real | decimal.Decimal) and not isinstance(value, numbers.Integral):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # Python's whole numbers have no end
        return float("inf")
