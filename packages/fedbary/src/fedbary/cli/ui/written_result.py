"""What a valuation leaves behind: the result folder, the report, and the same as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.json import plain
from fedbary.data.places import is_url, resolved

if TYPE_CHECKING:
    from fedbary.data.options import ReadOptions
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
    return written_files(folder)


def written_files(folder: Path) -> dict[str, str]:
    """What is where in a result's folder; over a network, the folder of rows is empty, as each owner has their own."""
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
        "training": folder / "training.json",
    }
    return {
        what: str(path) for what, path in written.items() if path.is_file() or (path.is_dir() and any(path.iterdir()))
    }


def with_sources(
    result: Valuation, places: Mapping[str, str | Path], label: str, row_id: str | None, options: ReadOptions
) -> Valuation:
    """The result with a note of where each client's rows lie and how they were read, for `fedbary rows`."""
    if options.client_column is not None:
        shared = next(iter(places.values()))
        places = {str(name): shared for name in result.clients["client"]}
    digests = {place: file_digest(place) for place in set(places.values())}
    sources = {name: {"file": resolved(place), "sha256": digests[place]} for name, place in places.items()}
    read = {"sources": sources, "label": label, "id": row_id, "read": options.given()}
    return replace(result, settings=result.settings | read)


def file_digest(place: str | Path) -> str:
    """SHA-256 of a file, by which `fedbary rows` knows it again; folders and databases have none."""
    if is_url(place) or not Path(place).is_file():
        return ""
    with Path(place).open("rb") as file:
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
