"""Progress on standard error, while somebody is looking: a bar, or a spinner with words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fedbary.cli.ui.session import session as current
from fedbary.wording import on_one_line

if TYPE_CHECKING:
    from fedbary.engines.events import Event, Listener


@contextmanager
def progress(first: str) -> Iterator[Listener | None]:
    """Show how far a run is; yields what `fedbary.value` takes as ``progress``.

    The bar fills once per exchange: how many there will be is not known before they have settled. No bar is shown
    where standard error is not a terminal, and with --quiet and --verbose, which says the same in lines.
    """
    session = current()
    session.phase(first)
    if not _shows_bar():
        yield session.record if session.listens else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from fedbary.engines.events import ASKED

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(first, total=None)

        def listen(event: Event) -> None:
            session.record(event)
            if event.kind == "server-busy":
                display.update(task, total=None, description=event.detail)
            elif event.asked:
                what = ASKED.get(event.asked, f"exchange {event.exchange}")
                what = f"{what} {event.exchange - 1}" if event.asked == "step" else what
                display.update(
                    task,
                    total=event.total,
                    completed=event.done,
                    description=f"{what}, {event.done} of {event.total} clients",
                )

        with _encoding(lambda words, done, total: display.update(task, total=total, completed=done, description=words)):
            yield listen


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """Show what is being done; yields the function that is told, in words of this package."""
    session = current()
    if not _shows_bar():
        yield session.phase
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("starting", total=None)

        def say(what: str) -> None:
            session.phase(what)
            display.update(task, description=what)

        with _encoding(lambda words, *_: display.update(task, description=words)):
            yield say


@contextmanager
def _encoding(show: Callable[[str, int, int], None]) -> Iterator[None]:
    """Show how far images and texts are encoded, wherever tables are read meanwhile."""
    from fedbary.data.encoders import watching_encoders

    def watch(column: str, done: int, total: int) -> None:
        show(f"encoding {on_one_line(column)}, {done:,} of {total:,} cells", done, total)

    with watching_encoders(watch):
        yield


def _shows_bar() -> bool:
    return sys.stderr.isatty() and not current().quiet and not current().verbose
