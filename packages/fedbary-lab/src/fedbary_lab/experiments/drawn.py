"""The pictures of a finished experiment: one page that works offline and, where a browser is there, SVG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from fedbary.views.plots import Display

PAGE = "pictures.html"


def draw(folder: Path, pictures: Sequence[Display], *, images: bool) -> None:
    """Write ``pictures.html`` and, with ``images``, an SVG file of each picture if this machine can draw them."""
    from fedbary.views.html_file import chart_page

    shown = [picture for picture in pictures if len(picture.table)]
    if not shown:
        return
    (folder / PAGE).write_text(chart_page(*shown), encoding="utf-8")
    if not images:
        return
    for name, picture in _named(shown).items():
        try:
            picture.save(folder / f"{name}.svg")
        except SettingsError:  # no kaleido or no Chromium: the page has them all
            return


def _named(pictures: Sequence[Display]) -> dict[str, Display]:
    """By name; one that comes again gets a number."""
    found: dict[str, Display] = {}
    for place, picture in enumerate(pictures, start=1):
        found[f"{picture.name}-{place}" if picture.name in found else picture.name] = picture
    return found
