"""`Display`, a picture that gives its table and saves itself; how pictures and advice look, and names become text."""

from __future__ import annotations

import logging
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fedbary.errors import DataError, SettingsError
from fedbary.valuation.verdict import Advice
from fedbary.wording import shortened, without_control

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# Colours that stand out from a white and from a dark page alike (3 : 1 at least), and from each other without hue.
BLUE, ORANGE, GREEN, PURPLE, RED, GREY = "#2f86b4", "#cf7022", "#3f9468", "#8f68b8", "#d2484c", "#7d8894"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
_INK, _LINE = "#1b2430", "#e2e7ee"
# Plotly reads tags in text; these characters isolate a name that is written from right to left.
_OPEN, _CLOSE = "\u2068", "\u2069"
_IMAGES = (".png", ".svg", ".pdf")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


class Look(NamedTuple):
    """How an advice is said of some clients, and shown: by a page's class, on a terminal, and in pictures."""

    said: str
    css: str
    style: str
    colour: str
    symbol: str


LOOKS = {
    Advice.INCLUDE: Look("Include {}", "good", "green", GREEN, "circle"),
    Advice.LOOK: Look("Look at {} first", "warn", "yellow", ORANGE, "diamond"),
    Advice.LEAVE: Look("Leave out {}", "bad", "red", RED, "x"),
    Advice.UNKNOWN: Look("Nothing can be said of {}", "unknown", "dim", GREY, "circle-open"),
    Advice.NOT_VALUED: Look("{} could not be valued", "unknown", "red", GREY, "cross"),
}


@dataclass(frozen=True, eq=False)
class Display:
    """A picture: what it is called, what it says, the table behind it, and how that is drawn.

    Parameters
    ----------
    name : str
        A short name for files and links.
    title : str
        What the picture shows, in a sentence; also its description for who cannot see it.
    table : DataFrame
        Every number in the picture.
    draw : callable
        From the table to a Plotly figure.

    Examples
    --------
    >>> import fedbary as fb
    >>> parts = fb.partitions.by_size(fb.datasets.load("digits").train, [60, 60], seed=0)
    >>> result = fb.value(parts.clients, fb.datasets.load("digits").test, seed=0)
    >>> picture = fb.plots.shares(result)
    >>> sorted(picture.frame()["client"]), type(picture.plot()).__name__
    (['client_1', 'client_2'], 'Figure')
    """

    name: str
    title: str
    table: pd.DataFrame
    draw: Callable[[pd.DataFrame], Figure]

    def plot(self) -> Figure:
        """The Plotly figure, which notebooks show."""
        return self.draw(self.table)

    def frame(self) -> pd.DataFrame:
        """The table behind the picture."""
        return self.table.copy()

    def save(self, path: str | Path, *, width: int = 900, height: int | None = None) -> Path:
        """Write the picture as .html, .png, .svg or .pdf, as the suffix says.

        HTML is one file that works offline. The others need the extra ``images`` (kaleido) and a Chromium or Chrome
        on this machine; nothing is fetched from the network.
        """
        file = Path(path)
        if file.suffix.lower() not in (".html", *_IMAGES):
            raise SettingsError("views.picture-format", file=file.name)
        if not file.parent.is_dir():
            raise DataError("data.no-folder", where=str(file), folder=str(file.parent))
        if file.suffix.lower() == ".html":
            from fedbary.views.html_file import chart_page

            file.write_text(chart_page(self), encoding="utf-8")
        else:
            figure = self.plot()
            kind = file.suffix.lower().lstrip(".")
            size = {"width": width, "height": height or figure.layout.height or 480, "scale": 2 if kind == "png" else 1}
            file.write_bytes(_image(figure, kind, size))
        return file

    def __repr__(self) -> str:
        return f"Display({self.name!r}, {len(self.table)} rows: .plot(), .frame(), .save(path))"


def browser() -> str | None:
    """The Chromium or Chrome of this machine, by ``BROWSER_PATH`` or on the PATH."""
    named = os.environ.get("BROWSER_PATH")
    if named:
        return named if Path(named).is_file() else None
    return next((found for name in _BROWSERS if (found := shutil.which(name))), None)


def _image(figure: Any, kind: str, size: dict[str, Any]) -> bytes:
    try:
        import kaleido
    except ImportError as error:
        raise SettingsError("views.kaleido-missing") from error
    program = browser()
    if program is None:
        raise SettingsError("views.browser-missing")
    from fedbary.views.html_file import local_plotly

    # Without these two, kaleido's page asks for both libraries on the network.
    offline = {"mathjax": False, "plotlyjs": str(local_plotly()), "path": program}
    # What the browser says beside the point is no matter of the user's; an error is raised below.
    for name in ("choreographer", "kaleido"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        image = kaleido.calc_fig_sync(figure, opts={"format": kind, **size}, kopts=offline)
    except Exception as error:  # whatever a browser's start can raise
        raise SettingsError("views.browser-failed", browser=program, kind=type(error).__name__) from error
    return bytes(image)


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
