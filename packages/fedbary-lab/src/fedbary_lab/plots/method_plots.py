"""Pictures of comparisons: what several methods say of the same clients or rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedbary.views.display import CYCLE, GREY, Display, as_hover, as_text, empty_figure, finite

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_TRUTH = "#5b6672"


def method_shares(table: pd.DataFrame, truth: str | None = None) -> Display:
    """Shares by method and client from a table ``method, client, value, standard_error, share``; the truth first."""

    def draw(table: pd.DataFrame) -> Figure:
        from plotly.graph_objects import Bar

        figure = empty_figure(y="share of the total value", height=440)
        clients = list(dict.fromkeys(table["client"]))
        methods = sorted(dict.fromkeys(table["method"]), key=lambda name: name != truth)
        for place, method in enumerate(methods):
            part = table[table["method"] == method].set_index("client").reindex(clients)
            errors = part["standard_error"].to_numpy(float)
            figure.add_trace(
                Bar(
                    name=f"{method} (truth)" if method == truth else method,
                    x=list(range(len(clients))),
                    y=finite(part["share"]),
                    marker={"color": _TRUTH if method == truth else CYCLE[place % len(CYCLE)]},
                    customdata=[
                        [as_hover(client), f"{value:.4g}", f" ± {error:.2g}" if np.isfinite(error) else ""]
                        for client, value, error in zip(clients, part["value"], errors, strict=True)
                    ],
                    hovertemplate="%{customdata[0]}: %{y:.1%}<br>value %{customdata[1]}%{customdata[2]}"
                    f"<extra>{as_text(method)}</extra>",
                )
            )
        figure.update_layout(barmode="group", showlegend=True)
        figure.update_yaxes(tickformat=".0%")
        figure.update_xaxes(
            tickvals=list(range(len(clients))), ticktext=[as_text(client, 20) for client in clients], showgrid=False
        )
        return figure

    return Display("method-shares", "Each client's share of the total value, by every method.", table, draw)


def method_aurocs(table: pd.DataFrame) -> Display:
    """How well each method finds wrong rows, from a table ``method, auroc``; half is chance."""
    ordered = table[["method", "auroc"]].sort_values("auroc", ascending=False, kind="stable").reset_index(drop=True)
    return Display("method-aurocs", "AUROC for wrong rows, by method; half is chance.", ordered, _draw_aurocs)


def method_likeness(table: pd.DataFrame) -> Display:
    """Mean rank correlation of every two methods, from a table ``method, other, spearman``."""
    return Display("method-likeness", "Rank correlation of the row values of every two methods.", table, _draw_likeness)


def _draw_aurocs(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Bar

    figure = empty_figure(y="AUROC of wrong rows", height=420)
    figure.add_trace(
        Bar(
            x=list(range(len(table))),
            y=finite(table["auroc"]),
            customdata=[[as_hover(name)] for name in table["method"]],
            hovertemplate="%{customdata[0]}: %{y:.3f}<extra></extra>",
        )
    )
    figure.add_hline(y=0.5, line={"dash": "dot", "color": GREY}, annotation_text="chance")
    figure.update_yaxes(range=[0, 1])
    figure.update_xaxes(tickvals=list(range(len(table))), ticktext=[as_text(name) for name in table["method"]])
    return figure


def _draw_likeness(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Heatmap

    names = list(dict.fromkeys(table["method"]))
    matrix = table.pivot(index="method", columns="other", values="spearman").reindex(index=names, columns=names)
    figure = empty_figure(height=max(360, 120 + 34 * len(names)))
    figure.add_trace(
        Heatmap(
            z=[finite(line) for line in matrix.to_numpy(float)],
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            text=[[f"{number:.2f}" for number in line] for line in matrix.to_numpy(float)],
            texttemplate="%{text}",
            hovertemplate="%{y} and %{x}: %{z:.2f}<extra></extra>",
            colorbar={"title": "Spearman"},
        )
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(tickvals=list(range(len(names))), ticktext=[as_text(name) for name in names], showgrid=False)
    return figure
