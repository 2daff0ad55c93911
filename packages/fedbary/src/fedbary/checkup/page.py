"""A checkup as a page: one HTML file that needs nothing else, for the owner of the table."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from fedbary.checkup.finding import Severity
from fedbary.checkup.result import Checkup, counted_findings, kind_in_words, values_in_words
from fedbary.filling import COMMAND
from fedbary.views.plots.page import render
from fedbary.views.report.write import write_page
from fedbary.wording import counted, dash, headline_percent, number, percent

_GROUPS = (
    (Severity.REFUSED, "A federation would refuse this table", "bad"),
    (Severity.DOUBTFUL, "Look at", "warn"),
    (Severity.NOTE, "Worth knowing", ""),
)
_MOST_CLASSES = 100


def write_checkup(checkup: Checkup, path: str | Path) -> Path:
    """Write the page; it shows cells, so that only its owner may read the file."""
    return write_page(checkup_html(checkup), path, mode=0o600)


def checkup_html(checkup: Checkup) -> str:
    """The page as HTML."""
    today = date.today()
    by_column = Counter(finding.column for finding in checkup.findings)
    content = {
        "name": checkup.origin or "a table",
        "about": [f"{today.day} {today:%B %Y}", counted(checkup.rows, "row"), "on the machine that holds the rows"],
        "headline": counted_findings(checkup),
        "tiles": _tiles(checkup),
        "groups": [
            {"title": title, "look": look, "findings": [finding.text(COMMAND) for finding in found]}
            for severity, title, look in _GROUPS
            if (found := checkup.of(severity))
        ],
        "columns": [
            {
                "name": column.name,
                "kind": kind_in_words(checkup, column),
                "missing": _missing(column.missing, checkup.rows),
                "missing_exact": "" if column.missing is None else column.missing,
                "says": values_in_words(column),
                "findings": by_column[column.name],
            }
            for column in checkup.columns
        ],
        "label": _label(checkup),
        "read": [note.text(COMMAND) for note in checkup.read],
        "told": [] if checkup.refused else [note.text(COMMAND) for note in checkup.told],
        "schema": checkup.schema,
    }
    return render("checkup.html", content, package="fedbary.views.report", scripts=("tables.js",))


def _tiles(checkup: Checkup) -> list[tuple[str, str, str]]:
    used = [column for column in checkup.columns if column.used]
    cells = checkup.rows * len(used)
    missing = sum(column.missing or 0 for column in used)
    left_out = len(checkup.columns) - len(used)
    copies = percent(checkup.copies / checkup.rows) if checkup.copies else ""
    return [
        ("rows", f"{checkup.rows:,}", ""),
        ("rows that repeat another", f"{checkup.copies:,}" if checkup.copies else "none", copies),
        ("feature columns", f"{len(used):,}", f"{left_out:,} left out" if left_out else ""),
        ("cells missing", headline_percent(missing / max(cells, 1)), f"{missing:,} of {cells:,}" if missing else ""),
    ]


def _missing(missing: int | None, rows: int) -> str:
    return dash(missing) if not missing else f"{missing:,} ({percent(missing / rows)})"


def _label(checkup: Checkup) -> dict[str, Any]:
    label = checkup.label
    return {
        "name": label.name,
        "classes": [
            {"name": name, "rows": f"{rows:,}", "share": percent(rows / checkup.rows)}
            for name, rows in label.classes[:_MOST_CLASSES]
        ],
        "more": max(len(label.classes) - _MOST_CLASSES, 0),
        "low": number(label.low),
        "mean": number(label.mean),
        "high": number(label.high),
    }
