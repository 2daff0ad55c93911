"""`fedbary rows`: a client's suspicious rows, and its table without them, with the suggested labels, or moved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedbary.checks import did_you_mean
from fedbary.cli.commands.message_files import beside, owner_config
from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import argument, clients, flag, one_of, option
from fedbary.cli.ui.results import ValuedFile, load_result, written
from fedbary.cli.ui.settings import OWN_READING
from fedbary.cli.ui.terminal import show
from fedbary.data.options import ReadOptions
from fedbary.data.places import place_name
from fedbary.errors import DataError, SettingsError
from fedbary.filling import COMMAND
from fedbary.space.options import RowRules
from fedbary.views.page import HEADING, Grid, Line, Page, Part
from fedbary.wording import counted, number, whole_percent

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.judging.federation import Estimate
    from fedbary.valuation.result import Valuation

_CLEANED: dict[str, Literal["drop", "relabel"]] = {"clean": "drop", "relabelled": "relabel"}
_MOVED = "moved"
_EXPORTS = (*_CLEANED, _MOVED)


@command("fedbary rows out --client hospital_a --export clean", reading=OWN_READING)
def rows(
    folder: str = argument("A folder of `fedbary value` or `fedbary demo`; or your table, with --model."),
    *,
    client: str | None = option("Whose rows; needed for a folder.", "NAME", complete=clients),
    model: Path | None = option("The model that you were sent for your card (.model).", "FILE"),
    results: Path | None = option("With --model: for row values and report. Default: TABLE's name-rows.", "FOLDER"),
    export: str | None = option(
        "Write the table clean (without flagged rows), relabelled, or moved; see --suspects.",
        "HOW",
        complete=one_of(*_EXPORTS),
    ),
    data: str | None = option("The client's file. Default: the one that was valued.", "FILE"),
    row_id: str | None = option("Its column of row ids. Default: the one that was used.", "COLUMN", "--id"),
    suspects: bool = flag("--suspects", "Leave out, or relabel, suspects as well: without guarantee."),
    output: Path | None = option("Where to write the exported table.", "FILE", "-o", "--output"),
    most: int = option("Rows to show.", None, "-n", "--most", min=1, default=20),
    reading: ReadOptions,
) -> Page:
    """Show a client's flagged rows and its suspects, and write the table with them dropped or mended.

    FOLDER is a result folder. Or give your table, and the model that came back for your card: its rows are valued here,
    and your report is written; nothing leaves.

    Flagged rows were tested: few of them are clean. Suspects are the next rows up to the estimated number of bad ones,
    without any guarantee. `--export clean` leaves out every flagged row; `--export
    relabelled` gives rows flagged for their label the suggested one and leaves out those flagged for their features.
    With --suspects both act on suspects, too. `--export moved` moves the numbers of all rows to where the others' lie:
    an offer, for a table that is fine and merely from another site.
    """
    import pandas as pd

    if export is not None and export not in _EXPORTS:
        guess = did_you_mean(export, _EXPORTS)
        raise SettingsError("cli.export-option", expected=" or ".join(_EXPORTS), got=export, guess=guess)
    if suspects and export not in _CLEANED:
        raise SettingsError("cli.suspects-need-export", expected=" or ".join(_CLEANED))
    if model is not None:
        client, data = client or place_name(folder), data or folder
        home = results or beside(folder, "-rows")
        result = _rows_by_model(folder, model, name=client, row_id=row_id, reading=reading, folder=home)
    else:
        home = Path(folder)
        result = load_result(home)
    if client is None:
        raise SettingsError("cli.no-client-named", folder=folder)
    frame, facts = result.rows(client), result.row_facts(client)
    flagged, suspected = (frame[frame[name].fillna(False).astype(bool)] for name in ("flag", "suspect"))
    show(*_parts(result, client, flagged, suspected, most=most))  # also where nothing can be exported
    if model is not None:
        show("", Line(f"yours    {home / 'report.html'}", whole=True))
    worst = [part.nsmallest(most, "value") for part in (flagged, suspected) if len(part)]
    shown = {
        "client": client,
        "total": len(frame),
        "flagged": len(flagged) if frame["flag"].notna().any() else None,
        **facts.to_json(),
        "rows": pd.concat(worst)[:most] if worst else frame.nsmallest(most, "value"),
        "written": None,
    }
    if export is None:
        return Page([], shown)
    file = ValuedFile(result, client, data, row_id, options=reading if data is not None else None)
    path, left = _exported(file, frame, export, output, home, suspects=suspects)
    return Page(["", written(path), *left], shown | {"written": path})


def _exported(
    file: ValuedFile, frame: pd.DataFrame, export: str, output: Path | None, folder: Path, *, suspects: bool
) -> tuple[Path, list[Part]]:
    """Write the table; returns where it is, and what it still holds, where that may surprise."""
    from fedbary.data.export import WRITTEN, write
    from fedbary.data.formats import table_suffix
    from fedbary.valuation.cleaning import clean_cells, moved_cells
    from fedbary.valuation.storage import row_file_names

    result, client = file.result, file.client
    facts = result.row_facts(client)
    if export == _MOVED and not facts.moving:
        raise SettingsError("cli.nothing-to-move", client=client)
    if export in _CLEANED and not suspects and frame["flag"].isna().any():
        known = {"suspects": facts.suspects} if facts.suspects else {}
        raise SettingsError("cli.nothing-to-leave-out", client=client, **known)
    valued, cells = file.table(), file.cells()
    if export == _MOVED:
        table = moved_cells(cells, valued, facts)
    else:
        table = clean_cells(cells, valued.label_name, frame, _CLEANED[export], suspects=suspects)
    if output is None:  # in the format of the client's own file: what CSV would quote, Parquet keeps
        source = Path(str(file.place))
        suffix = table_suffix(source) if source.is_file() else ""
        name = f"{row_file_names(list(result.row_tables or {}))[client]}-{export}"
        output = folder / f"{name}{suffix if suffix in WRITTEN else '.parquet'}"
    path = write(table, output)
    if export == _MOVED:
        return path, []
    if not len(table):
        return path, [f"It is empty: all {counted(len(frame), 'row')} were left out."]
    if facts.suspects and not suspects:
        return path, [f"It still holds {counted(facts.suspects, 'suspect')}: --suspects leaves them out, too."]
    nothing = not frame["flag"].any() and not facts.suspects
    return path, ["Nothing is flagged, so it holds all rows as they were."] if nothing else []


def _parts(result: Valuation, client: str, flagged: pd.DataFrame, suspected: pd.DataFrame, *, most: int) -> list[Part]:
    frame, facts = result.rows(client), result.row_facts(client)
    tested = bool(frame["flag"].notna().any())
    many = f"{len(flagged)} of {len(frame)} rows of {client} are flagged"
    parts: list[Part] = [Line(many if tested else f"No row of {client} was tested", HEADING)]
    parts += [worst_rows(flagged, most)] if len(flagged) else []
    parts.append(f"flags: {facts.guarantee.text(COMMAND)}")
    if len(suspected):
        more = counted(len(suspected), "more suspect" if len(flagged) else "suspect")
        parts += ["", Line(f"{more}, without guarantee", HEADING), worst_rows(suspected, most)]
    elif not len(flagged):
        parts += ["", Line("Its least valuable rows", HEADING), worst_rows(frame, most)]
    if facts.wrong_labels is not None:
        which = "large errors only" if result.predicts_number else "if wrong at random"
        parts.append(f"estimated share of wrong labels: {_between(facts.wrong_labels)}, {which}")
    if facts.odd_features is not None:
        parts.append(f"estimated share of rows with odd features: {_between(facts.odd_features)}")
    if facts.untested and tested:
        parts.append(f"never flagged: {facts.untested} rows of classes that others hardly have")
    return parts


def _between(estimate: Estimate) -> str:
    """A share with its interval, if it has one."""
    interval = f" ({100 * estimate.low:.0f} to {whole_percent(estimate.high)})"
    return whole_percent(estimate.share) + (interval if estimate.low < estimate.high else "")


def worst_rows(rows: pd.DataFrame, most: int) -> Grid:
    """The rows with the lowest values: what is suspicious about each, and which label is suggested instead.

    Labels are suggested only where one is doubted; ``labelled``, if it is a column, says what the label is now.
    """
    from fedbary.valuation.cleaning import suggestions, suspicions

    worst = rows.nsmallest(most, "value")
    columns = {"row": worst["row"], "value": worst["value"].map(number), "suspicious": suspicions(worst)}
    if (labels := suggestions(worst)).notna().any():
        columns |= {"labelled": worst["labelled"]} if "labelled" in worst else {}
        columns["suggested label"] = labels.fillna("–")
    return Grid(list(columns), list(zip(*columns.values(), strict=True)), ("value",))


def _rows_by_model(
    table: str, model: Path, *, name: str, row_id: str | None, reading: ReadOptions, folder: Path
) -> Valuation:
    """Value the rows of a table by a model that came as a file, and write them and a report for their owner."""
    from fedbary.data.files import read
    from fedbary.engines.files.message_file import FileKind, MessageFile
    from fedbary.engines.local import one_thread
    from fedbary.guard.owner_files import load_owner_view, save_rows
    from fedbary.protocols.cards import Cards
    from fedbary.protocols.forms import check_message
    from fedbary.protocols.registry import exchanges_of
    from fedbary.space.schema import Schema

    message, _ = MessageFile.load(model, FileKind.MODEL).message()
    check_message(exchanges_of(Cards.name), Cards.name, message)
    schema, settings, rules = Schema.from_json(str(message.scalars["schema"])), Cards(numbers=False), RowRules()
    label = schema.label.name
    config = owner_config(table, label=label, row_id=row_id, reading=reading, name=name)
    rows = read(table, label, id=row_id, options=reading, reading=schema.reading)
    client = settings.client(rows, rules=rules, seed=0)
    with one_thread():
        client.answer(message)
        save_rows(client, settings, rules, config, folder=folder, table=rows)
    missing = folder / "no-row-values.txt"
    if missing.is_file():
        raise DataError("cli.no-row-values", table=str(table), why=missing.read_text(encoding="utf-8").strip())
    return load_owner_view(folder)
