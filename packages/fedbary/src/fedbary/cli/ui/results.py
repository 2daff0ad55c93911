"""Results at the command line: what a valuation leaves behind, how it is shown, and the rows that were valued."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.options import SOME_FAILED
from fedbary.cli.ui.session import one_line, session
from fedbary.data.options import ReadOptions
from fedbary.data.places import is_url, resolved, shown
from fedbary.errors import DataError, SettingsError
from fedbary.filling import COMMAND
from fedbary.views.page import HEADING, Cell, Files, Grid, Items, Line, Page, Part, plain

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.valuation.result import Valuation

_WRITTEN = {
    "report": "report.html",
    "clients": "clients.csv",
    "scores": "scores.csv",
    "history": "history.csv",
    "rows": "rows",
    "models": "models",
    "schema": "schema.json",
    "result": "valuation.json",
    "events": "events.jsonl",
    "training": "training.json",
}
_WORTH_OPENING = ("report", "owner_report", "clients", "rows", "models", "training", "schema", "data")


def write_outcome(result: Valuation, folder: Path, *, report: bool = True) -> dict[str, str]:
    """Save the result and its report; returns what is where. Earlier runs' reports are never left beside it."""
    from fedbary.views.html_file import is_report

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
    paths = {what: folder / name for what, name in _WRITTEN.items()}
    return {
        what: str(path) for what, path in paths.items() if path.is_file() or (path.is_dir() and any(path.iterdir()))
    }


def written(path: Path | str, more: str = "") -> Line:
    return Line(f"written  {path}{more}", whole=True)


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


def valuation_page(result: Valuation, files: Mapping[str, str], guesses: Sequence[str] = ()) -> Page:
    """The verdict, the clients, notes, how files were read, and what was written; with --quiet, who failed and why."""
    from fedbary.views.advice import remarks
    from fedbary.views.tables import clients_on_a_screen, column_notes

    parts: list[Part] = []
    if session().quiet and not session().json:
        for name in (*result.failed, *result.without_rows):
            outcome = result.outcomes[name]
            status = "" if outcome.ok else f"{outcome.status}: "
            said = f"{name}: {status}{'; '.join(note.text(COMMAND) for note in outcome.notes)}"
            print(f"error: {one_line(said)}", file=sys.stderr)
    else:
        notes = remarks(result, COMMAND) + column_notes(result, clients_on_a_screen(result)[0])
        parts = [*verdict_parts(result), *([Items(notes)] if notes else [])]
        parts += [*guess_parts(guesses, "How the files were read"), "", files_worth_opening(files)]
    code = SOME_FAILED if result.failed or result.without_rows else 0
    return Page(parts, valuation_data(result, files) | {"guesses": list(guesses)}, code)


def verdict_parts(result: Valuation) -> list[Part]:
    """What to do with whom and why, problems first; then the clients with their numbers, as many as fit a screen."""
    from fedbary.valuation.verdict import Advice
    from fedbary.views.advice import about_the_reference, groups, headline
    from fedbary.views.display import LOOKS
    from fedbary.views.tables import clients_on_a_screen, summary

    header, rows, more = clients_on_a_screen(result)
    grid = Grid(
        [name.replace(" ", "\n") for name in header],
        [(*cells, Cell(advice, LOOKS[Advice(advice)].style)) for *cells, advice in rows],
        [name.replace(" ", "\n") for name in header if name not in ("client", "verdict")],
        more,
    )
    reasons = Items([Cell(str(group), LOOKS[group.advice].style) for group in groups(result, COMMAND)])
    opening: list[Part] = [Line(headline(result.verdict()), HEADING), *about_the_reference(result, COMMAND)]
    return [*opening, reasons, "", grid, "", summary(result)]


def files_worth_opening(files: Mapping[str, str]) -> Files:
    return Files({what: files[what] for what in _WORTH_OPENING if what in files})


def guess_parts(guesses: Sequence[str], title: str = "How it was read") -> list[Part]:
    """What was guessed when a table was read, if anything was."""
    return ["", Line(title, HEADING), Items(guesses)] if guesses else []


def valuation_data(result: Valuation, files: Mapping[str, str]) -> dict[str, Any]:
    """The result for programs: the verdict, and the clients in ranked order with their status and notes."""
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


def load_result(folder: Path) -> Valuation:
    """A result of `fedbary value`, or what a node of a federation wrote for its owner."""
    from fedbary.guard.owner_files import is_owner_folder, load_owner_view
    from fedbary.valuation.result import Valuation

    return load_owner_view(folder) if is_owner_folder(folder) else Valuation.load(folder)


def owner_report_file(result: Valuation, folder: Path, client: str) -> Path:
    """Where a client's report is written by default."""
    from fedbary.valuation.storage import row_file_names

    if "owner" in result.settings:
        return folder / "report.html"
    return folder / f"report-{row_file_names([str(name) for name in result.clients['client']])[client]}.html"


@dataclass(frozen=True)
class ValuedFile:
    """The file that a client's rows were valued from, as the result knows it or as somebody typed."""

    result: Valuation
    client: str
    data: str | None = None
    row_id: str | None = None
    label: str | None = None
    options: ReadOptions | None = None

    @property
    def place(self) -> str | None:
        return self.data or self._known.get("file")

    def table(self) -> Table:
        """The table that was valued, with the rows of the result, and no other: rows are known by their place in it."""
        from fedbary.data.files import read, read_clients
        from fedbary.valuation.rows import are_called

        place, schema, settings = self.place, self.result.schema, self.result.settings
        if place is None:
            raise SettingsError("cli.source-unknown", client=self.client)
        how: dict[str, Any] = {"id": self.row_id or settings.get("id"), "options": self._read_with}
        how["reading"] = None if schema is None else schema.reading
        name = self.label or settings.get("label") or ("label" if schema is None else schema.label.name)
        table = read_clients(place, name, **how)[self.client] if self._shared else read(place, name, **how)
        if not are_called(self.result.rows(self.client)["row"], table):
            raise DataError("cli.other-rows", file=shown(place))
        if self._known and file_digest(place) != self._known["sha256"]:
            raise DataError("cli.file-changed", file=shown(place))
        return table

    def cells(self) -> pd.DataFrame:
        """The cells as they are written; images by their paths."""
        from fedbary.data.formats import opened
        from fedbary.data.formats.cells import OwnedRows

        assert self.place is not None, "the table was read from somewhere"
        with opened(self.place, self._read_with) as rows:
            column = str(self._read_with.client_column)
            cells = OwnedRows.of(rows, column).cells(self.client) if self._shared else rows
            frame = cells.frame.reset_index(drop=cells.id is None)
        for name in [name for name, kind in frame.dtypes.items() if kind.kind == "O"]:
            frame[name] = [cell["path"] if isinstance(cell, dict) and "path" in cell else cell for cell in frame[name]]
        return frame

    @property
    def _known(self) -> dict[str, str]:
        return self.result.settings.get("sources", {}).get(self.client) or {}

    @property
    def _read_with(self) -> ReadOptions:
        return self.options or ReadOptions.of(self.result.settings.get("read", {}))

    @property
    def _shared(self) -> bool:
        """Whether the file holds the rows of other clients, too."""
        return self._read_with.client_column is not None and self.data is None
