"""What a valuation leaves behind: the result folder, the report, and the same as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.json import plain

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation


def write_outcome(result: Valuation, folder: Path, *, report: bool = True) -> dict[str, str]:
    """Save the result and its report; returns what is where. Earlier runs' reports are never left beside it."""
    from fedbary.views.report.write import is_report

    result.save(folder)
    for stale in folder.glob("report-*.html"):
        if is_report(stale):
            stale.unlink()
    if report:
        result.report(folder / "report.html")
    elif is_report(folder / "report.html"):
        (folder / "report.html").unlink()
    written = {
        "report": folder / "report.html",
        "clients": folder / "clients.csv",
        "scores": folder / "scores.csv",
        "history": folder / "history.csv",
        "rows": folder / "rows",
        "models": folder / "models",
        "schema": folder / "schema.json",
        "result": folder / "valuation.json",
        "events": folder / "events.jsonl",
    }
    return {what: str(path) for what, path in written.items() if path.exists()}


def with_sources(result: Valuation, paths: Mapping[str, Path], label: str, row_id: str | None) -> Valuation:
    """The result with a note of which file each client was read from, for `fedbary rows`."""
    sources = {
        name: {"file": str(path.resolve()), "sha256": file_digest(path) if path.is_file() else ""}
        for name, path in paths.items()
    }
    return replace(result, settings=result.settings | {"sources": sources, "label": label, "id": row_id})


def file_digest(path: Path) -> str:
    """SHA-256 of a file, by which `fedbary rows` knows it again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def for_programs(result: Valuation, files: Mapping[str, str]) -> dict[str, Any]:
    """The result for `write_json`: the verdict, and the clients in ranked order with their status and notes."""
    return {
        "verdict": [
            {"client": opinion.client, "advice": str(opinion.advice), "reasons": opinion.reasons}
            for opinion in result.verdict()
        ],
        "clients": [client | {"notes": result.outcomes[client["client"]].notes} for client in plain(result.ranking())],
        **({} if result.scores is None else {"scores": result.scores.to_frame()}),
        "settings": result.settings,
        "notes": list(result.notes),
        "files": dict(files),
    }
