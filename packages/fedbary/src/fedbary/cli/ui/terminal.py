"""A terminal: pages as it shows them, how far a run is, and a browser beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.cli.ui.session import session, visible
from fedbary.views.page import Files, Grid, Items, Line, Page, Part, words_of
from fedbary.wording import on_one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from fedbary.engines.events import Event, Listener

_OFF = "FEDBARY_NO_BROWSER"
_EIGHTHS = " ▏▎▍▌▋▊▉"


def screen() -> Console:
    """Standard output, with every way of reading data as instructions turned off; silent where --quiet was given."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, quiet=session().quiet)


def show(*parts: Part) -> None:
    """Print parts of a page, unless programs are to read it in the end."""
    if session().json:
        return
    console = screen()
    for part in parts:
        whole = isinstance(part, Line) and part.whole
        console.print(rendered(part), soft_wrap=whole)


def finish(page: Page) -> None:
    """Show a page as it was asked for, and end as it says."""
    import typer

    programs = session().json
    if not programs:
        show(*page.parts)
    elif page.data is not None:
        sys.stdout.write(page.json())
    if page.refusal is not None and not (programs and page.code):
        raise page.refusal
    if page.code:
        raise typer.Exit(page.code)


def rendered(part: Part) -> RenderableType:
    """A part as rich prints it."""
    from rich import box
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    def text(cell: object) -> Text:
        return Text(visible(words_of(cell)), style=getattr(cell, "look", ""))

    match part:
        case Items() | Files():
            bullets = isinstance(part, Items)
            table = Table.grid(padding=(0, 1 if bullets else 2))
            table.add_column(width=1 if bullets else None)
            table.add_column(overflow="fold")  # with a hanging indent
            for line in part.lines if isinstance(part, Items) else ():
                table.add_row(Text("•", style=getattr(line, "look", "")), text(words_of(line)))
            for what, place in part.places.items() if isinstance(part, Files) else ():
                table.add_row(Text(f"  {what.replace('_', ' ')}"), text(place))
            return table
        case Grid():
            caption = part.more or None
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, caption=caption, caption_justify="left")
            for name in part.columns:
                title = Text("\n".join(map(visible, name.split("\n"))))
                right = name in part.numeric
                table.add_column(title, justify="right" if right else "left", no_wrap=right, overflow="fold")
            for row in part.rows:
                table.add_row(*map(text, row))
            return table
    indent = part.indent if isinstance(part, Line) else 0
    return Padding(text(part), (0, 0, 0, indent)) if indent else text(part)


def share_bar(share: float, widest: float, width: int) -> str:
    """A bar of block characters, as exact as an eighth of a column."""
    eighths = round(8 * width * share / widest)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def open_file(path: Path) -> bool:
    """Open a file in the browser of this machine; returns whether one was started.

    Where none can be, it says on standard error where the file is, and the command goes on. ``FEDBARY_NO_BROWSER=1``
    keeps every command from opening anything, for scripts and tests.
    """
    if os.environ.get(_OFF) == "1":
        return False
    if has_screen():
        import webbrowser

        try:
            if webbrowser.open(path.resolve().as_uri()):
                return True
        except (webbrowser.Error, OSError):
            pass
    print(f"no browser could be opened: the report is {visible(path.resolve())}", file=sys.stderr)
    return False


def has_screen() -> bool:
    """Whether a window can be opened; without a screen Python would choose a browser that takes over the terminal."""
    if sys.platform in ("darwin", "win32") or os.environ.get("BROWSER"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"))


@contextmanager
def progress(first: str) -> Iterator[Listener | None]:
    """Show how far a run is; yields what `fedbary.value` takes as ``progress``.

    The bar fills once per exchange: how many there will be is not known before they have settled. No bar is shown
    where standard error is not a terminal, and with --quiet and --verbose, which says the same in lines.
    """
    session().phase(first)
    if not _shows_bar():
        yield session().record if session().listens else None
        return
    from fedbary.engines.events import ASKED

    with _display(first, bar=True) as update:

        def listen(event: Event) -> None:
            session().record(event)
            if event.kind == "server-busy":
                update(event.detail)
            elif event.asked:
                what = ASKED.get(event.asked, f"exchange {event.exchange}")
                what = f"{what} {event.exchange - 1}" if event.asked == "step" else what
                update(f"{what}, {event.done} of {event.total} clients", event.done, event.total)

        yield listen


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """Show what is being done; yields the function that is told, in words of this package."""
    if not _shows_bar():
        yield session().phase
        return
    with _display("starting", bar=False) as update:

        def say(what: str) -> None:
            session().phase(what)
            update(what)

        yield say


@contextmanager
def _display(first: str, *, bar: bool) -> Iterator[Callable[..., None]]:
    """Words, and how much of what they are about is done; also while images and texts are encoded meanwhile."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from fedbary.data.encoders import watching_encoders

    words = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), words, *([BarColumn(bar_width=24)] if bar else []), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(first, total=None)

        def update(said: str, done: int | None = None, total: int | None = None) -> None:
            display.update(task, description=said, completed=done, total=total)

        def encoding(column: str, done: int, total: int) -> None:
            update(f"encoding {on_one_line(column)}, {done:,} of {total:,} cells", done, total)

        with watching_encoders(encoding):
            yield update


def _shows_bar() -> bool:
    return sys.stderr.isatty() and not session().quiet and not session().verbose
