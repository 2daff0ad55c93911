"""`fedbary check`: an owner looks at a table before anything is shared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import OWN_READING, Json, OwnLabel, OwnTable, RowId
from fedbary.cli.ui.settings_options import with_settings
from fedbary.data.options import ReadOptions

if TYPE_CHECKING:
    from fedbary.checkup.result import Checkup
    from fedbary.errors import DataError

_REFUSED = 2


@with_settings(reading=OWN_READING)
def check(
    table: OwnTable,
    *,
    label: OwnLabel = None,
    row_id: RowId = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The federation's schema.json, from its coordinator.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(metavar="FILE", help="Rows like the coordinator's, where there is no schema.")
    ] = None,
    fix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a copy in which what is certain is corrected, and list each change."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the check as a page, too, for yourself alone.")
    ] = None,
    reading: ReadOptions,
    json: Json = False,
) -> None:
    """Look at a table before taking part: what it holds, what is wrong with it, what a federation would refuse.

    TABLE is your file, folder of images or database. Of each column the check says how it is read, what is missing,
    and what stands out: codes for missing values, numbers in another unit, categories and labels in another spelling,
    rows that repeat others. With the federation's schema it also says what the coordinator would be told. The exit
    code is 2 where a federation would refuse the table, and 0 otherwise; --fix leaves the table as it is, and so does
    everything else. Nothing is sent: the check runs on this machine only.
    """
    from fedbary.checkup.check import check as check_table
    from fedbary.cli.ui.table_view import show_checkup
    from fedbary.cli.ui.tables import bulleted, screen
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.filling import COMMAND

    found = check_table(table, label, id=row_id, schema=schema, reference=reference, options=reading)
    fixed = [] if fix is None else [one.note.text(COMMAND) for one in found.fix(fix)]
    written = {} if html is None else {"report": found.report(html)}
    if json:
        write_json(found.to_json(COMMAND) | {"fixed": fixed, "written": written | ({"copy": fix} if fix else {})})
        raise typer.Exit(_REFUSED if found.refused else 0)
    console = screen()
    show_checkup(console, found)
    if fix is not None:
        console.print("\nCorrected" if fixed else "\nThere was nothing to correct that is certain.", style="bold")
        console.print(bulleted(fixed))
        console.print(f"\ncopy    {visible(fix)}", soft_wrap=True)
    if html is not None:
        console.print(f"\nreport  {visible(html)}", soft_wrap=True)
    console.print("\nNothing was sent: the check ran on this machine only.")
    if found.refused:
        raise _refusal(found)


def _refusal(checkup: Checkup) -> DataError:
    """Why a federation would refuse the table, in one sentence."""
    from fedbary.checkup.finding import Severity
    from fedbary.errors import DataError
    from fedbary.notes import Note

    first, *others = checkup.of(Severity.REFUSED)
    if not others:
        return DataError(first.code, **first.note.facts).at(checkup.origin)
    plain = {name: fact for name, fact in first.note.facts.items() if name != "where"}
    return DataError("checkup.refused", where=checkup.origin, count=1 + len(others), first=Note(first.code, plain))
