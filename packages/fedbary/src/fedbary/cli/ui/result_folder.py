"""A result folder as commands read it, and the file that a client's rows came from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.options import ReadOptions
    from fedbary.data.table import Table
    from fedbary.valuation.result import Valuation


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


def source_of(result: Valuation, client: str) -> str | None:
    """Where a client's rows were read from, if the result knows it."""
    known = result.settings.get("sources", {}).get(client)
    return None if known is None else str(known["file"])


def read_like(result: Valuation) -> ReadOptions:
    """How the clients of a result were read."""
    from fedbary.data.options import ReadOptions

    return ReadOptions.of(result.settings.get("read", {}))


def valued_table(
    result: Valuation,
    names: Any,
    client: str,
    *,
    data: str | None,
    row_id: str | None,
    label: str | None = None,
    options: ReadOptions | None = None,
) -> Table:
    """The table that was valued, whose rows have these names, and no other: rows are known by their place in it."""
    from fedbary.cli.ui.written_result import file_digest
    from fedbary.data.files import read, read_clients
    from fedbary.data.places import shown
    from fedbary.valuation.rows import are_called

    place = data or source_of(result, client)
    if place is None:
        raise SettingsError("cli.source-unknown", client=client)
    asked = read_like(result) if options is None else options
    how: dict[str, Any] = {"id": row_id or result.settings.get("id"), "options": asked}
    how["reading"] = None if result.schema is None else result.schema.reading
    name = label or _label(result)
    shared = asked.client_column is not None and data is None
    table = read_clients(place, name, **how)[client] if shared else read(place, name, **how)
    if not are_called(names, table):
        raise DataError("cli.other-rows", file=shown(place))
    known = result.settings.get("sources", {}).get(client)
    if known is not None and file_digest(place) != known["sha256"]:
        raise DataError("cli.file-changed", file=shown(place))
    return table


def valued_cells(
    result: Valuation, client: str, *, data: str | None, options: ReadOptions | None = None
) -> pd.DataFrame:
    """The cells of the file that was valued, as they are written; images by their paths."""
    from fedbary.data.formats import opened
    from fedbary.data.formats.cells import OwnedRows

    place, asked = data or source_of(result, client), read_like(result) if options is None else options
    assert place is not None, "the table was read from somewhere"
    with opened(place, asked) as found:
        shared = asked.client_column is not None and data is None
        cells = OwnedRows.of(found, str(asked.client_column)).cells(client) if shared else found
        frame = cells.frame.reset_index(drop=cells.id is None)
    for name in [name for name, kind in frame.dtypes.items() if kind.kind == "O"]:
        frame[name] = [cell["path"] if isinstance(cell, dict) and "path" in cell else cell for cell in frame[name]]
    return frame


def _label(result: Valuation) -> str:
    return result.settings.get("label") or ("label" if result.schema is None else result.schema.label.name)
