"""Reports as files: one HTML file each, which needs nothing else and is whole or not there."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.data.atomic import write_atomically
from fedbary.errors import DataError
from fedbary.views.plots import client_map, convergence, qualities, shapley_values, shares, site_effects
from fedbary.views.plots.client_plots import MANY
from fedbary.views.plots.page import render
from fedbary.views.report.coordinator import facts

if TYPE_CHECKING:
    from fedbary.valuation.result import ImageShape, Valuation

_HERE = "fedbary.views.report"
_HEAD = 4096  # bytes, in which a report of ours has its title


def write_report(result: Valuation, path: str | Path) -> Path:
    """Write the coordinator's report: no request, light and dark, readable on paper and on a phone.

    Parameters
    ----------
    result : Valuation
        What to report.
    path : path
        The HTML file. A reader never sees half of it: it takes its place when it is whole.
    """
    return write_page(coordinator_html(result, folder=result_folder(path)), path)


def write_owner_report(
    result: Valuation, path: str | Path, *, client: str, table: Any = None, images: ImageShape = "auto"
) -> Path:
    """Write a data owner's report of its own rows; it holds rows, so it is for the owner alone."""
    from fedbary.views.report.owner import owner_html

    html = owner_html(result, client=client, table=table, images=images, folder=result_folder(path))
    return write_page(html, path, mode=0o600)


def coordinator_html(result: Valuation, *, folder: str | None = None) -> str:
    """The coordinator's report as HTML; ``folder`` is the result's, for commands that can be copied."""
    pictures = [
        qualities(result),
        shapley_values(result),
        site_effects(result),
        client_map(result),
        convergence(result),
    ]
    if pictures[0] is None or len(result.clients) <= MANY:  # among very many, a share says little beside a quality
        pictures.append(shares(result))
    drawn = [picture for picture in pictures if picture is not None and len(picture.table)]
    content = facts(result, today=date.today(), folder=folder)
    content |= {"drawn": {picture.name: picture.title for picture in drawn}}
    return render("coordinator.html", content, drawn, package=_HERE, scripts=("tables.js",))


def result_folder(path: str | Path) -> str | None:
    """The folder of a report as a shell takes it, where it holds the result itself."""
    home = Path(path).parent
    kept = any((home / index).is_file() for index in ("valuation.json", "owner.json"))
    return quote(str(home)) if kept and str(home).isprintable() else None


def is_report(path: Path) -> bool:
    """Whether a file is a report of ours, or empty, so that nothing is lost where another takes its place."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(_HEAD)
    return not start or (start.startswith(b"<!doctype html>") and b"<title>FedBary" in start)


def check_report(path: Path) -> None:
    """Refuse a place where something lies that is no report of ours."""
    if path.exists() and not is_report(path):
        raise DataError("views.not-a-report", where=str(path))


def write_page(text: str, path: str | Path, *, mode: int = 0o666) -> Path:
    """Write a page of ours, whole or not at all, and over nothing else."""
    home = Path(path)
    if not home.parent.is_dir():
        raise DataError("data.no-folder", where=str(home), folder=str(home.parent))
    try:
        check_report(home)
        # A name from a file system may hold what UTF-8 cannot: a reference shows it as a replacement character.
        content = text.encode("utf-8", errors="xmlcharrefreplace")
        return write_atomically(home, lambda draft: draft.write_bytes(content), mode=mode)
    except OSError as error:
        raise DataError("views.report-unwritable", where=str(home), why=error.strerror) from error
