"""Points of experiments in the plane: a mark for each group, a panel for each step or data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.views.display import CYCLE, Display, as_text, bar_rows, finite
from fedbary_lab.plots.curves import MARKS
from fedbary_lab.plots.panels import groups, panel_figure, panel_values

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


def scatter(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    by: str,
    panel: str | None = None,
    name: str = "scatter",
    title: str = "",
    labels: dict[str, str] | None = None,
    logarithmic: bool = False,
) -> Display:
    """Column ``y`` against column ``x`` as points, a mark for each value of ``by``, a panel for each of ``panel``.

    ``y`` may hold names, which then stand one below the other in the order of the table. The scale of ``x`` may be
    ``logarithmic``.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedbary as fb
    >>> table = pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.0], "whose": ["north", "south"]})
    >>> len(scatter(table, x="x", y="y", by="whose").plot().data)
    2
    """
    said = labels or {}

    def draw(table: pd.DataFrame) -> Figure:
        from pandas.api.types import is_numeric_dtype
        from plotly.graph_objects import Scatter

        figure = panel_figure(panel_values(table, panel), x=said.get(x, x), y=said.get(y, y))
        names = [] if is_numeric_dtype(table[y]) else list(dict.fromkeys(table[y]))
        if names:
            figure.update_yaxes(tickvals=list(range(len(names))), ticktext=[as_text(name) for name in names])
            figure.update_yaxes(autorange="reversed")
            figure.update_layout(height=bar_rows(len(names)) + 60)
        if logarithmic:
            figure.update_xaxes(type="log")
        for group in groups(table, by, panel):
            # With more groups than colours, no two have both colour and mark in common.
            mark = {
                "symbol": MARKS[(group.place + group.place // len(CYCLE)) % len(MARKS)],
                "size": 7,
                "color": CYCLE[group.place % len(CYCLE)],
            }
            figure.add_trace(
                Scatter(
                    name=group.name,
                    legendgroup=group.name,
                    showlegend=group.first,
                    mode="markers",
                    x=finite(group.rows[x]),
                    y=[names.index(name) for name in group.rows[y]] if names else finite(group.rows[y]),
                    marker=mark | {"opacity": 0.75},
                    hovertemplate="%{x:.4g}, %{y:.4g}<extra>%{fullData.name}</extra>",
                ),
                1,
                group.column,
            )
        return figure

    return Display(name, title or f"{said.get(y, y)} against {said.get(x, x)}, by {by}.", table, draw)
