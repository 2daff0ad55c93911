"""How the columns of a DataFrame, whatever their dtype, become columns of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fedbary.checks import did_you_mean
from fedbary.columns import Dropped
from fedbary.columns.arrays import ACCEPTED, Array, as_labels
from fedbary.columns.column import ColumnCells, TextCells
from fedbary.columns.number_texts import NumberTexts, numbers_of
from fedbary.data.cells import cells_of
from fedbary.data.options import ReadOptions
from fedbary.data.reading import Reading, decide, left_out, read_columns, told_reading
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.wording import shown_cell

if TYPE_CHECKING:
    import pandas as pd

WITHOUT_LABEL = "data.rows-without-label"


def features_of(
    frame: pd.DataFrame, options: ReadOptions, agreed: Reading | None = None, others: Sequence[str] = ()
) -> tuple[dict[str, Array], Reading, tuple[Note, ...]]:
    """Turn the columns of a DataFrame into columns of a table: also how each was read, and notes on what was guessed.

    ``others`` are the columns that came beside them, the label and the id, which options may name, too; and so may they
    name what was agreed upon.
    """
    names = [str(name) for name in frame.columns]
    require_unique(names)
    told = told_reading(names, options, (*others, *(agreed or ())))
    cells: dict[str, ColumnCells] = {}
    foreign: list[DataError] = []
    for place, name in enumerate(names):
        try:
            if name not in told or not told[name].left_out:
                cells[name] = cells_of(name, frame.iloc[:, place])
        except DataError as error:
            foreign.append(error)
    if foreign and not cells:
        raise foreign[0]
    reading, guessed = decide(cells, options, told, agreed)
    beside = {name: column for name, column in reading.items() if name not in cells}
    beside |= {str(error.note.facts["column"]): Dropped() for error in foreign}
    used = Reading({name: column for name, column in reading.items() if name in cells})
    columns, stated, encoded = read_columns(cells, used, encoder=options.encoder)
    require_unique(stated.columns())
    return columns, Reading({**stated, **beside}), (*guessed, *map(left_out, foreign), *encoded)


def labelled(name: str, labels: pd.Series[Any]) -> tuple[pd.Series[Any], npt.NDArray[np.intp] | None, tuple[Note, ...]]:
    """The labels that are there, at which positions, None where all are, and a note that other rows are left out."""
    import pandas as pd

    empty = labels.isna().to_numpy(dtype=bool)
    if labels.dtype.kind not in "biufM":
        empty = empty | np.array([isinstance(cell, str) and not cell.strip() for cell in labels], dtype=bool)
    missing = int(empty.sum())
    if not missing:
        return labels, None, ()
    if missing == len(labels):
        raise DataError("data.labels-missing", name=name, missing=missing, rows=missing)
    there = labels[~empty].infer_objects()
    if there.dtype.kind == "f" and not (there % 1).any():  # whole numbers became floats for want of a missing one
        there = there.astype(np.int64)
    note = Note(WITHOUT_LABEL, {"label": name, "count": missing, "rows": len(labels)})
    return pd.Series(there), np.flatnonzero(~empty), (note,)


def labels_from_series(name: str, series: pd.Series[Any], decimal: str = "") -> Array:
    """Turn a pandas column into labels: whole numbers stay integers, classes lose blanks around them."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype if series.notna().all() else object)
    series = series.infer_objects()
    if series.isna().any():
        return as_labels(name, series.to_numpy(dtype=object))
    if pd.api.types.is_integer_dtype(series.dtype):
        beyond = int(series.max()) > np.iinfo(np.int64).max if len(series) else False  # these would become negative
        return np.asarray(series.to_numpy(dtype=np.uint64 if beyond else np.int64))
    cells = cells_of(name, series)
    if isinstance(cells, TextCells):
        return as_labels(name, _label_texts(name, series, cells, decimal))
    if cells.dtype.kind not in "biuf":
        kind = "datetime" if cells.dtype.kind == "M" else "mixed"
        raise DataError(
            "data.foreign-values", column=name, kind=kind, example=shown_cell(series.iloc[0]), expected=ACCEPTED
        )
    return as_labels(name, cells)


