"""An owner's rows as a report shows them: by place on a map, and with their labels in the words of the suggestions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.objects import as_table
from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.space.encode import features
from fedbary.space.labels import class_names
from fedbary.space.row_identity import order_digest
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowFacts, are_called

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

# The kinds of points beside the reasons of flags.
NOT_FLAGGED, UNFLAGGED, FLAGGED, SUSPECT, TARGET = "not flagged", "row", "flagged", "suspect", "target"
# A browser draws so many points without delay.
MOST_ROWS, MOST_TARGET = 3000, 1000
# Of a larger table so many rows tell in which directions it spreads.
_MOST_WHOLE, _FOR_DIRECTIONS = 65_536, 10_000


def row_points(schema: Schema, table: Table, rows: pd.DataFrame, target: Any = None) -> pd.DataFrame:
    """Rows and target on the two directions in which they differ most (PCA of both, centred on the rows).

    Of very many rows all flagged ones and suspects are kept, worst first, and others by a seeded draw; the directions
    of more than 65,536 are those of a seeded draw among them.

    Parameters
    ----------
    schema : Schema
        The space in which the rows were compared.
    table : Table
        The rows that were valued.
    rows : DataFrame
        Their values, as `Valuation.rows` gives them.
    target : array, optional
        Points of the sketch or the barycenter (`Valuation.target`); their features are shown.

    Returns
    -------
    DataFrame
        ``row, x, y, kind, label``; ``kind`` is the reason of a flag, "suspect", "not flagged", "row" where the run had
        no flags, "flagged" where a flag has no reason, or "target".
    """
    import pandas as pd

    chosen = _drawn(rows)
    own, mine = _features_of(table, schema, chosen)
    others = _target_features(target, own.shape[1])
    flat = _flattened(own, mine, others)
    mine, theirs = flat[: len(chosen)], flat[len(chosen) :]
    names, labels = table.row_names, given_labels(table, schema)
    points = pd.DataFrame(
        {
            "row": [str(names[row]) for row in chosen],
            "x": mine[:, 0],
            "y": mine[:, 1],
            "kind": _kinds(rows.iloc[chosen]),
            "label": [labels[row] for row in chosen],
        }
    )
    around = pd.DataFrame({"row": "", "x": theirs[:, 0], "y": theirs[:, 1], "kind": TARGET, "label": ""})
    return pd.concat([points, around], ignore_index=True)


def _features_of(table: Table, schema: Schema, chosen: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The features by which directions are found, and those of the rows that are drawn."""
    if len(table) <= _MOST_WHOLE:
        own = features(table, schema)
        return own, own[chosen]
    some = np.random.default_rng(0).choice(len(table), _FOR_DIRECTIONS, replace=False)
    places, at = np.unique(np.concatenate([some, chosen]), return_inverse=True)
    own = features(table.replace(ids=None).take(places), schema)[at]
    return own[: len(some)], own[len(some) :]


def given_labels(table: Table, schema: Schema | None) -> list[str]:
    """The table's labels as text: classes as suggestions name them, numbers as they are.

    Examples
    --------
    >>> import fedbary as fb
    >>> given_labels(fb.Table.from_arrays([[0.0], [1.0]], [3.0, 4.0]), None)
    ['3', '4']
    """
    if numeric_label(table, schema):
        return [repr(float(label)) for label in table.labels]
    return [str(name) for name in class_names(table.labels)]


def numeric_label(table: Table, schema: Schema | None) -> bool:
    """Whether the label is a quantity; the schema of the run decides, where there is one."""
    return not table.has_classes if schema is None else schema.label.kind == "number"


def table_of_rows(data: Any, rows: pd.DataFrame, facts: RowFacts, *, client: str, label: str | None = None) -> Table:
    """The client's table in any of its forms, refused unless it holds the valued rows in their order."""
    table = as_table(data, name=client, likely=label)
    if not are_called(rows["row"], table):
        raise DataError("views.other-rows", rows=len(table), valued=len(rows), client=client)
    if facts.table not in ("", order_digest(table)):
        raise DataError("views.rows-changed", client=client)
    return table


def _drawn(rows: pd.DataFrame) -> NDArray[np.int64]:
    """Places of the rows to draw, in order."""
    flag = (rows["flag"].fillna(False) | rows["suspect"].fillna(False)).to_numpy(dtype=bool)
    worst = np.argsort(rows["value"].to_numpy(dtype=float, na_value=np.inf), kind="stable")
    flagged = worst[flag[worst]][:MOST_ROWS]
    rest = np.flatnonzero(~flag)
    room = MOST_ROWS - len(flagged)
    if len(rest) > room:
        rest = np.random.default_rng(0).choice(rest, room, replace=False)
    return np.sort(np.concatenate([flagged, rest])).astype(np.int64)


def _kinds(rows: pd.DataFrame) -> list[str]:
    unknown = rows["flag"].isna().to_numpy()
    flag, suspect = (rows[name].fillna(False).to_numpy(dtype=bool) for name in ("flag", "suspect"))
    reason = rows["reason"].fillna(FLAGGED).astype(str)
    return [
        why if flagged else SUSPECT if doubted else UNFLAGGED if silent else NOT_FLAGGED
        for silent, flagged, doubted, why in zip(unknown, flag, suspect, reason, strict=True)
    ]


def _target_features(target: Any, width: int) -> Floats:
    """The features of at most a thousand of the target's points; none where it is of another space."""
    points = np.empty((0, width)) if target is None else np.asarray(target, dtype=float)
    if points.ndim != 2 or points.shape[1] < width or not np.isfinite(points).all():
        return np.empty((0, width))
    if len(points) > MOST_TARGET:
        points = points[np.sort(np.random.default_rng(0).choice(len(points), MOST_TARGET, replace=False))]
    return np.asarray(points[:, :width])


def _flattened(own: Floats, drawn: Floats, others: Floats) -> Floats:
    """The last two on the first two principal directions of own rows and others, each positive at its largest entry."""
    from scipy.linalg import eigh

    centre = own.mean(axis=0)
    centred = np.vstack([own, others]) - centre
    size = float(np.abs(centred).max(initial=0.0)) or 1.0
    scaled = centred / size  # so that no outlier overflows the squares
    width = scaled.shape[1]
    found = eigh(scaled.T @ scaled, subset_by_index=[max(width - 2, 0), width - 1])[1][:, ::-1]
    found = found * np.where(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])] < 0, -1.0, 1.0)
    flat = (np.vstack([drawn, others]) - centre) @ found
    return flat if width > 1 else np.column_stack([flat, np.zeros(len(flat))])
