"""`fedbary rows`: a client's suspicious rows, and its table without them or with the suggested labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fedbary.checks import did_you_mean
from fedbary.cli.ui.completion import clients, one_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation
    from fedbary.valuation.scored_rows import RowFacts

_EXPORTS: dict[str, Literal["drop", "relabel"]] = {"clean": "drop", "relabelled": "relabel"}


def rows(
    folder: Annotated[Path, typer.Argument(help="A result folder of `fedbary value` or `fedbary demo`.")],
    *,
    client: Annotated[
        str, typer.Option(metavar="NAME", help="Whose rows.", show_default=False, autocompletion=clients)
    ],
    export: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Write the table clean (without flagged rows) or relabelled.",
            autocompletion=one_of(*_EXPORTS),
        ),
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
    json: Json = False,
) -> None:
    """Show a client's flagged rows with reasons and suggested labels, and write the table with them dropped or mended.

    FOLDER is a result folder. `--export clean` leaves out every flagged row; `--export relabelled` gives rows
    flagged for their label the suggested one and leaves out those flagged for their features.
    """
    from fedbary.cli.ui.result_folder import load_result, valued_table
    from fedbary.cli.ui.tables import screen
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.data.export import write
    from fedbary.valuation.cleaning import clean

    if export is not None and export not in _EXPORTS:
        guess = did_you_mean(export, _EXPORTS)
        raise SettingsError("cli.export-option", expected=" or ".join(_EXPORTS), got=export, guess=guess)
    result = load_result(folder)
    frame, facts = result.rows(client), result.row_facts(client)
    if not json:
        _show(frame, facts, client, most)
    written = None
    if export is not None:
        if frame["flag"].isna().any():
            raise SettingsError("cli.nothing-to-leave-out", client=client)
        table = clean(valued_table(result, frame, client, data=data, row_id=row_id), frame, _EXPORTS[export])
        written = write(table, output or _beside(result, folder, client, export, data))
    if json:
        write_json(_for_programs(frame, facts, client, most, written))
    elif written is not None:
        screen().print(f"\nwritten  {visible(written)}", soft_wrap=True)
        if not frame["flag"].any():
            screen().print("Nothing is flagged, so it holds all rows as they were.")


def _worst(frame: pd.DataFrame, most: int) -> tuple[int, pd.DataFrame]:
    """How many rows are flagged, and the worst of them, or where there are none the least valuable."""
    flagged = frame[frame["flag"].fillna(False).astype(bool)]
    return len(flagged), (flagged if len(flagged) else frame).nsmallest(most, "value")


def _for_programs(frame: pd.DataFrame, facts: RowFacts, client: str, most: int, written: Path | None) -> dict[str, Any]:
    flagged, worst = _worst(frame, most)
    counts = {"client": client, "total": len(frame), "flagged": flagged if frame["flag"].notna().any() else None}
    return {**counts, **facts.to_json(), "rows": worst, "written": written}


def _show(frame: pd.DataFrame, facts: RowFacts, client: str, most: int) -> None:
    from fedbary.cli.ui.tables import screen, table
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.valuation.cleaning import suggestions
    from fedbary.valuation.scored_rows import PROVED
    from fedbary.wording import COMMAND, number

    console = screen()
    flagged, worst = _worst(frame, most)
    what = f"{flagged} of {len(frame)} rows of {visible(client)} are flagged"
    if not flagged:
        what += "; its least valuable rows"
    console.print(what, style="bold", markup=False, highlight=False)
    cells = zip(
        worst["row"], map(number, worst["value"]), worst["reason"].fillna("–"), suggestions(worst).fillna("–"),
        strict=True,
    )  # fmt: skip
    console.print(table(("row", "value", "suspicious", "suggested label"), cells, numeric=("value",)))
    promised = facts.guarantee.text(COMMAND)
    console.print(f"guarantee: {promised if facts.guarantee.code == PROVED else f'none: {promised}'}", markup=False)
    if facts.smallest_q is not None:
        console.print(f"flags begin at --fdr {facts.smallest_q:.3f}", markup=False, highlight=False)
    if facts.wrong_labels is not None:
        console.print(f"estimated share of wrong labels: {facts.wrong_labels.share:.3f}", markup=False, highlight=False)
    if facts.untested and frame["flag"].notna().any():
        console.print(f"never flagged: {facts.untested} rows of classes that the reference hardly has")


def _beside(result: Valuation, folder: Path, client: str, export: str, data: Path | None) -> Path:
    """A file in the result folder, in the format of the client's own: what CSV would quote, Parquet keeps."""
    from fedbary.cli.ui.result_folder import source_of
    from fedbary.data.files import table_suffix
    from fedbary.valuation.storage import row_file_names

    source = data or source_of(result, client)
    assert source is not None, "the table was read from somewhere"
    return folder / f"{row_file_names(list(result.row_tables or {}))[client]}-{export}{table_suffix(source)}"
