"""Curves of experiments: one number against another, a line for each method, a panel for each data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedbary.views.display import CYCLE, DASHES, Display, as_text, finite
from fedbary_lab.plots.panels import groups, panel_figure, panel_values

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

MARKS = ("circle", "diamond", "square", "x", "cross", "triangle-up")


def curves(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    by: str,
    panel: str | None = None,
    name: str = "curves",
    title: str = "",
    logarithmic: Sequence[str] = (),
    labels: dict[str, str] | None = None,
) -> Display:
    """Column ``y`` against column ``x``, a line for each value of ``by``, a panel for each value of ``panel``.

    Values of ``x`` stand at equal steps in the order of the table, unless they are logarithmic or few numbers;
    ``logarithmic`` names the axes ("x", "y") with a logarithmic scale.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedbary as fb
    >>> table = pd.DataFrame({"alpha": ["0.1", "1"], "auroc": [0.9, 0.95], "method": ["ours", "ours"]})
    >>> len(curves(table, x="alpha", y="auroc", by="method").plot().data)
    1
    """
    said = labels or {}

    def draw(table: pd.DataFrame) -> Figure:
        figure = panel_figure(panel_values(table, panel), x=said.get(x, x), y=said.get(y, y))
        ticks = list(dict.fromkeys(table[x]))
        for line in groups(table, by, panel):
            across = finite(line.rows[x]) if "x" in logarithmic else [ticks.index(value) for value in line.rows[x]]
            trace = _line(across, finite(line.rows[y]), line.name, line.place, first=line.first)
            figure.add_trace(trace, 1, line.column)
        if "x" in logarithmic:
            figure.update_xaxes(type="log")
        else:
            figure.update_xaxes(tickvals=list(range(len(ticks))), ticktext=[as_text(tick) for tick in ticks])
        if "y" in logarithmic:
            figure.update_yaxes(type="log")
        return figure

    return Display(name, title or f"{said.get(y, y)} against {said.get(x, x)}, by {by}.", table, draw)


def _line(x: Sequence[float | None], y: Sequence[float | None], name: str, place: int, *, first: bool) -> object:
    from plotly.graph_objects import Scatter

    colour = CYCLE[place % len(CYCLE)]
    return Scatter(
        name=name,
        legendgroup=name,
        showlegend=first,
        mode="lines+markers",
        x=list(x),
        y=list(y),
        line={"color": colour, "dash": DASHES[place // len(CYCLE) % len(DASHES)]},
        marker={"symbol": MARKS[place % len(MARKS)], "size": 8, "color": colour},
        hovertemplate="%{y:.4g}<extra>%{fullData.name}</extra>",
    )
