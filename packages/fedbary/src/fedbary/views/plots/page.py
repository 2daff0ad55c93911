"""A page that carries its pictures: figures as JSON, plotly.js compressed, and a policy that lets nothing else run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedbary.views.plots.bundle import content_hash, json_inside_html, plotly_bundle

if TYPE_CHECKING:
    from jinja2 import Environment

    from fedbary.views.plots.display import Display

_DEFAULT_HEIGHT = 450


def chart_page(*displays: Display) -> str:
    """One HTML file with these pictures, which works offline."""
    return render("chart.html", {"title": " ".join(display.title for display in displays[:1])}, displays)


def render(
    template: str,
    content: Mapping[str, Any],
    displays: Sequence[Display] = (),
    *,
    package: str | None = None,
    scripts: Sequence[str] = (),
) -> str:
    """A template of ``package`` (default: this one) with its pictures; ``scripts`` name more files that it runs.

    The Content-Security-Policy names each script by its hash, so that text from data can never run, wherever it
    lands; and nothing can be fetched or sent.
    """
    from markupsafe import Markup

    environment = _environment(package)
    sources = [_source(environment, name) for name in ("charts.js", *scripts)]
    library = plotly_bundle() if displays else None
    hashes = [content_hash(source) for source in sources] + ([library.sha256] if library else [])
    text = environment.get_template(template).render(
        {
            **content,
            "policy": policy(hashes),
            "charts": [_chart(display) for display in displays],
            # These were made here, not by data; everything else is escaped.
            "scripts": [Markup(source) for source in sources],  # noqa: S704
            "plotly": library.packed if library else "",
        }
    )
    return str(text)


def policy(hashes: Sequence[str]) -> str:
    """A Content-Security-Policy that runs these scripts and loads nothing."""
    allowed = " ".join(f"'{one}'" for one in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _chart(display: Display) -> dict[str, Any]:
    from markupsafe import Markup

    figure = json.loads(display.plot().to_json())
    figure["layout"].pop("template", None)
    height = figure["layout"].pop("height", None) or _DEFAULT_HEIGHT
    content = {"data": figure["data"], "layout": figure["layout"]}
    return {
        "name": display.name,
        "title": display.title,
        "height": int(height),
        "json": Markup(json_inside_html(content)),  # noqa: S704
    }


def _environment(package: str | None) -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    own = PackageLoader("fedbary.views.plots")
    return Environment(
        loader=own if package is None else ChoiceLoader([PackageLoader(package), own]),
        autoescape=True,  # clients choose their own names, columns and labels
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]
