"""Pictures of rows: where they lie, how their values spread, which labels are doubted, and what a plan carries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbary.data.table import Table
from fedbary.errors import SettingsError
from fedbary.space.encode import features
from fedbary.space.labels import class_names
from fedbary.space.schema import Schema
from fedbary.views.display import BLUE, GREY, ORANGE, PURPLE, Display, as_hover, as_text, empty_figure, finite

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

Floats = NDArray[np.float64]

# The kinds of points beside the reasons of flags.
NOT_FLAGGED, UNFLAGGED, FLAGGED, SUSPECT, TARGET = "not flagged", "row", "flagged", "suspect", "target"
# The kinds of points on the map, in the order of drawing: (name in the legend, colour, symbol, size, opacity).
_KINDS: dict[str, tuple[str, str, str, int, float]] = {
    NOT_FLAGGED: ("not flagged", BLUE, "circle", 6, 0.45),
    UNFLAGGED: ("rows", BLUE, "circle", 6, 0.45),
    TARGET: ("target", GREY, "star-open", 9, 0.9),
    SUSPECT: ("suspect", ORANGE, "circle-open", 8, 0.95),
    FLAGGED: ("flagged", ORANGE, "diamond", 9, 0.95),
    "label": ("flagged: label", ORANGE, "diamond", 9, 0.95),
    "features": ("flagged: features", PURPLE, "x", 9, 0.95),
}
_MOST_LABELS = 30
# A browser draws so many points without delay.
MOST_ROWS, MOST_TARGET = 3000, 1000
# Of a larger table so many rows tell in which directions it spreads.
_MOST_WHOLE, _FOR_DIRECTIONS = 65_536, 10_000
_NEGLIGIBLE = 1e-12


def row_map(points: pd.DataFrame) -> Display:
    """A table ``row, x, y, kind, label`` as a map; `row_points` makes one.

    ``kind`` is the reason of a flag, "suspect", "not flagged", "row" where the run had no flags, or "target" for points
    of the sketch or barycenter.
    """
    return Display(
        "row-map",
        "The rows on the two directions in which they differ most, with flagged rows and the target's points.",
        points.reset_index(drop=True),
        _draw_map,
    )


def value_histogram(rows: pd.DataFrame) -> Display:
    """How the values of rows (a frame of ``result.rows``) spread: flagged, suspects and the rest."""
    table = rows[["row", "value", "flag", "suspect"]].copy()
    cut = "; all flagged rows lie at or below the dotted line" if table["flag"].fillna(False).any() else ""
    return Display(
        "row-values",
        f"How many rows have which value{cut}.",
        table,
        _draw_histogram,
    )


def label_pairs(given: Sequence[str], rows: pd.DataFrame, *, numbers: bool = False) -> Display | None:
    """For rows doubted for their label, the given label against the suggested one; None where there are none.

    Doubted are flagged rows and suspects.

    ``numbers`` says that the label is a quantity: each row is then a point, not a count of a pair of classes.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedbary as fb
    >>> rows = pd.DataFrame({"row": [0, 1], "flag": [True, False], "suspect": False, "reason": "label",
    ...                      "suggested_label": "dog"})
    >>> fb.plots.label_pairs(["cat", "cat"], rows).frame().values.tolist()
    [['cat', 'dog', 1]]
    """
    import pandas as pd

    flagged, suspect = doubts(rows)
    by_label = rows["reason"].fillna("").str.contains("label") & rows["suggested_label"].notna()
    places = np.flatnonzero((flagged | suspect) & by_label.to_numpy(dtype=bool))
    if not len(places):
        return None
    few = rows.iloc[places]
    own = [given[int(place)] for place in places]
    table = pd.DataFrame(
        {"row": few["row"].astype(str).to_numpy(), "given": own, "suggested": list(few["suggested_label"])}
    )
    if numbers:
        return Display(
            "label-pairs",
            "Rows doubted for their label: the number they have against the one that is suggested.",
            table.astype({"given": float, "suggested": float}).reset_index(drop=True),
            _draw_numbers,
        )
    counts = table.astype(str).value_counts(["given", "suggested"]).rename("rows").reset_index()
    return Display(
        "label-pairs",
        "Rows doubted for their label: the label they have against the one that is suggested.",
        counts.sort_values(["given", "suggested"]).reset_index(drop=True),
        _draw_pairs,
    )


def transport_plan(points: ArrayLike, target: ArrayLike, plan: ArrayLike) -> Display:
    """Two clouds of points in the plane and the mass that a plan carries between them.

    Examples
    --------
    >>> import numpy as np
    >>> import fedbary as fb
    >>> a, b = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> fb.plots.transport_plan(a, b, fb.solve(a, b).plan).frame()["mass"].tolist()
    [0.5, 0.5]
    """
    import pandas as pd

    a, b, mass = (np.asarray(values, dtype=float) for values in (points, target, plan))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != 2 or b.shape[1] != 2 or mass.shape != (len(a), len(b)):
        raise SettingsError(
            "views.plan-not-in-the-plane", points=str(a.shape), target=str(b.shape), plan=str(mass.shape)
        )
    start, end = np.nonzero(mass > _NEGLIGIBLE)
    table = pd.DataFrame(
        {
            "from_x": a[start, 0],
            "from_y": a[start, 1],
            "to_x": b[end, 0],
            "to_y": b[end, 1],
            "mass": mass[start, end],
        }
    )
    title = "Where a plan carries the mass of one cloud to another; thicker lines carry more."
    return Display("transport-plan", title, table, _draw_plan)


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
    if len(table) <= _MOST_WHOLE:
        own = features(table, schema)
        mine = own[chosen]
    else:
        some = np.random.default_rng(0).choice(len(table), _FOR_DIRECTIONS, replace=False)
        places, at = np.unique(np.concatenate([some, chosen]), return_inverse=True)
        both = features(table.replace(ids=None).take(places), schema)[at]
        own, mine = both[: len(some)], both[len(some) :]
    width = own.shape[1]
    others = np.empty((0, width)) if target is None else np.asarray(target, dtype=float)
    if others.ndim != 2 or others.shape[1] < width or not np.isfinite(others).all():  # of another space
        others = np.empty((0, width))
    if len(others) > MOST_TARGET:
        others = others[np.sort(np.random.default_rng(0).choice(len(others), MOST_TARGET, replace=False))]
    flat = _flattened(own, mine, np.asarray(others[:, :width]))
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


def doubts(rows: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows are flagged, and which are suspects; none where a run does not say."""
    flagged, suspect = (rows[name].fillna(False).to_numpy(dtype=bool) for name in ("flag", "suspect"))
    return flagged, suspect


