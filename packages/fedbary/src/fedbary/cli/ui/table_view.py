"""A checkup on a screen: columns, label, and what was found, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.checkup.finding import Severity
from fedbary.checkup.result import of_columns
from fedbary.cli.ui.tables import bulleted, show_guesses
from fedbary.cli.ui.tables import table as grid
from fedbary.cli.ui.terminal_text import visible
from fedbary.filling import COMMAND
from fedbary.wording import counted, number

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.checkup.described import LabelFacts
    from fedbary.checkup.result import Checkup

_MOST_COLUMNS, _MOST_CLASSES = 30, 20
_TITLES = {
    Severity.REFUSED: ("A federation would refuse this table", "bold red"),
    Severity.DOUBTFUL: ("Look at", "bold yellow"),
    Severity.NOTE: ("Worth knowing", "bold"),
}


def show_checkup(console: Console, checkup: Checkup) -> None:
    """What a table holds, and what was found in it."""
    copies = f", {counted(checkup.copies, 'row')} repeating an earlier one" if checkup.copies else ", none twice"
    used = sum(column.used for column in checkup.columns)
    console.print(f"{counted(checkup.rows, 'row')}{copies}; {counted(used, 'feature column')}.\n")
    rows = of_columns(checkup)
    console.print(grid(("column", "kind", "missing", "values"), rows[:_MOST_COLUMNS], numeric=("missing",)))
    if len(rows) > _MOST_COLUMNS:
        console.print(f"… and {counted(len(rows) - _MOST_COLUMNS, 'more column')}.")
    console.print("")
    _show_label(console, checkup.label)
    show_guesses(console, [note.text(COMMAND) for note in checkup.read])
    for severity, (title, style) in _TITLES.items():
        if found := checkup.of(severity):
            console.print(f"\n{title}", style=style)
            console.print(bulleted([finding.text(COMMAND) for finding in found]))
    _show_verdict(console, checkup)


def _show_label(console: Console, label: LabelFacts) -> None:
    name = visible(label.name)
    if not label.classes:
        console.print(
            f"Label '{name}': a number from {number(label.low)} to {number(label.high)}, "
            f"on average {number(label.mean)}."
        )
        return
    console.print(f"Label '{name}': {counted(len(label.classes), 'class')}\n")
    console.print(grid(("class", "rows"), label.classes[:_MOST_CLASSES], numeric=("rows",)))
    if len(label.classes) > _MOST_CLASSES:
        console.print(f"… and {counted(len(label.classes) - _MOST_CLASSES, 'more class')}.")


def _show_verdict(console: Console, checkup: Checkup) -> None:
    if checkup.refused:
        return
    if checkup.schema is None:
        console.print("\nA federation with default settings would take this table.", style="bold")
        return
    console.print(f"\nThe table fits the schema {checkup.schema}.", style="bold")
    console.print(
        "In a run with default settings the coordinator would be told, besides a distance, its lower end, a mean "
        "cost and estimated shares of wrong labels and odd features:"
    )
    console.print(bulleted([note.text(COMMAND) for note in checkup.told]))
