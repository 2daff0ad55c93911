"""What commands print: plain text and tables that take data literally."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fedbary.cli.ui.terminal_text import one_line, visible
from fedbary.wording import COMMAND, counted, number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from fedbary.valuation.outcome import Outcome
    from fedbary.valuation.result import Valuation

_BAR_WIDTH, _SHORTEST_BAR = 20, 5
_GAP = 3  # between two columns
_EIGHTHS = " ▏▎▍▌▋▊▉"
_WORTH_OPENING = ("report", "owner_report", "clients", "rows", "schema", "data")


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
    """A number of so many decimals, or a dash where it is not known.

    Examples
    --------
    >>> rounded(0.125, "+.1f"), rounded(float("nan"))
    ('+0.1', '–')
    """
    return format(value, shape) if math.isfinite(value) else "–"


def ranking(result: Valuation) -> Table:
    """The clients, best first, with their shares as bars."""
    from rich.text import Text

    ranked = result.ranking()
    widest = float(ranked["share"].max())
    extra = [name for name in ("quality", "flagged") if ranked[name].notna().any()]
    # A Shapley value says more about a share than the distance does, and both do not fit 80 columns.
    main = "distance" if result.scores is None else "value"
    if result.scores is not None:
        ranked["value"] = result.scores.to_frame().set_index("client")["value"].reindex(ranked["client"]).to_numpy()
    cells: list[list[str]] = []
    for client in ranked.to_dict("records"):
        name, share = str(client["client"]), client["share"]
        if name in result.failed:
            cells.append([name, "–", "–", *("–" for _ in extra), "–", str(client["status"])])
        else:
            more = [str(client["flagged"]) if column == "flagged" else number(client[column]) for column in extra]
            # Nobody has a share where nobody adds anything.
            percent = f"{100 * share:.1f} %" if share >= 0 else "–"
            numbers = [str(client["rows"]), number(client[main]), *more, percent]
            cells.append([name, *numbers, "ok, see note" if client["notes"] else "ok"])
    columns = ["client", "rows", main, *extra, "share", "status"]
    room = _room_for_bars(columns, cells)
    if room:
        columns.insert(-1, "")
    rows: list[Sequence[object]] = []
    for line, share in zip(cells, ranked["share"], strict=True):
        status = line[-1] if result.outcomes[line[0]].ok else Text(line[-1], style="red")
        bar = [Text(share_bar(share, widest, room) if share >= 0 else "", style="cyan")] if room else []
        rows.append((*line[:-1], *bar, status))
    return table(columns, rows, numeric=("rows", main, *extra, "share"))


def _room_for_bars(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    """How wide bars may be beside whole names; 0 where they would be too short to compare."""
    longest = [max(len(visible(text)) for text in column) for column in zip(columns, *cells, strict=True)]
    room = screen().width - sum(longest) - _GAP * len(columns)
    return min(room, _BAR_WIDTH) if room >= _SHORTEST_BAR else 0


def remarks(result: Valuation) -> Table | None:
    """What the outcomes and notes say at length, those in trouble first; None if there is nothing to say."""
    outcomes = sorted(result.outcomes.items(), key=lambda item: item[1].ok)
    lines = [_remark(name, outcome) for name, outcome in outcomes if outcome.notes or not outcome.ok]
    lines += [note.text(COMMAND) for note in result.notes]
    return bulleted(lines) if lines else None


def _remark(client: str, outcome: Outcome) -> str:
    status = "" if outcome.ok else f"{outcome.status}: "
    return f"{client}: {status}{'; '.join(note.text(COMMAND) for note in outcome.notes)}"


def summary(result: Valuation) -> str:
    """How many clients were valued, against what."""
    reference = result.settings.get("reference_rows")
    target = f"{counted(reference, 'reference row')}" if reference else "the clients' barycenter"
    valued = len(result.clients) - len(result.failed)
    how = "distance to" if result.scores is None else "what each adds to the others, judged by"
    noise = result.settings.get("epsilon")
    private = "" if noise is None else f" Answers carry noise for ε = {noise:g}, so numbers differ from run to run."
    return f"{valued} of {counted(len(result.clients), 'client')} valued by {how} {target}.{private}"


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


def show_valuation(result: Valuation, files: Mapping[str, str]) -> None:
    """The ranking, what is to be said of it, and where everything was written; with --quiet, who failed and why."""
    from fedbary.cli.ui.session import session

    if session().quiet:
        for name in (*result.failed, *result.without_rows):
            print(f"error: {one_line(_remark(name, result.outcomes[name]))}", file=sys.stderr)
        return
    console = screen()
    console.print(summary(result), "", ranking(result), "", sep="\n")
    notes = remarks(result)
    if notes is not None:
        console.print(notes, "", sep="\n")
    console.print(file_list(files))
