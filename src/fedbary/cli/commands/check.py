"""`fedbary check`: an owner looks at a table before anything is shared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json, RowId
from fedbary.cli.ui.table_view import class_counts, is_constant, kind_in_words, repeated_rows, show_table

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.data.table import Table
    from fedbary.space.schema import Schema


def check(
    file: Annotated[Path, typer.Argument(help="Your CSV or Parquet file.", show_default=False)],
    label: Annotated[
        str | None, typer.Option(metavar="COL", help="The label column. Default: the schema's, or 'label'.")
    ] = None,
    row_id: RowId = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The federation's schema.json, from its coordinator.")
    ] = None,
    json: Json = False,
) -> None:
    """Look at a table before taking part: what it holds, and what a federation would refuse.

    FILE is your CSV or Parquet file. With the federation's schema the check also says whether the table fits (exit
    code 0) or not (exit code 2), and what the coordinator would be told: cells without a value, columns beyond
    anything in the reference, labels in another coding. Nothing is sent, and nothing is written: the check runs on
    this machine only.
    """
    from fedbary.cli.ui.tables import screen
    from fedbary.data.files import read
    from fedbary.space.schema import Schema

    agreed = None if schema is None else Schema.load(schema)
    table = read(file, label or (agreed.label.name if agreed else "label"), id=row_id)
    if json:
        write_json(_for_programs(table, agreed))
        return
    console = screen()
    show_table(console, table)
    if agreed is None:
        _show_refusals(console, table)
    else:
        _show_fit(console, table, agreed)
    console.print("\nNothing was sent: the check ran on this machine only.")


def _for_programs(table: Table, schema: Schema | None) -> dict[str, Any]:
    missing = table.missing()
    columns = [
        {
            "name": name,
            "kind": kind_in_words(column),
            "missing": int(missing[name]),
            "constant": is_constant(column),
        }
        for name, column in table.columns.items()
    ]
    label: dict[str, Any] = {"name": table.label_name}
    if table.has_classes:
        label["classes"] = [{"class": name, "rows": rows} for name, rows in class_counts(table)]
    else:
        label |= {"low": table.labels.min(), "mean": table.labels.mean(), "high": table.labels.max()}
    content = {"rows": len(table), "repeated_rows": repeated_rows(table), "columns": columns, "label": label}
    if schema is None:
        return content | {"refusals": _refusals(table)}
    learned, refusals = _learned(table, schema)
    return content | {"schema": schema.fingerprint, "would_send": learned, "refusals": refusals}


def _show_refusals(console: Console, table: Table) -> None:
    from fedbary.cli.ui.tables import bulleted

    refusals = _refusals(table)
    if refusals:
        console.print("\nA federation with default settings would refuse this table", style="bold")
        console.print(bulleted(refusals))
    else:
        console.print("\nA federation with default settings would take this table.")


def _refusals(table: Table) -> list[str]:
    """What the default settings refuse: columns that look like identifiers, a doubtful label, too few rows."""
    from fedbary.errors import FedbaryError
    from fedbary.protocols.interpolation import Interpolation
    from fedbary.space.description import describe
    from fedbary.space.options import Space
    from fedbary.wording import COMMAND

    sentences = []
    # One column at a time: a single description would stop at the first problem.
    for name, column in table.columns.items():
        alone = table.replace(columns={name: column})
        try:
            describe(alone, Space(), min_group=Interpolation().min_group)
        except FedbaryError as error:
            sentences.append(error.note.text(COMMAND))
    return list(dict.fromkeys(sentences))


def _show_fit(console: Console, table: Table, schema: Schema) -> None:
    from fedbary.cli.ui.tables import bulleted

    learned, refusals = _learned(table, schema)
    console.print(f"\nThe table fits the schema {schema.fingerprint}.", style="bold")
    console.print(
        "In a run with default settings the coordinator would be told, besides a distance, its lower end, a mean "
        "cost and estimated shares of wrong labels and odd features:"
    )
    console.print(bulleted(learned))
    for refusal in refusals:
        console.print(f"But {refusal}")


def _learned(table: Table, schema: Schema) -> tuple[list[str], list[str]]:
    """What the coordinator would be told of a table that fits, and what a run would still refuse."""
    from fedbary.protocols.sketch import Sketch
    from fedbary.space.notes import fit_notes, require_known_labels
    from fedbary.space.points import embed, missing_share
    from fedbary.wording import COMMAND, counted, percent

    cloud, min_group = embed(table, schema), Sketch().min_group
    require_known_labels(table, schema, cloud, min_group=min(min_group, cloud.distinct))
    notes = fit_notes(table, schema, cloud, min_group=min_group)
    missing = f"{percent(missing_share(table, schema))} of the cells have no value"
    learned = [counted(cloud.rows, "row"), missing, *(note.text(COMMAND) for note in notes)]
    if cloud.distinct >= min_group:
        return learned, []
    few = counted(cloud.distinct, "different row")
    return learned, [f"{few} would be refused there: min_group asks for {min_group} at least."]
