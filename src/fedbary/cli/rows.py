"""`fedbary rows`: a client's suspicious rows, and its table without them or with the suggested labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.valuation import Valuation

_EXPORTS: dict[str, Literal["drop", "relabel"]] = {"clean": "drop", "relabelled": "relabel"}


def rows(
    folder: Annotated[Path, typer.Argument(help="A result folder of `fedbary value` or `fedbary demo`.")],
    *,
    client: Annotated[str, typer.Option(metavar="NAME", help="Whose rows.", show_default=False)],
    export: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="Write the table clean (without flagged rows) or relabelled."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The client's file. Default: the one that was valued."),
    ] = None,
    row_id: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Its column of row ids. Default: the one that was used."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write the exported table.")
    ] = None,
    most: Annotated[int, typer.Option("-n", "--most", min=1, help="Rows to show.")] = 20,
) -> None:
    """Show a client's flagged rows with reasons and suggested labels, and write the table with them dropped or mended.

    FOLDER is a result folder. `--export clean` leaves out every flagged row; `--export relabelled` gives rows
    flagged for their label the suggested one and leaves out those flagged for their features.
    """
    from fedbary.data.export import write
    from fedbary.valuation.cleaning import clean
    from fedbary.valuation.result import Valuation

    if export is not None and export not in _EXPORTS:
        raise SettingsError(f"--export must be {' or '.join(_EXPORTS)}, not {export!r}.")
    result = Valuation.load(folder)
    frame = result.rows(client)
    _show(frame, client, most)
    if export is not None:
        table = clean(_source(result, frame, client, data, row_id), frame, _EXPORTS[export])
        written = write(table, output or _beside(result, folder, client, export, data))
        typer.echo(f"\nwritten  {written}")


def _show(frame: pd.DataFrame, client: str, most: int) -> None:
    from fedbary.cli.screen import screen, table
    from fedbary.cli.text import number

    console = screen()
    flagged = frame[frame["flag"].fillna(False).astype(bool)]
    what = f"{len(flagged)} of {len(frame)} rows of {client} are flagged"
    shown = (flagged if len(flagged) else frame).nsmallest(most, "value")
    if not len(flagged):
        what += "; its least valuable rows"
    console.print(what, style="bold", markup=False, highlight=False)
    cells = zip(
        shown["row"], map(number, shown["value"]), shown["reason"].fillna("–"), shown["suggested_label"].fillna("–"),
        strict=True,
    )  # fmt: skip
    console.print(table(("row", "value", "suspicious", "suggested label"), cells, numeric=("value",)))
    for key, label in (
        ("guarantee", "guarantee"),
        ("smallest_q", "smallest q that flags"),
        ("noise_share", "estimated share of wrong labels"),
    ):
        if key in frame.attrs:
            value = frame.attrs[key]
            text = value if isinstance(value, str) else f"{value:.3f}"
            console.print(f"{label}: {text}", markup=False, highlight=False)
    if frame.attrs.get("untested") and frame["flag"].notna().any():
        console.print(f"never flagged: {frame.attrs['untested']} rows of classes that the reference hardly has")


def _source(result: Valuation, frame: pd.DataFrame, client: str, data: Path | None, row_id: str | None) -> Table:
    """The table that was valued, and no other: its rows are about to be dropped and relabelled by their place."""
    from fedbary.cli.outcome import file_digest
    from fedbary.data.files import read

    if frame["flag"].isna().any():
        raise SettingsError(f"The rows of '{client}' were not flagged in this run, so there is nothing to leave out.")
    known = result.settings.get("sources", {}).get(client)
    if data is None and known is None:
        raise SettingsError(f"The result does not know the file of '{client}': name it with --data FILE.")
    path = data or Path(known["file"])
    table = read(path, result.settings.get("label") or _label(result), id=row_id or result.settings.get("id"))
    if [str(name) for name in table.row_names] != [str(name) for name in frame["row"]]:
        raise DataError(
            f"'{path}' does not hold the rows that were valued: name the right file with --data and its column of "
            "row ids with --id, or value it again."
        )
    if known is not None and file_digest(path) != known["sha256"]:
        raise DataError(f"'{path}' is not the file that was valued, or was changed since: value it again.")
    return table


def _label(result: Valuation) -> str:
    return "label" if result.schema is None else result.schema.label.name


def _beside(result: Valuation, folder: Path, client: str, export: str, data: Path | None) -> Path:
    """A file in the result folder, in the format of the client's own: what CSV would quote, Parquet keeps."""
    from fedbary.data.files import table_suffix
    from fedbary.valuation.storage import row_file_names

    source = data or Path(result.settings["sources"][client]["file"])
    return folder / f"{row_file_names(list(result.row_tables))[client]}-{export}{table_suffix(source)}"
