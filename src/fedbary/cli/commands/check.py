"""`fedbary check`: an owner looks at a table before anything is shared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json, RowId

if TYPE_CHECKING:
    from fedbary.checkup.result import Checkup
    from fedbary.errors import DataError

_REFUSED = 2


def check(
    file: Annotated[Path, typer.Argument(help="Your CSV or Parquet file.", show_default=False)],
    *,
    label: Annotated[
        str | None, typer.Option(metavar="COL", help="The label column. Default: the schema's, or 'label'.")
    ] = None,
    row_id: RowId = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The federation's schema.json, from its coordinator.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows like the coordinator's, where there is no schema.")
    ] = None,
    json: Json = False,
) -> None:
    """Look at a table before taking part: what it holds, what is wrong with it, what a federation would refuse.

    FILE is your CSV or Parquet file. Of each column the check says how it is read, what is missing, and what stands
    out: codes for missing values, numbers in another unit, categories and labels in another spelling, rows that
    repeat others. With the federation's schema it also says what the coordinator would be told. The exit code is 2
    where a federation would refuse the table, and 0 otherwise. Nothing is sent: the check runs on this machine only.
    """
    from fedbary.checkup.check import check as check_table
    from fedbary.cli.ui.table_view import show_checkup
    from fedbary.cli.ui.tables import screen
    from fedbary.wording import COMMAND

    found = check_table(file, label, id=row_id, schema=schema, reference=reference)
    if json:
        write_json(found.to_json(COMMAND))
        raise typer.Exit(_REFUSED if found.refused else 0)
    console = screen()
    show_checkup(console, found)
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
