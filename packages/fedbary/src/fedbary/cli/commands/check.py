"""`fedbary check`: an owner looks at a table before anything is shared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import OWN_LABEL, OWN_TABLE, ROW_ID, option
from fedbary.cli.ui.results import guess_parts
from fedbary.cli.ui.settings import OWN_READING
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError
from fedbary.filling import COMMAND
from fedbary.notes import Note
from fedbary.views.page import HEADING, Grid, Items, Line, Page, Part
from fedbary.wording import counted, number

if TYPE_CHECKING:
    from fedbary.checkup.result import Checkup, LabelFacts

_REFUSED = 2
_MOST_COLUMNS, _MOST_CLASSES = 30, 20
# By the words of `fedbary.checkup.findings.Severity`, the worst first.
_TITLES = {
    "refused": ("A federation would refuse this table", "bold red"),
    "doubtful": ("Look at", "bold yellow"),
    "note": ("Worth knowing", HEADING),
}


@command("fedbary check mine.parquet --schema schema.json", reading=OWN_READING)
def check(
    table: str = OWN_TABLE,
    *,
    label: str | None = OWN_LABEL,
    row_id: str | None = ROW_ID,
    schema: Path | None = option("The federation's schema.json, from its coordinator.", "FILE"),
    reference: str | None = option("Rows like the coordinator's, where there is no schema.", "FILE"),
    fix: Path | None = option("Write a copy in which what is certain is corrected, and list each change.", "FILE"),
    html: Path | None = option("Write the check as a page, too, for yourself alone.", "FILE"),
    reading: ReadOptions,
) -> Page:
    """Look at a table before taking part: what it holds, what is wrong with it, what a federation would refuse.

    TABLE is your file, folder of images or database. Of each column the check says how it is read, what is missing,
    and what stands out: codes for missing values, numbers in another unit, categories and labels in another spelling,
    rows that repeat others. With the federation's schema it also says what the coordinator would be told. The exit
    code is 2 where a federation would refuse the table, and 0 otherwise; --fix leaves the table as it is, and so does
    everything else. Nothing is sent: the check runs on this machine only.
    """
    from fedbary.checkup.check import check as check_table

    checkup = check_table(table, label, id=row_id, schema=schema, reference=reference, options=reading)
    parts, files = _parts(checkup), {}
    fixed = [] if fix is None else [one.note.text(COMMAND) for one in checkup.fix(fix)]
    if html is not None:
        files["report"] = checkup.report(html)
    if fix is not None:
        title = "Corrected" if fixed else "There was nothing to correct that is certain."
        parts += ["", Line(title, HEADING), Items(fixed), "", Line(f"copy    {fix}", whole=True)]
        files["copy"] = fix
    if html is not None:
        parts += ["", Line(f"report  {html}", whole=True)]
    parts += ["", "Nothing was sent: the check ran on this machine only."]
    data = checkup.to_json(COMMAND) | {"fixed": fixed, "written": files}
    return Page(parts, data, *((_REFUSED, _refusal(checkup)) if checkup.refused else ()))


def _parts(checkup: Checkup) -> list[Part]:
    """What a table holds, and what was found in it, the worst first."""
    from fedbary.checkup.findings import Severity
    from fedbary.checkup.result import of_columns

    copies = f", {counted(checkup.copies, 'row')} repeating an earlier one" if checkup.copies else ", none twice"
    used = counted(sum(column.used for column in checkup.columns), "feature column")
    columns = _first(("column", "kind", "missing", "values"), of_columns(checkup), _MOST_COLUMNS, "missing", "column")
    parts: list[Part] = [f"{counted(checkup.rows, 'row')}{copies}; {used}.", "", *columns, "", *_label(checkup.label)]
    parts += guess_parts([note.text(COMMAND) for note in checkup.read])
    for severity, (title, look) in _TITLES.items():
        if found := checkup.of(Severity(severity)):
            parts += ["", Line(title, look), Items([finding.text(COMMAND) for finding in found])]
    if checkup.refused:
        return parts
    if checkup.schema is None:
        return [*parts, "", Line("A federation with default settings would take this table.", HEADING)]
    would = (
        "In a run with default settings the coordinator would be told, besides a distance, its lower end, a mean "
        "cost and estimated shares of wrong labels and odd features:"
    )
    fits = Line(f"The table fits the schema {checkup.schema}.", HEADING)
    return [*parts, "", fits, would, Items([note.text(COMMAND) for note in checkup.told])]


def _label(label: LabelFacts) -> list[Part]:
    if not label.classes:
        ends = f"from {number(label.low)} to {number(label.high)}"
        return [f"Label '{label.name}': a number {ends}, on average {number(label.mean)}."]
    classes = _first(("class", "rows"), label.classes, _MOST_CLASSES, "rows", "class")
    return [f"Label '{label.name}': {counted(len(label.classes), 'class')}", "", *classes]


def _first(
    columns: tuple[str, ...], rows: Sequence[Sequence[object]], most: int, numeric: str, noun: str
) -> list[Part]:
    """As many rows as a screen holds."""
    more = [f"… and {counted(len(rows) - most, f'more {noun}')}."] if len(rows) > most else []
    return [Grid(columns, rows[:most], (numeric,)), *more]


def _refusal(checkup: Checkup) -> DataError:
    """Why a federation would refuse the table, in one sentence."""
    from fedbary.checkup.findings import Severity

    first, *others = checkup.of(Severity.REFUSED)
    if not others:
        return DataError(first.code, **first.note.facts).at(checkup.origin)
    plain = {name: fact for name, fact in first.note.facts.items() if name != "where"}
    return DataError("checkup.refused", where=checkup.origin, count=1 + len(others), first=Note(first.code, plain))
