"""What commands print: plain text and tables that take data literally."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fedbary.cli.ui.terminal_text import one_line, visible
from fedbary.filling import COMMAND

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from fedbary.valuation.outcome import Outcome
    from fedbary.valuation.result import Valuation

_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"
# By the words of `fedbary.valuation.verdict.Advice`.
_STYLES = {
    "include": "green",
    "look at first": "yellow",
    "leave out": "red",
    "nothing can be said": "dim",
    "not valued": "red",
}
_WORTH_OPENING = ("report", "owner_report", "clients", "rows", "models", "training", "schema", "data")


def screen() -> Console:
    """Standard output, with every way of reading data as instructions turned off; silent where --quiet was given."""
    from rich.console import Console

    from fedbary.cli.ui.session import session

    return Console(markup=False, emoji=False, highlight=False, quiet=session().quiet)


def table(columns: Iterable[str], rows: Iterable[Sequence[object]], *, numeric: Iterable[str] = ()) -> Table:
    """A table of literal text; the columns in ``numeric`` stand flush right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    right = set(numeric)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        grid.add_column(
            Text(name), justify="right" if name in right else "left", no_wrap=name in right, overflow="fold"
        )
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(visible(cell)) for cell in row))
    return grid


def bulleted(lines: Iterable[str]) -> Table:
    """Sentences with a hanging indent."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row(Text("•"), Text(visible(line)))
    return grid


def share_bar(share: float, widest: float, width: int = _BAR_WIDTH) -> str:
    """A bar of block characters, as exact as an eighth of a column.

    Examples
    --------
    >>> share_bar(0.5, 1.0, width=3)
    '█▌'
    """
    eighths = round(8 * width * share / widest)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def rounded(value: float, shape: str = ".2f") -> str:
    """A number of so many decimals, or a dash where it is not known."""
    return format(value, shape) if math.isfinite(value) else "–"


def clients(result: Valuation) -> Table:
    """The clients, those with a problem first, as far as they fit a screen."""
    from rich.text import Text

    from fedbary.views.result_tables import clients_on_a_screen

    header, rows, more = clients_on_a_screen(result)
    shown = table(
        [name.replace(" ", "\n") for name in header],
        [(*cells, Text(advice, style=_STYLES[advice])) for *cells, advice in rows],
        numeric=[name.replace(" ", "\n") for name in header if name not in ("client", "verdict")],
    )
    shown.caption, shown.caption_justify = more or None, "left"
    return shown


def verdict(result: Valuation) -> Table:
    """What to do with whom and why, problems first."""
    from rich.table import Table
    from rich.text import Text

    from fedbary.views.verdict_lines import groups

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for group in groups(result, COMMAND):
        grid.add_row(Text("•", style=_STYLES[group.advice]), Text(visible(group)))
    return grid


def show_result(console: Console, result: Valuation) -> None:
    """The verdict, then the clients with their numbers."""
    from rich.text import Text

    from fedbary.views.result_tables import summary
    from fedbary.views.verdict_lines import about_the_reference, headline

    console.print(Text(headline(result.verdict()), style="bold"))
    for line in about_the_reference(result, COMMAND):
        console.print(Text(visible(line)))
    console.print(verdict(result), "", clients(result), "", summary(result), sep="\n")


def remarks(result: Valuation) -> Table | None:
    """What is to be said besides the verdict; None if there is nothing."""
    from fedbary.views import result_tables, verdict_lines

    header = result_tables.clients_on_a_screen(result)[0]
    lines = verdict_lines.remarks(result, COMMAND) + result_tables.column_notes(result, header)
    return bulleted(lines) if lines else None


def _remark(client: str, outcome: Outcome) -> str:
    status = "" if outcome.ok else f"{outcome.status}: "
    return f"{client}: {status}{'; '.join(note.text(COMMAND) for note in outcome.notes)}"


def file_list(files: Mapping[str, str]) -> Table:
    """Where to look first."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(overflow="fold")
    for what in _WORTH_OPENING:
        if what in files:
            grid.add_row(Text(f"  {what.replace('_', ' ')}"), Text(visible(files[what])))
    return grid


def show_valuation(result: Valuation, files: Mapping[str, str], guesses: Sequence[str] = ()) -> None:
    """The verdict, the clients, notes, how files were read, and what was written; with --quiet, who failed and why."""
    from fedbary.cli.ui.session import session

    if session().quiet:
        for name in (*result.failed, *result.without_rows):
            print(f"error: {one_line(_remark(name, result.outcomes[name]))}", file=sys.stderr)
        return
    console = screen()
    show_result(console, result)
    notes = remarks(result)
    if notes is not None:
        console.print(notes)
    show_guesses(console, guesses, "How the files were read")
    console.print("", file_list(files), sep="\n")


def show_guesses(console: Console, guesses: Sequence[str], title: str = "How it was read") -> None:
    """What was guessed when a table was read, if anything was."""
    if guesses:
        console.print(f"\n{title}", style="bold")
        console.print(bulleted(guesses))