def label_names(levels: Sequence[str], decimal: str) -> list[str]:
    """Classes as they are called, and numbers with a decimal comma as Python writes them; each by itself."""
    numbers = numbers_of(levels, decimal)
    return [
        repr(float(number)) if "," in level and not np.isnan(number) else level
        for level, number in zip(levels, numbers, strict=True)
    ]


def _label_texts(name: str, series: pd.Series[Any], cells: TextCells, decimal: str) -> Array:
    """Classes; or numbers where some have a decimal comma and all are numbers."""
    if any("," in level for level in cells.levels):
        names = label_names(cells.levels, decimal)
        if not np.isnan(numbers_of(cells.levels, decimal or ",")).any():
            if "," in "".join(names):
                raise DataError("data.decimal-unclear", column=name, example=next(one for one in names if "," in one))
            return cells.spread(numbers_of(names, "."), np.nan)
        return cells.spread(texts(names), None)
    _refuse_mixed(name, series, cells)
    return cells.spread(texts(list(cells.levels)), None)


def labels_as_series(name: str, values: Any) -> pd.Series[Any]:
    """A Series, array or list of labels as a Series, each label in a row of its own."""
    import pandas as pd

    if not isinstance(values, pd.Series | list | tuple):
        values = np.asarray(values)
        if values.ndim != 1:
            values = as_labels(name, values)
    return pd.Series(values)


def require_unique(names: Sequence[str]) -> None:
    """Raise a DataError where two columns have the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError("data.column-twice", column=str(twice[0]))


def require_column(names: Sequence[str], wanted: str, *, role: str) -> None:
    """Raise a DataError, with the closest name, where a column is not there."""
    if wanted in names:
        return
    raise DataError(
        "data.no-such-column",
        role=role,
        wanted=wanted,
        guess=did_you_mean(wanted, names),
        columns=len(names),
        names=tuple(map(str, names)),
    )


def with_index(frame: pd.DataFrame, *wanted: str | None) -> pd.DataFrame:
    """A frame with its index as columns, where one of these is there and no column is called so."""
    missed = [name for name in wanted if name is not None and name not in frame.columns and name in frame.index.names]
    return frame.reset_index() if missed else frame


def check_roles(names: Sequence[str], label: str, id: str | None, person: str | None) -> list[str]:  # noqa: A002
    """Raise a DataError unless the columns of these roles are there, and neither id nor person is the label.

    Returns the columns that are no features.
    """
    require_column(names, label, role="label")
    for role, wanted in (("id", id), ("person", person)):
        if wanted is not None:
            require_column(names, wanted, role=role)
            if wanted == label:
                raise DataError("data.label-is-id", column=wanted, role=role)
    return list(dict.fromkeys(name for name in (label, id, person) if name is not None))


def texts(values: Sequence[str | None]) -> Array:
    """A column of texts, None where one is missing."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _refuse_mixed(name: str, series: pd.Series[Any], cells: TextCells) -> None:
    """Texts of which most are numbers, or texts and numbers: some of them are wrong."""
    import pandas as pd

    numeric = NumberTexts.of(cells.arrow).points
    share = cells.counts()[numeric].sum() / max(cells.present, 1)
    inferred = "string" if isinstance(series.dtype, pd.StringDtype) else pd.api.types.infer_dtype(series, skipna=True)
    only_texts = inferred in ("string", "empty")
    if only_texts and not 0.5 < share < 1:
        return
    values = series.to_numpy(dtype=object)
    odd = cells.spread(~numeric, False) if not numeric.all() else np.array([isinstance(cell, str) for cell in values])
    row = int(odd.argmax())
    raise DataError("data.mixed-column", column=name, example=shown_cell(values[row]), row=row, kinds="numbers")
