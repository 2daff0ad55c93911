"""Bars of experiments: a number of each client or method, a colour for each group, a panel for each data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.views.display import CYCLE, Display, as_text, finite
from fedbary_lab.plots.panels import groups, panel_figure, panel_values

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


def bars(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    by: str,
    panel: str | None = None,
    name: str = "bars",
    title: str = "",
    labels: dict[str, str] | None = None,
) -> Display:
    """Column ``y`` as bars, side by side for each value of ``x``, a colour for each value of ``by``.

    ``panel`` names a column whose values have a panel each.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedbary as fb
    >>> table = pd.DataFrame({"client": ["a", "b"], "distance": [1.0, 2.0], "noise": ["none", "none"]})
    >>> len(bars(table, x="client", y="distance", by="noise").plot().data)
    1
    """
    said = labels or {}

    def draw(table: pd.DataFrame) -> Figure:
        from plotly.graph_objects import Bar

        figure = panel_figure(panel_values(table, panel), x=said.get(x, x), y=said.get(y, y))
        ticks = list(dict.fromkeys(table[x]))
        for group in groups(table, by, panel):
            figure.add_trace(
                Bar(
                    name=group.name,
                    legendgroup=group.name,
                    showlegend=group.first,
                    x=[ticks.index(value) for value in group.rows[x]],
                    y=finite(group.rows[y]),
                    marker={"color": CYCLE[group.place % len(CYCLE)]},
                    hovertemplate="%{y:.4g}<extra>%{fullData.name}</extra>",
                ),
                1,
                group.column,
            )
        figure.update_layout(barmode="group")
        figure.update_xaxes(tickvals=list(range(len(ticks))), ticktext=[as_text(tick) for tick in ticks])
        return figure

    return Display(name, title or f"{said.get(y, y)} by {said.get(x, x)} and {by}.", table, draw)
