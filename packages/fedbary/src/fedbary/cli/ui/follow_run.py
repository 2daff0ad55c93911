"""A run followed on the screen until it is over: as a picture in a terminal, as a line per event elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.engines.live import Logged, Watched

_EVERY = 0.5


def follow(watched: Watched, console: Console, over: Callable[[], bool], *, says_why: bool = True) -> None:
    """Show the run as it goes on; without ``says_why`` somebody else says why it stopped."""
    from fedbary.cli.ui.run_screen import in_words, picture

    if console.is_terminal:
        from rich.live import Live

        with Live(picture(watched), console=console, auto_refresh=False, transient=True) as display:
            look_until(over, watched, lambda _: None, lambda: display.update(picture(watched), refresh=True))
    else:

        def in_a_line(entry: Logged) -> None:
            if says_why or entry.event.kind != "run-stopped":
                console.print(in_words(entry, watched.run), soft_wrap=True)

        look_until(over, watched, in_a_line, lambda: None)


def look_until(
    over: Callable[[], bool], watched: Watched, on_event: Callable[[Logged], None], on_look: Callable[[], None]
) -> None:
    """Look at the run's events twice a second, and once more when it is over."""
    while True:
        ended = over()
        for entry in watched.look():
            on_event(entry)
        on_look()
        if ended:
            return
        time.sleep(_EVERY)
