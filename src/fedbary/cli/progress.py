"""Progress on standard error, while somebody is looking: a bar, or a spinner with words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedbary.engines.events import Event, Listener

_WORDS = {
    "describe": "agreeing on a schema",
    "moments": "agreeing on a schema",
    "start": "starting the clients",
    "sketch": "comparing with the sketch",
    "centroids": "class centres",
    "final": "final distances",
    "step": "round",
    "scores": "scoring",
    "rows": "valuing the rows",
}


@contextmanager
def progress(first: str) -> Iterator[Listener | None]:
    """Show how far a run is; yields what `fedbary.value` takes as ``progress``.

    The bar fills once per exchange: how many there will be is not known before they have settled. Nothing is shown,
    and None is yielded, where standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(first, total=None)

        def listen(event: Event) -> None:
            if event.kind == "server-busy":
                display.update(task, total=None, description=event.detail)
            elif event.asked:
                what = _WORDS.get(event.asked, f"exchange {event.exchange}")
                what = f"{what} {event.exchange - 1}" if event.asked == "step" else what
                display.update(
                    task,
                    total=event.total,
                    completed=event.done,
                    description=f"{what}, {event.done} of {event.total} clients",
                )

        yield listen


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """Show what is being done; yields the function that is told."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("starting", total=None)
        yield lambda what: display.update(task, description=what)
