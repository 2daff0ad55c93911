"""Pictures of comparisons."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.comparison.measures import rank_correlations

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fedbary.comparison.clients import Comparison
    from fedbary.comparison.rows import RowComparison


def share_figure(comparison: Comparison, truth: str | None) -> Figure:
    """Bars of shares: one group for each client, one colour for each method, the truth in black."""
    from plotly.graph_objects import Bar

    order = sorted(comparison.scores, key=lambda name: name != truth)
    figure = _figure("share of the total value")
    for name in order:
        scores = comparison.scores[name]
        figure.add_trace(
            Bar(
                name=f"{name} (truth)" if name == truth else name,
                x=[_text(client) for client in scores.clients],
                y=scores.shares,
                marker_color="#222" if name == truth else None,
                customdata=np.column_stack([scores.values, scores.standard_errors]),
                hovertemplate="%{x}: %{y:.1%}<br>value %{customdata[0]:.4g} ± %{customdata[1]:.2g}",
            )
        )
    figure.update_layout(barmode="group")
    figure.update_yaxes(tickformat=".0%")
    return figure


def auroc_figure(comparison: RowComparison) -> Figure:
    """Bars of each method's AUROC for wrong rows, best first; half is chance."""
    from plotly.graph_objects import Bar

    summary = comparison.summary().sort_values("auroc", ascending=False)
    figure = _figure("AUROC of wrong rows")
    figure.add_trace(Bar(x=summary["method"], y=summary["auroc"], hovertemplate="%{x}: %{y:.3f}<extra></extra>"))
    figure.add_hline(y=0.5, line_dash="dot", annotation_text="chance")
    figure.update_yaxes(range=[0, 1])
    return figure


def likeness_figure(comparison: RowComparison) -> Figure:
    """Mean rank correlation of the row values of every two methods."""
    from plotly.graph_objects import Heatmap

    names = list(comparison.values)
    matrix = [[_likeness(comparison, a, b) for b in names] for a in names]
    figure = _figure("")
    figure.add_trace(
        Heatmap(
            x=names,
            y=names,
            z=matrix,
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            text=[[f"{number:.2f}" for number in line] for line in matrix],
            texttemplate="%{text}",
            hovertemplate="%{y} and %{x}: %{z:.2f}<extra></extra>",
            colorbar={"title": "Spearman"},
        )
    )
    return figure


def _likeness(comparison: RowComparison, first: str, second: str) -> float:
    a, b = comparison.values[first], comparison.values[second]
    found = [
        rank_correlations(a[name]["value"].to_numpy(float), b[name]["value"].to_numpy(float))["spearman"]
        for name in a
        if name in b
    ]
    known = [number for number in found if np.isfinite(number)]
    return float(np.mean(known)) if known else float("nan")


def _figure(title: str) -> Figure:
    from plotly.graph_objects import Figure as Empty

    figure: Any = Empty()
    figure.update_layout(template="plotly_white", margin={"t": 30, "r": 10}, legend_title_text="")
    figure.update_yaxes(title_text=title)
    return figure


def _text(name: str) -> str:
    """A client's name as text: Plotly would read some tags in it."""
    return html.escape(name)
