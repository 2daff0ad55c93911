"""The picture of an audit: what each attack reached, how sure that is, and what was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedbary.auditing.finding import EPSILON
from fedbary.views.plots.display import Display
from fedbary.views.plots.look import BLUE, GREY, RED, as_text, bar_rows, empty_figure, finite

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_STATES = ((True, "promise holds", BLUE), (False, "promise broken", RED), (None, "nothing claimed", GREY))


def audit_picture(table: pd.DataFrame) -> Display:
    """Bars of an audit's table, with intervals and limits; the empirical ε has an axis of its own."""
    return Display("audit", "What each attack reached, with 95 % intervals; marks are promised limits.", table, _draw)


def _draw(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Bar, Scatter

    figure = empty_figure(x="share of rows, or of right answers", height=bar_rows(len(table)) + 60)
    places = np.arange(len(table))
    private = (table["kind"] == EPSILON).to_numpy()
    for state, name, colour in _STATES:
        for axis, chosen in (("x", ~private), ("x2", private)):
            rows = chosen & np.array([holds is state for holds in table["holds"]])
            if not rows.any():
                continue
            part = table[rows]
            high = np.where(np.isfinite(part["high"].astype(float)), part["high"].astype(float), part["value"])
            figure.add_trace(
                Bar(
                    name=name,
                    legendgroup=name,
                    showlegend=axis == "x",
                    orientation="h",
                    x=finite(part["value"]),
                    y=places[rows],
                    xaxis=axis,
                    marker={"color": colour},
                    error_x={
                        "type": "data",
                        "symmetric": False,
                        "array": list(np.maximum(high - part["value"], 0.0)),
                        "arrayminus": list(np.maximum(part["value"] - part["low"], 0.0)),
                    },
                    hovertemplate="%{x:.3f}<extra></extra>",
                )
            )
    for axis, chosen in (("x", ~private), ("x2", private)):
        limits = table[chosen & table["limit"].notna().to_numpy()]
        figure.add_trace(
            Scatter(
                name="promised limit",
                showlegend=axis == "x",
                mode="markers",
                x=finite(limits["limit"]),
                y=list(limits.index),
                xaxis=axis,
                marker={"symbol": "line-ns", "size": 18, "line": {"width": 3, "color": "#1b2430"}},
                hovertemplate="promised: %{x:.3f}<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="overlay",
        showlegend=True,
        xaxis={"domain": [0.0, 0.74], "range": [0, 1.02], "tickformat": ".0%"},
        xaxis2={"domain": [0.8, 1.0], "rangemode": "tozero", "title": {"text": "ε"}, "anchor": "y"},
    )
    figure.update_yaxes(
        tickvals=list(places), ticktext=[as_text(name, 44) for name in table["attack"]], autorange="reversed"
    )
    return figure
