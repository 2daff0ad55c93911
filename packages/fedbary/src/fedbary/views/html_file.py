"""A page as one HTML file that needs nothing else, lets no text from data run, and is whole or not there."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.data.atomic import write_atomically
from fedbary.errors import DataError

if TYPE_CHECKING:
    from jinja2 import Environment

    from fedbary.views.display import Display

_DEFAULT_HEIGHT = 450
_HEAD = 4096  # bytes, in which a report of ours has its title


def chart_page(*displays: Display) -> str:
    """One HTML file with these pictures, which works offline."""
    return render("chart.html", {"title": " ".join(display.title for display in displays[:1])}, displays)


def render(
    template: str, content: Mapping[str, Any], displays: Sequence[Display] = (), *, scripts: Sequence[str] = ()
) -> str:
    """A template with its pictures; ``scripts`` name more files that it runs.

    The Content-Security-Policy names each script by its hash, so that text from data can never run, wherever it
    lands; and nothing can be fetched or sent.
    """
    from markupsafe import Markup

    environment = templates()
    assert environment.loader is not None
    sources = [environment.loader.get_source(environment, name)[0] for name in ("charts.js", *scripts)]
    library, library_hash = _plotly() if displays else ("", None)
    hashes = [_hash(source.encode("utf-8")) for source in sources] + ([library_hash] if library_hash else [])
    allowed = " ".join(f"'{one}'" for one in hashes) or "'none'"
    text = environment.get_template(template).render(
        {
            **content,
            "policy": f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
            "base-uri 'none'; form-action 'none'",
            "charts": [_chart(display) for display in displays],
            "drawn": {display.name: display.title for display in displays},
            # These were made here, not by data; everything else is escaped.
            "scripts": [Markup(source) for source in sources],  # noqa: S704
            "plotly": library,
        }
    )
    return str(text)


@lru_cache(maxsize=1)
def templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("fedbary.views"),
        autoescape=True,  # clients choose their own names, columns and labels
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def json_inside_html(content: Any) -> Any:
    """JSON as markup: nothing in it can end the script element around it, or be read as an element."""
    from markupsafe import Markup

    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def local_plotly() -> Path:
    """Where the installed plotly keeps its JavaScript."""
    import plotly

    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


@lru_cache(maxsize=1)
def _plotly() -> tuple[str, str]:
    """The library as base64 of gzip, and the hash of its text."""
    text = local_plotly().read_bytes()
    return base64.b64encode(gzip.compress(text, 9, mtime=0)).decode("ascii"), _hash(text)


def _hash(content: bytes) -> str:
    """Of a script, in the words of a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode("ascii")


def _chart(display: Display) -> dict[str, Any]:
    figure = json.loads(display.plot().to_json())
    figure["layout"].pop("template", None)
    height = figure["layout"].pop("height", None) or _DEFAULT_HEIGHT
    content = json_inside_html({"data": figure["data"], "layout": figure["layout"]})
    return {"name": display.name, "title": display.title, "height": int(height), "json": content}


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
