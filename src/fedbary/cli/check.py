"""`fedbary check`: an owner looks at a table before anything is shared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.data.columns import Array
    from fedbary.data.table import Table
    from fedbary.space import Schema

_MOST_COLUMNS, _MOST_CLASSES = 30, 20


def check(
    file: Annotated[Path, typer.Argument(help="Your CSV or Parquet file.", show_default=False)],
    label: Annotated[
        str | None, typer.Option(metavar="COL", help="The label column. Default: the schema's, or 'label'.")
    ] = None,
    row_id: Annotated[str | None, typer.Option("--id", help="A column of unique row ids.", metavar="COL")] = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The federation's schema.json, from its coordinator.")
    ] = None,
) -> None:
    """Look at a table before taking part: what it holds, and what a federation would refuse.

    FILE is your CSV or Parquet file. With the federation's schema the check also says whether the table fits (exit
    code 0) or not (exit code 2), and what the coordinator would be told. Nothing is sent, and nothing is written:
    the check runs on this machine only.
    """
    from fedbary.cli.screen import screen
    from fedbary.data.files import read
    from fedbary.space.schema import Schema

    agreed = None if schema is None else Schema.load(schema)
    table = read(file, label or (agreed.label.name if agreed else "label"), id=row_id)
    console = screen()
    _show_table(console, table)
    if agreed is None:
        _show_refusals(console, table)
    else:
        _show_fit(console, table, agreed)
    console.print("\nNothing was sent: the check ran on this machine only.")


def _show_table(console: Console, table: Table) -> None:
    from fedbary.cli import screen
    from fedbary.cli.text import plural
    from fedbary.data.columns import kind_of

    missing = table.missing()
    rows = [
        (name, f"block of {column.shape[1]}" if column.ndim == 2 else kind_of(column), missing[name], _remark(column))
        for name, column in list(table.columns.items())[:_MOST_COLUMNS]
    ]
    repeated = int(table.replace(ids=None).to_frame().duplicated().sum())
    copies = f", {plural(repeated, 'row')} repeating an earlier one" if repeated else ", none twice"
    console.print(f"{plural(len(table), 'row')}{copies}; {plural(len(table.columns), 'feature column')}.\n")
    console.print(screen.table(("column", "kind", "missing", "note"), rows, numeric=("missing",)))
    if len(table.columns) > _MOST_COLUMNS:
        console.print(f"… and {plural(len(table.columns) - _MOST_COLUMNS, 'more column')}.")
    console.print("")
    _show_labels(console, table)


def _remark(column: Array) -> str:
    """A constant column is fine, but says nothing."""
    import pandas as pd

    return "constant" if column.ndim == 1 and pd.Series(column).nunique() <= 1 else ""


def _show_labels(console: Console, table: Table) -> None:
    from collections import Counter

    from fedbary.cli import screen
    from fedbary.cli.text import number, plural, visible
    from fedbary.space.labels import class_names

    name = visible(table.label_name)
    if not table.has_classes:
        low, mean, high = (float(v) for v in (table.labels.min(), table.labels.mean(), table.labels.max()))
        console.print(f"Label '{name}': a number from {number(low)} to {number(high)}, on average {number(mean)}.")
        return
    counts = Counter(class_names(table.labels).tolist()).most_common()
    console.print(f"Label '{name}': {plural(len(counts), 'class')}\n")
    console.print(screen.table(("class", "rows"), counts[:_MOST_CLASSES], numeric=("rows",)))
    if len(counts) > _MOST_CLASSES:
        console.print(f"… and {plural(len(counts) - _MOST_CLASSES, 'more class')}.")


def _show_refusals(console: Console, table: Table) -> None:
    from fedbary.cli.screen import bulleted

    refusals = _refusals(table)
    if refusals:
        console.print("\nA federation with default settings would refuse this table", style="bold")
        console.print(bulleted(refusals))
    else:
        console.print("\nA federation with default settings would take this table.")


def _refusals(table: Table) -> list[str]:
    """What the default settings refuse: each missing value's column, a doubtful label, too few rows."""
    from fedbary.errors import FedbaryError
    from fedbary.protocols.interpolation import Interpolation
    from fedbary.space import Space, describe

    sentences = []
    # One column at a time: a single description would stop at the first problem.
    for name, column in table.columns.items():
        alone = table.replace(columns={name: column})
        try:
            describe(alone, Space(), min_group=Interpolation().min_group)
        except FedbaryError as error:
            sentences.append(str(error))
    return list(dict.fromkeys(sentences))


def _show_fit(console: Console, table: Table, schema: Schema) -> None:
    from fedbary.cli.screen import bulleted
    from fedbary.cli.text import plural
    from fedbary.protocols.sketch import Sketch
    from fedbary.space import embed
    from fedbary.space.notes import fit_notes

    cloud = embed(table, schema)
    console.print(f"\nThe table fits the schema {schema.fingerprint}.", style="bold")
    min_group = Sketch().min_group
    told = [plural(cloud.rows, "row"), *fit_notes(table, schema, min_group=min_group)]
    console.print("In a run with default settings the coordinator would be told, besides a distance and a mean cost:")
    console.print(bulleted(told))
    if cloud.distinct < min_group:
        few = plural(cloud.distinct, "different row")
        console.print(f"But {few} would be refused there: min_group asks for {min_group} at least.")
