"""Pictures of one owner's rows: where they lie, how their values spread, and which labels are doubted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.views.plots.display import Display
from fedbary.views.plots.look import BLUE, GREY, ORANGE, PURPLE, as_hover, as_text, empty_figure, finite
from fedbary.views.row_map import FLAGGED, NOT_FLAGGED, SUSPECT, TARGET, UNFLAGGED

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

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


def row_map(points: pd.DataFrame) -> Display:
    """A table ``row, x, y, kind, label`` as a map; `fedbary.views.row_map.row_points` makes one.

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

    found = rows["flag"].fillna(False) | rows["suspect"].fillna(False)
    doubted = found & rows["reason"].fillna("").str.contains("label") & rows["suggested_label"].notna()
    places = np.flatnonzero(doubted.to_numpy(dtype=bool))
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
    flagged, suspect = (table[name].fillna(False).to_numpy(dtype=bool) & known for name in ("flag", "suspect"))
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

    down, across = (_most_frequent(table, name) for name in ("given", "suggested"))
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


def _most_frequent(table: pd.DataFrame, column: str) -> list[str]:
    """The labels of an axis, in order; of very many, those with the most rows."""
    totals = table.groupby(column)["rows"].sum().nlargest(_MOST_LABELS, keep="first")
    return sorted(map(str, totals.index), key=_by_number)


def _by_number(label: str) -> tuple[int, float, str]:
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
