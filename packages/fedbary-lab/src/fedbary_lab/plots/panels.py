"""A figure with our look in several panels side by side, on one vertical axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fedbary.views.display import as_text, empty_figure

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


class Group(NamedTuple):
    """The rows of one group in one panel; ``first`` where no panel before it has any."""

    place: int
    name: str
    column: int
    rows: pd.DataFrame
    first: bool


def groups(table: pd.DataFrame, by: str, panel: str | None) -> Iterator[Group]:
    """The groups of a table, each through all panels that have rows of it."""
    for place, group in enumerate(dict.fromkeys(table[by])):
        first = True
        for column, part in enumerate(panel_values(table, panel), start=1):
            rows = table[(table[by] == group) & (True if part is None else table[panel] == part)]
            if len(rows):
                yield Group(place, as_text(group), column, rows, first)
                first = False


def panel_values(table: pd.DataFrame, panel: str | None) -> list[Any]:
    """What the panels show, from left to right; a single None where there is no such column."""
    return [None] if panel is None else list(dict.fromkeys(table[panel]))


def panel_figure(panels: Sequence[Any], *, x: str, y: str) -> Figure:
    """An empty figure with a panel for each value; a single None is one panel without a title."""
    from plotly.subplots import make_subplots

    figure: Figure = make_subplots(
        rows=1,
        cols=len(panels),
        shared_yaxes=True,
        horizontal_spacing=0.03,
        subplot_titles=None if list(panels) == [None] else [as_text(part) for part in panels],
    )
    base = empty_figure()
    figure.update_layout(template="none")
    figure.update_layout(**{key: base.layout[key] for key in ("font", "paper_bgcolor", "plot_bgcolor", "legend")})
    figure.update_layout(height=400, margin={"t": 70, "r": 16, "b": 48, "l": 60}, legend_y=1.1)
    figure.update_xaxes(base.layout.xaxis, title_text=x)
    figure.update_yaxes(base.layout.yaxis, title_text="")
    figure.update_yaxes(title_text=y, col=1)
    return figure
