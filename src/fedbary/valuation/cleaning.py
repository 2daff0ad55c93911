"""Acting on flags: a table without its flagged rows, or with the suggested labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, SettingsError, wrong_parameter

if TYPE_CHECKING:
    import pandas as pd


def clean(table: Table, rows: pd.DataFrame, how: Literal["drop", "relabel"] = "drop") -> Table:
    """Act on the flags of a table's rows.

    Parameters
    ----------
    table : Table
        The rows that were valued.
    rows : DataFrame
        Their values, as `Valuation.rows` gives them.
    how : {"drop", "relabel"}
        ``drop`` leaves out every flagged row. ``relabel`` gives rows that are flagged for their label alone the
        suggested one, and leaves out those that are flagged for their features.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedbary as fb
    >>> table = fb.Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "b"])
    >>> rows = pd.DataFrame({"row": [0, 1, 2], "flag": [False, True, True], "reason": ["label", "label", "features"],
    ...                      "suggested_label": ["b", "a", "a"]})
    >>> fb.clean(table, rows).labels.tolist(), fb.clean(table, rows, how="relabel").labels.tolist()
    (['a'], ['a', 'a'])
    """
    if how not in ("drop", "relabel"):
        raise wrong_parameter("how", "clean", "'drop' or 'relabel'", how)
    if [str(name) for name in table.row_names] != [str(name) for name in rows["row"]]:
        raise DataError("valuation.values-of-other-rows")
    if rows["flag"].isna().any():
        raise SettingsError("valuation.not-flagged")
    flag = rows["flag"].to_numpy(dtype=bool)
    if how == "drop":
        return table.take(~flag)
    by_label = flag & (rows["reason"] == "label").fillna(False).to_numpy(dtype=bool)
    labels = table.labels.astype(object)
    labels[by_label] = [_like(table.labels, str(text)) for text in rows["suggested_label"][by_label]]
    mended = table.replace(labels=np.array(labels.tolist()) if table.labels.dtype.kind != "O" else labels)
    return mended.take(~flag | by_label)


def _like(labels: NDArray[np.generic], text: str) -> Any:
    """A suggested label, which is text, in the type that the column has."""
    kind = labels.dtype
    return text if kind.kind == "O" else bool(int(text)) if kind.kind == "b" else kind.type(text)


def suggestions(rows: pd.DataFrame) -> pd.Series:
    """The suggested labels to show: those of rows whose label is doubted.

    Every row has a best other label, but where only the features are odd it is no advice.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"reason": ["label", "features"], "suggested_label": ["b", "a"]})
    >>> suggestions(rows).fillna("–").tolist()
    ['b', '–']
    """
    return rows["suggested_label"].where(rows["reason"].fillna("label").str.contains("label"))
