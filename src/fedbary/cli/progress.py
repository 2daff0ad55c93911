"""A progress bar on standard error, while somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedbary.engines.events import Event, Listener

_WORDS = {
    "describe": "agreeing on a schema",
    "moments": "agreeing on a schema",
    "start": "starting the clients",
    "step": "round",
    "scores": "scoring",
    "rows": "valuing the rows",
}


@contextmanager
def progress(first: str, *, rounds: int) -> Iterator[Listener | None]:
    """Show how far a run is; yields what `fedbary.value` takes as ``progress``.

    Nothing is shown, and None is yielded, where standard error is not a terminal.
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
        # One exchange starts the clients and one values the rows; clients that settle early leave some out.
        task = display.add_task(first, total=rounds + 2)

        def listen(event: Event) -> None:
            if event.kind == "run-finished":
                display.update(task, completed=rounds + 2, description="done")
            elif event.total:
                what = _WORDS.get(event.asked, event.asked)
                which = f" {event.exchange - 1} of {rounds}" if event.asked == "step" else ""
                begun = rounds + 1 if event.asked == "rows" else max(event.exchange - 1, 0)
                display.update(
                    task,
                    completed=begun + event.done / event.total,
                    description=f"{what}{which}, {event.done} of {event.total} clients",
                )

        yield listen
