"""`fedbary rows`: a client's suspicious rows, and its table without them, with the suggested labels, or moved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fedbary.checks import did_you_mean
from fedbary.cli.ui.completion import clients, one_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import OWN_READING, Json
from fedbary.cli.ui.owner_options import beside
from fedbary.cli.ui.settings_options import with_settings
from fedbary.data.options import ReadOptions
from fedbary.data.places import place_name
from fedbary.errors import SettingsError
from fedbary.wording import counted, whole_percent

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table as Grid

    from fedbary.data.table import Table
    from fedbary.judging.federation import Estimate
    from fedbary.valuation.result import Valuation
    from fedbary.valuation.rows import RowFacts

_CLEANED: dict[str, Literal["drop", "relabel"]] = {"clean": "drop", "relabelled": "relabel"}
_MOVED = "moved"
_EXPORTS = (*_CLEANED, _MOVED)


@with_settings(reading=OWN_READING)
def rows(
    folder: Annotated[
        str, typer.Argument(help="A folder of `fedbary value` or `fedbary demo`; or your table, with --model.")
    ],
    *,
    client: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose rows; needed for a folder.", autocompletion=clients),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The model that you were sent for your card (.model).")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="With --model: for row values and report. Default: TABLE's name-rows."),
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Write the table clean (without flagged rows), relabelled, or moved; see --suspects.",
            autocompletion=one_of(*_EXPORTS),
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The client's file. Default: the one that was valued."),
    ] = None,
    row_id: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Its column of row ids. Default: the one that was used."),
    ] = None,
    suspects: Annotated[
        bool, typer.Option("--suspects", help="Leave out, or relabel, suspects as well: without guarantee.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write the exported table.")
    ] = None,
    most: Annotated[int, typer.Option("-n", "--most", min=1, help="Rows to show.")] = 20,
    reading: ReadOptions,
    json: Json = False,
) -> None:
    """Show a client's flagged rows and its suspects, and write the table with them dropped or mended.

    FOLDER is a result folder. Or give your table, and the model that came back for your card: its rows are valued here,
    and your report is written; nothing leaves.

    Flagged rows were tested: few of them are clean. Suspects are the next rows up to the estimated number of bad ones,
    without any guarantee. `--export clean` leaves out every flagged row; `--export
    relabelled` gives rows flagged for their label the suggested one and leaves out those flagged for their features.
    With --suspects both act on suspects, too. `--export moved` moves the numbers of all rows to where the others' lie:
    an offer, for a table that is fine and merely from another site.
    """
    from fedbary.cli.ui.model_rows import rows_by_model
    from fedbary.cli.ui.result_folder import load_result, valued_cells, valued_table
    from fedbary.cli.ui.tables import screen
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.data.export import write

    _check_export(export, suspects=suspects)
    if model is not None:
        client, data = client or place_name(folder), data or folder
        home = results or beside(folder, "-rows")
        result = rows_by_model(folder, model, name=client, row_id=row_id, reading=reading, folder=home)
    else:
        home = Path(folder)
        result = load_result(home)
    if client is None:
        raise SettingsError("cli.no-client-named", folder=folder)
    frame, facts = result.rows(client), result.row_facts(client)
    if not json:
        _show(frame, facts, client, most, numbers=result.predicts_number)
        if model is not None:
            screen().print(f"\nyours    {visible(home / 'report.html')}", soft_wrap=True)
    written = None
    if export is not None:
        _check_doable(export, frame, facts, client, suspects=suspects)
        typed = reading if data is not None else None
        valued = valued_table(result, frame["row"], client, data=data, row_id=row_id, options=typed)
        cells = valued_cells(result, client, data=data, options=typed)
        table = _exported(export, cells, valued, frame, facts, suspects=suspects)
        written = write(table, output or _beside(result, home, client, export, data))
    if json:
        write_json(_for_programs(frame, facts, client, most, written))
    elif written is not None:
        screen().print(f"\nwritten  {visible(written)}", soft_wrap=True)
        left = _still_in(table, frame, facts, suspects=suspects) if export in _CLEANED else ""
        if left:
            screen().print(left)


def _check_export(export: str | None, *, suspects: bool) -> None:
    if export is not None and export not in _EXPORTS:
        guess = did_you_mean(export, _EXPORTS)
        raise SettingsError("cli.export-option", expected=" or ".join(_EXPORTS), got=export, guess=guess)
    if suspects and export not in _CLEANED:
        raise SettingsError("cli.suspects-need-export", expected=" or ".join(_CLEANED))


def _check_doable(export: str, frame: pd.DataFrame, facts: RowFacts, client: str, *, suspects: bool) -> None:
    if export == _MOVED and not facts.moving:
        raise SettingsError("cli.nothing-to-move", client=client)
    if export in _CLEANED and not suspects and frame["flag"].isna().any():
        known = {"suspects": facts.suspects} if facts.suspects else {}
        raise SettingsError("cli.nothing-to-leave-out", client=client, **known)


def _exported(
    export: str, cells: pd.DataFrame, valued: Table, frame: pd.DataFrame, facts: RowFacts, *, suspects: bool
) -> pd.DataFrame:
    from fedbary.valuation.cleaning import clean_cells, moved_cells

    if export == _MOVED:
        return moved_cells(cells, valued, facts)
    return clean_cells(cells, valued.label_name, frame, _CLEANED[export], suspects=suspects)


def _still_in(table: pd.DataFrame, frame: pd.DataFrame, facts: RowFacts, *, suspects: bool) -> str:
    """What a table that was just written still holds, where that may surprise."""
    if not len(table):
        return f"It is empty: all {counted(len(frame), 'row')} were left out."
    if facts.suspects and not suspects:
        return f"It still holds {counted(facts.suspects, 'suspect')}: --suspects leaves them out, too."
    return "" if frame["flag"].any() or facts.suspects else "Nothing is flagged, so it holds all rows as they were."


def _for_programs(frame: pd.DataFrame, facts: RowFacts, client: str, most: int, written: Path | None) -> dict[str, Any]:
    import pandas as pd

    flagged, suspected = _marked(frame, "flag"), _marked(frame, "suspect")
    worst = [part.nsmallest(most, "value") for part in (flagged, suspected) if len(part)]
    counts = {"client": client, "total": len(frame), "flagged": len(flagged) if frame["flag"].notna().any() else None}
    shown = pd.concat(worst)[:most] if worst else frame.nsmallest(most, "value")
    return {**counts, **facts.to_json(), "rows": shown, "written": written}


def _marked(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return frame[frame[column].fillna(False).astype(bool)]


def _show(frame: pd.DataFrame, facts: RowFacts, client: str, most: int, *, numbers: bool) -> None:
    from fedbary.cli.ui.tables import screen
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.filling import COMMAND

    console = screen()
    flagged, suspected = _marked(frame, "flag"), _marked(frame, "suspect")
    tested = bool(frame["flag"].notna().any())
    many = f"{len(flagged)} of {len(frame)} rows of {visible(client)} are flagged"
    console.print(many if tested else f"No row of {visible(client)} was tested", style="bold")
    if len(flagged):
        console.print(worst_rows(flagged, most))
    console.print(f"flags: {facts.guarantee.text(COMMAND)}")
    if len(suspected):
        more = "more " if len(flagged) else ""
        console.print(f"\n{counted(len(suspected), f'{more}suspect')}, without guarantee", style="bold")
        console.print(worst_rows(suspected, most))
    elif not len(flagged):
        console.print("\nIts least valuable rows", style="bold")
        console.print(worst_rows(frame, most))
    for line in _estimates(facts, numbers=numbers):
        console.print(line)
    if facts.untested and tested:
        console.print(f"never flagged: {facts.untested} rows of classes that others hardly have")


def worst_rows(rows: pd.DataFrame, most: int) -> Grid:
    """The rows with the lowest values: what is suspicious about each, and which label is suggested instead.

    Labels are suggested only where one is doubted; ``labelled``, if it is a column, says what the label is now.
    """
    from fedbary.cli.ui.tables import table
    from fedbary.valuation.cleaning import suggestions, suspicions
    from fedbary.wording import number

    worst = rows.nsmallest(most, "value")
    columns = {"row": worst["row"], "value": worst["value"].map(number), "suspicious": suspicions(worst)}
    if (labels := suggestions(worst)).notna().any():
        columns |= {"labelled": worst["labelled"]} if "labelled" in worst else {}
        columns["suggested label"] = labels.fillna("–")
    return table(columns, zip(*columns.values(), strict=True), numeric=("value",))


def _estimates(facts: RowFacts, *, numbers: bool) -> list[str]:
    """The shares of bad rows that were estimated, with their intervals."""
    lines = []
    if facts.wrong_labels is not None:
        which = "large errors only" if numbers else "if wrong at random"
        lines.append(f"estimated share of wrong labels: {between(facts.wrong_labels)}, {which}")
    if facts.odd_features is not None:
        lines.append(f"estimated share of rows with odd features: {between(facts.odd_features)}")
    return lines


def between(estimate: Estimate) -> str:
    """A share with its interval, if it has one."""
    interval = f" ({100 * estimate.low:.0f} to {whole_percent(estimate.high)})"
    return whole_percent(estimate.share) + (interval if estimate.low < estimate.high else "")


def _beside(result: Valuation, folder: Path, client: str, export: str, data: str | None) -> Path:
    """A file in the result folder, in the format of the client's own: what CSV would quote, Parquet keeps."""
    from fedbary.cli.ui.result_folder import source_of
    from fedbary.data.export import WRITTEN
    from fedbary.data.formats import table_suffix
    from fedbary.valuation.storage import row_file_names

    source = data or source_of(result, client)
    assert source is not None, "the table was read from somewhere"
    suffix = table_suffix(Path(source)) if Path(source).is_file() else ""
    name = f"{row_file_names(list(result.row_tables or {}))[client]}-{export}"
    return folder / f"{name}{suffix if suffix in WRITTEN else '.parquet'}"
