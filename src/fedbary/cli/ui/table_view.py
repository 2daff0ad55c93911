"""What a table holds, for its owner: columns and their kinds, repeated rows, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.cli.ui.tables import table as grid
from fedbary.cli.ui.terminal_text import visible
from fedbary.wording import counted, number

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.data.columns import Array
    from fedbary.data.table import Table

_MOST_COLUMNS, _MOST_CLASSES = 30, 20


def show_table(console: Console, table: Table) -> None:
    """How many rows, which columns of which kind, and the labels."""
    missing = table.missing()
    rows = [
        (name, kind_in_words(column), missing[name], "constant" if is_constant(column) else "")
        for name, column in list(table.columns.items())[:_MOST_COLUMNS]
    ]
    repeated = repeated_rows(table)
    copies = f", {counted(repeated, 'row')} repeating an earlier one" if repeated else ", none twice"
    console.print(f"{counted(len(table), 'row')}{copies}; {counted(len(table.columns), 'feature column')}.\n")
    console.print(grid(("column", "kind", "missing", "note"), rows, numeric=("missing",)))
    if len(table.columns) > _MOST_COLUMNS:
        console.print(f"… and {counted(len(table.columns) - _MOST_COLUMNS, 'more column')}.")
    console.print("")
    _show_labels(console, table)


def _show_labels(console: Console, table: Table) -> None:
    name = visible(table.label_name)
    if not table.has_classes:
        low, mean, high = (float(v) for v in (table.labels.min(), table.labels.mean(), table.labels.max()))
        console.print(f"Label '{name}': a number from {number(low)} to {number(high)}, on average {number(mean)}.")
        return
    counts = class_counts(table)
    console.print(f"Label '{name}': {counted(len(counts), 'class')}\n")
    console.print(grid(("class", "rows"), counts[:_MOST_CLASSES], numeric=("rows",)))
    if len(counts) > _MOST_CLASSES:
        console.print(f"… and {counted(len(counts) - _MOST_CLASSES, 'more class')}.")


def kind_in_words(column: Array) -> str:
    """What a column holds."""
    from fedbary.data.columns import kind_of

    return f"block of {column.shape[1]}" if column.ndim == 2 else kind_of(column)


def is_constant(column: Array) -> bool:
    """Whether all rows say the same, which is fine, but says nothing."""
    import pandas as pd

    return bool(column.ndim == 1 and pd.Series(column).nunique() <= 1)


def repeated_rows(table: Table) -> int:
    """Rows that repeat an earlier one."""
    return int(table.replace(ids=None).to_frame().duplicated().sum())


def class_counts(table: Table) -> list[tuple[str, int]]:
    """How many rows each class has, the largest first."""
    from collections import Counter

    from fedbary.space.labels import class_names

    return Counter(class_names(table.labels).tolist()).most_common()
