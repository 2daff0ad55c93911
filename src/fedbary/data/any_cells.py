"""`read_any_cells`: a table of whatever cells a file holds, for answers that must not depend on whether one row fits.

`fedbary.data.files.read` refuses a file for a single cell: a missing label, an id that stands twice, text among
numbers, an infinite number. Whoever is told of the refusal has learnt about that row. Here a column with such a cell
holds texts, and every other cell means what it would mean without it: `fedbary.space.row_points` reads a number and its
text alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedbary.data.columns import Array, naming
from fedbary.data.formats import opened
from fedbary.data.frames import column_from_series, labels_from_series, require_column, require_unique, texts
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath, file_name
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

# A text that no class has; in a schema it is one of the others.
_NO_LABEL = "(missing)"


def read_any_cells(
    path: AnyPath,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - as in `read`
    options: ReadOptions | None = None,
    reading: Reading | None = None,
) -> Table:
    r"""Read a table, whatever its cells hold; refuses only what is wrong with the file or its columns. No ids are kept.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "ward.csv"
    >>> _ = path.write_text("id,age,label\n1,31,yes\n1,53y,\n2,inf,no\n")
    >>> table = read_any_cells(path, "label", id="id")
    >>> table.columns["age"].tolist(), table.labels.tolist()
    (['31', '53y', 'inf'], ['yes', '(missing)', 'no'])
    """
    origin = file_name(path)
    with opened(path, options or ReadOptions(), reading=reading) as cells, naming(origin):
        names = [str(name) for name in cells.frame.columns]
        require_unique(names)
        frame = cells.frame.set_axis(names, axis=1)
        require_column(names, label, role="label")
        if len(frame) == 0:
            raise DataError("data.header-only", columns=len(names))
        features = {name: _column(name, frame[name]) for name in names if name not in (label, id)}
        labels = _labels(label, frame[label])
    return Table(features, labels, label_name=label, origin=origin)


def _column(name: str, series: pd.Series[Any]) -> Array:
    try:
        return column_from_series(name, series)
    except DataError:
        return texts(_written(series, None))


def _labels(name: str, series: pd.Series[Any]) -> Array:
    try:
        return labels_from_series(name, series)
    except DataError:
        return texts(_written(series, _NO_LABEL))


def _written(series: pd.Series[Any], missing: str | None) -> list[str | None]:
    present = series.notna().to_numpy()
    return [str(value) if there else missing for value, there in zip(series, present, strict=True)]
