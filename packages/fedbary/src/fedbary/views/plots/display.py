"""`Display`: a picture that also gives its table, and saves itself."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_IMAGES = (".png", ".svg", ".pdf")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


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
            from fedbary.views.plots.page import chart_page

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
    from fedbary.views.plots.bundle import local_plotly

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
