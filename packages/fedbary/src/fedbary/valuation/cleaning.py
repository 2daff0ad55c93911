"""Acting on what was found: a table without flagged rows, with the suggested labels, or moved to where others lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, SettingsError, wrong_parameter
from fedbary.valuation.rows import are_called

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.rows import RowFacts


def clean(
    table: Table, rows: pd.DataFrame, how: Literal["drop", "relabel"] = "drop", *, suspects: bool = False
) -> Table:
    """Act on the flags of a table's rows, and on its suspects if asked.

    Parameters
    ----------
    table : Table
        The rows that were valued.
    rows : DataFrame
        Their values, as `Valuation.rows` gives them.
    how : {"drop", "relabel"}
        ``drop`` leaves out every flagged row. ``relabel`` gives rows that are flagged for their label alone the
        suggested one, and leaves out those that are flagged for their features.
    suspects : bool
        Treat suspects as flagged rows: as many rows are then acted on as are estimated to be bad, and more of them
        are clean than among the flagged ones, since nothing is promised about suspects.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedbary as fb
    >>> table = fb.Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "b"])
    >>> rows = pd.DataFrame({"row": [0, 1, 2], "flag": [False, True, True], "suspect": [True, False, False],
    ...                      "reason": ["label", "label", "features"], "suggested_label": ["b", "a", "a"]})
    >>> fb.clean(table, rows).labels.tolist(), fb.clean(table, rows, how="relabel").labels.tolist()
    (['a'], ['a', 'a'])
    >>> fb.clean(table, rows, how="relabel", suspects=True).labels.tolist()
    ['b', 'a']
    """
    if not are_called(rows["row"], table):
        raise DataError("valuation.values-of-other-rows")
    acts = acts_on(rows, how, suspects=suspects)
    labels = table.labels.astype(object)
    labels[acts.relabelled] = _suggested(rows[acts.relabelled], table.labels)
    mended = table.replace(labels=np.array(labels.tolist()) if table.labels.dtype.kind != "O" else labels)
    return mended.take(acts.kept)


def clean_cells(
    cells: pd.DataFrame,
    label: str,
    rows: pd.DataFrame,
    how: Literal["drop", "relabel"] = "drop",
    *,
    suspects: bool = False,
) -> pd.DataFrame:
    """Act on the rows of a file as `clean` does on those of its table; every other cell stays as it is written."""
    acts = acts_on(rows, how, suspects=suspects)
    cleaned = cells.copy(deep=False)
    if acts.relabelled.any():
        labels = cells[label].astype(object)
        labels[acts.relabelled] = _suggested(rows[acts.relabelled], np.array(cells[label].tolist()))
        cleaned[label] = labels.infer_objects()
    return cleaned[acts.kept]


class Acts(NamedTuple):
    """What is done with each row: whether it is kept, and whether it gets the suggested label."""

    kept: NDArray[np.bool_]
    relabelled: NDArray[np.bool_]


def acts_on(rows: pd.DataFrame, how: Literal["drop", "relabel"], *, suspects: bool = False) -> Acts:
    """What `clean` does with each row, by its value."""
    if how not in ("drop", "relabel"):
        raise wrong_parameter("how", "clean", "'drop' or 'relabel'", how)
    # Without a reference there may be suspects although nothing is flagged.
    if suspects and rows["suspect"].isna().any():
        raise SettingsError("valuation.no-suspects")
    if not suspects and rows["flag"].isna().any():
        raise SettingsError("valuation.not-flagged")
    bad: NDArray[np.bool_] = rows["flag"].fillna(False).to_numpy(dtype=bool)
    if suspects:
        bad = bad | rows["suspect"].to_numpy(dtype=bool)
    if how == "drop":
        return Acts(~bad, np.zeros_like(bad))
    by_label = bad & (rows["reason"] == "label").fillna(False).to_numpy(dtype=bool)
    return Acts(~bad | by_label, by_label)


def _suggested(rows: pd.DataFrame, labels: NDArray[np.generic]) -> list[Any]:
    """The suggested labels, which are text, in the type that the column has."""
    kind, texts = labels.dtype, [str(text) for text in rows["suggested_label"]]
    return texts if kind.kind in "OUT" else [bool(int(text)) if kind.kind == "b" else kind.type(text) for text in texts]


def moved(table: Table, facts: RowFacts) -> Table:
    """The table with its numbers moved to where the others' lie, so that a site effect is gone before training.

    Parameters
    ----------
    table : Table
        The rows that were valued. Missing cells stay missing; labels and columns that are no numbers stay as they are.
    facts : RowFacts
        As `Valuation.row_facts` gives them; ``moving`` says by how much.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.valuation.rows import RowFacts
    >>> table = fb.Table({"fahrenheit": [98.6, float("nan")], "age": [31, 45]}, ["a", "b"])
    >>> fb.moved(table, RowFacts(moving={"fahrenheit": (-160 / 9, 5 / 9)})).columns["fahrenheit"].round(1).tolist()
    [37.0, nan]
    """
    return table.replace(columns={**table.columns, **_moved_columns(table, facts)})


def moved_cells(cells: pd.DataFrame, table: Table, facts: RowFacts) -> pd.DataFrame:
    """The cells of a file with the numbers of its table `moved`; every other cell stays as it is written."""
    return cells.assign(**_moved_columns(table, facts))


def _moved_columns(table: Table, facts: RowFacts) -> dict[str, NDArray[np.float64]]:
    columns: dict[str, NDArray[np.float64]] = {}
    for name, (offset, factor) in facts.moving.items():
        source = table.columns.get(name)
        if source is None or source.dtype.kind not in "fiu" or source.ndim != 1:
            raise DataError("valuation.values-of-other-rows")
        columns[name] = np.asarray(source, dtype=np.float64) * factor + offset
    return columns


def suggestions(rows: pd.DataFrame) -> pd.Series:
    """The suggested labels to show: those of rows whose label is doubted.

    Every row has a best other label, but where only the features are odd it is no advice.
    """
    return rows["suggested_label"].where(rows["reason"].fillna("label").str.contains("label"))


def suspicions(rows: pd.DataFrame) -> pd.Series:
    """What is suspicious about each row, in words: its label or its features, and the columns that caused that."""
    channel = rows["reason"].astype("string")
    return (channel + ": " + rows["columns"].astype("string")).fillna(channel).fillna("–")
