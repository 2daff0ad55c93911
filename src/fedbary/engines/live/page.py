"""The live page: one HTML text with its own style and script, and the policy under which a browser runs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fedbary.views.plots.bundle import content_hash

_CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# The report's own policy names the hashes of its scripts; both hold, and this one keeps it from the network.
REPORT_POLICY = f"{_CLOSED}; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"


@dataclass(frozen=True)
class Page:
    """HTML, and its content security policy."""

    html: bytes
    policy: str


@cache
def live_page() -> Page:
    """The page that asks for ``state.json`` every second; it is the same for every run.

    Examples
    --------
    >>> b"<script>" in live_page().html, "connect-src 'self'" in live_page().policy
    (True, True)
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # The style is the report's.
    home = Path(__file__).parents[1]
    templates = Environment(
        loader=FileSystemLoader([home / part / "templates" for part in ("live", "report", "plots")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = (templates.get_template(name).render() for name in ("live.css", "live.js"))
    html = templates.get_template("live.html").render(style=style, script=script)
    own = f"style-src '{content_hash(style)}'; script-src '{content_hash(script)}'"
    policy = f"{_CLOSED}; connect-src 'self'; img-src data:; {own}"
    return Page(html.encode(), policy)