def _drawn(rows: pd.DataFrame) -> NDArray[np.int64]:
    """Places of the rows to draw, in order."""
    flag = np.logical_or(*doubts(rows))
    worst = np.argsort(rows["value"].to_numpy(dtype=float, na_value=np.inf), kind="stable")
    flagged = worst[flag[worst]][:MOST_ROWS]
    rest = np.flatnonzero(~flag)
    room = MOST_ROWS - len(flagged)
    if len(rest) > room:
        rest = np.random.default_rng(0).choice(rest, room, replace=False)
    return np.sort(np.concatenate([flagged, rest])).astype(np.int64)


def _kinds(rows: pd.DataFrame) -> list[str]:
    unknown = rows["flag"].isna().to_numpy()
    flag, suspect = doubts(rows)
    reason = rows["reason"].fillna(FLAGGED).astype(str)
    return [
        why if flagged else SUSPECT if doubted else UNFLAGGED if silent else NOT_FLAGGED
        for silent, flagged, doubted, why in zip(unknown, flag, suspect, reason, strict=True)
    ]


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


def _draw_map(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    figure = empty_figure(x="first direction", y="second direction", height=520)
    for kind, (name, colour, symbol, size, opacity) in _KINDS.items():
        part = table[table["kind"] == kind]
        if part.empty:
            continue
        figure.add_trace(
            Scatter(
                name=name,
                mode="markers",
                x=part["x"].astype(float).round(4).tolist(),
                y=part["y"].astype(float).round(4).tolist(),
                marker={"color": colour, "symbol": symbol, "size": size, "opacity": opacity},
                # The third is not shown: a page knows by it which row was clicked.
                customdata=[
                    [as_hover(row, longest=80), as_hover(label, longest=80), "" if kind == TARGET else row]
                    for row, label in zip(part["row"], part["label"], strict=True)
                ],
                hovertemplate="a point of the target<extra></extra>"
                if kind == TARGET
                else "row %{customdata[0]}<br>label %{customdata[1]}<extra></extra>",
            )
        )
    figure.update_layout(showlegend=True)
    return figure


def _draw_histogram(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Bar

    values = table["value"].to_numpy(float, na_value=np.nan)
    known = np.isfinite(values)
    flagged, suspect = (doubted & known for doubted in doubts(table))
    figure = empty_figure(x="value of a row (left is worse)", y="rows", height=340)
    edges = _edges(values[known])
    centres = [float(a + b) / 2.0 for a, b in pairwise(edges)]
    ordinary = "rows" if table["flag"].isna().all() else "not flagged"
    kinds = ((ordinary, known & ~flagged & ~suspect, BLUE), ("suspect", suspect, PURPLE), ("flagged", flagged, ORANGE))
    for name, mine, colour in kinds:
        if mine.any() or name == ordinary:
            figure.add_trace(
                Bar(
                    name=name,
                    x=centres,
                    y=np.histogram(values[mine], bins=edges)[0].tolist(),
                    width=float(edges[1] - edges[0]),
                    marker={"color": colour},
                    hovertemplate="%{y} rows near %{x:.2f}<extra></extra>",
                )
            )
    if flagged.any():
        figure.add_vline(x=float(values[flagged].max()), line={"dash": "dot", "color": GREY})
    figure.update_layout(barmode="stack", bargap=0.02, showlegend=True)
    return figure


def _edges(values: np.ndarray) -> np.ndarray:
    """Ends of the bars; values that differ by rounding alone share one."""
    bins = int(np.clip(2.0 * np.sqrt(len(values)), 10, 60))
    try:
        return np.histogram_bin_edges(values, bins=bins)
    except ValueError:  # too close together for so many bars in floating point
        low, high = float(values.min()), float(values.max())
        pad = max(abs(low), abs(high), 1.0) * 1e-6
        return np.array([low - pad, high + pad])


def _draw_pairs(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Heatmap

    def by_number(label: str) -> tuple[int, float, str]:
        try:
            return 0, float(label), label
        except ValueError:
            return 1, 0.0, label

    # The labels of an axis, in order; of very many, those with the most rows.
    totals = [table.groupby(name)["rows"].sum().nlargest(_MOST_LABELS, keep="first") for name in ("given", "suggested")]
    down, across = (sorted(map(str, most.index), key=by_number) for most in totals)
    counts: Any = np.zeros((len(down), len(across)), dtype=int)
    for given, suggested, rows in table[["given", "suggested", "rows"]].itertuples(index=False):
        if given in down and suggested in across:
            counts[down.index(given), across.index(suggested)] += rows
    figure = empty_figure(x="suggested label", y="given label", height=max(320, 120 + 28 * len(down)))
    figure.add_trace(
        Heatmap(
            z=[[int(count) or None for count in line] for line in counts],
            colorscale=[[0.0, "#bcd9e8"], [1.0, "#1b5f80"]],
            text=[[str(count) if count else "" for count in line] for line in counts],
            texttemplate="%{text}",
            customdata=[[[as_hover(a, longest=80), as_hover(b, longest=80)] for b in across] for a in down],
            hovertemplate="given %{customdata[0]}, suggested %{customdata[1]}: %{z} rows<extra></extra>",
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    for update, names in ((figure.update_xaxes, across), (figure.update_yaxes, down)):
        update(tickvals=list(range(len(names))), ticktext=[as_text(name, 20) for name in names], showgrid=False)
    figure.update_yaxes(autorange="reversed")
    return figure


def _draw_numbers(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    figure = empty_figure(x="suggested", y="given", height=420)
    ends = [float(table[["given", "suggested"]].min().min()), float(table[["given", "suggested"]].max().max())]
    figure.add_trace(
        Scatter(x=ends, y=ends, mode="lines", line={"dash": "dot", "color": GREY}, hoverinfo="skip", showlegend=False)
    )
    figure.add_trace(
        Scatter(
            mode="markers",
            x=finite(table["suggested"]),
            y=finite(table["given"]),
            marker={"color": ORANGE, "symbol": "diamond", "size": 8, "opacity": 0.9},
            customdata=[[as_hover(row, longest=80), "", row] for row in table["row"]],
            hovertemplate="row %{customdata[0]}<br>given %{y:.4g}, suggested %{x:.4g}<extra></extra>",
            showlegend=False,
        )
    )
    return figure


def _draw_plan(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    figure = empty_figure(height=440)
    most = float(table["mass"].max()) if len(table) else 1.0
    for x0, y0, x1, y1, mass in table.to_numpy(dtype=float):
        line = {"color": GREY, "width": 0.5 + 2.5 * mass / most}
        figure.add_trace(Scatter(x=[x0, x1], y=[y0, y1], mode="lines", line=line, hoverinfo="skip", showlegend=False))
    for name, columns, colour, symbol in (
        ("the client's rows", ["from_x", "from_y"], BLUE, "circle"),
        ("the target", ["to_x", "to_y"], ORANGE, "diamond"),
    ):
        cloud = table[columns].drop_duplicates().to_numpy(dtype=float)
        figure.add_trace(
            Scatter(
                name=name,
                mode="markers",
                x=cloud[:, 0].tolist(),
                y=cloud[:, 1].tolist(),
                marker={"color": colour, "symbol": symbol, "size": 10},
                hovertemplate="%{x:.2f}, %{y:.2f}<extra></extra>",
            )
        )
    figure.update_layout(showlegend=True)
    return figure
