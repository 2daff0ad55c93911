"""How all pictures look, and how names from data become text in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fedbary.wording import shortened, without_control

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Colours that stand out from a white and from a dark page alike (3 : 1 at least), and from each other without hue.
BLUE, ORANGE, GREEN, PURPLE, RED, GREY = "#2f86b4", "#cf7022", "#3f9468", "#8f68b8", "#d2484c", "#7d8894"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
_INK, _LINE = "#1b2430", "#e2e7ee"
# Plotly reads tags in text; these characters isolate a name that is written from right to left.
_OPEN, _CLOSE = "\u2068", "\u2069"


def as_text(name: object, longest: int = 34) -> str:
    r"""A name from data as Plotly text: no tag, no direction mark, and short enough for an axis."""
    return _OPEN + _escaped(shortened(without_control(str(name)), longest)) + _CLOSE


def as_hover(name: object, width: int = 60, longest: int = 300) -> str:
    """A name in full, in lines that fit a hover label."""
    text = shortened(without_control(str(name)), longest)
    lines = [text[start : start + width] for start in range(0, len(text), width)] or [""]
    return "<br>".join(_OPEN + _escaped(line) + _CLOSE for line in lines)


def _escaped(text: str) -> str:
    # Quotes stay as they are: Plotly does not know their entities and would show them. Dollars would be formulas.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def empty_figure(*, x: str = "", y: str = "", height: int | None = None) -> Figure:
    """A figure with our look and no data yet."""
    from plotly.graph_objects import Figure as New

    figure: Any = New()
    axis: dict[str, Any] = {"gridcolor": _LINE, "zerolinecolor": _LINE, "linecolor": _LINE, "automargin": True}
    figure.update_layout(
        template="none",
        height=height,
        font={"family": FONT, "size": 13, "color": _INK},
        paper_bgcolor="#ffffff",
        plot_bgcolor="#ffffff",
        margin={"t": 24, "r": 16, "b": 48, "l": 56},
        colorway=list(CYCLE),
        hoverlabel={"font": {"family": FONT}, "align": "left", "namelength": 0},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "title": {"text": ""}},
        xaxis={**axis, "title": {"text": x}},
        yaxis={**axis, "title": {"text": y}},
    )
    return figure


def bar_rows(count: int) -> int:
    """The height of a chart with so many horizontal bars."""
    return 90 + 26 * max(count, 1)


def finite(values: Any) -> list[float | None]:
    """Numbers for JSON, which knows no NaN."""
    return [float(value) if value is not None and math.isfinite(float(value)) else None for value in values]
