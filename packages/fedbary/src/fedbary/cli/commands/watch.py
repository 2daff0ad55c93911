"""`fedbary watch`: a run in progress, in a terminal."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import typer

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import SOME_FAILED, argument, flag
from fedbary.errors import DataError, ProtocolError
from fedbary.views.page import Line, Page

_INTERRUPTED = 130


@command("fedbary watch out")
def watch(
    folder: Path = argument("The output folder of a run, now or soon.", "DIR"),
    *,
    once: bool = flag("--once", "Say how the run is doing now, and stop."),
) -> Page:
    """Follow a run of `fedbary value` or of a federation's server from its output folder.

    Shows the nodes that joined, the exchanges, who failed and why, and the distances so far; when the run has
    finished, the ranking and where the report is. Without a terminal every event is a line, with --json every change
    is a line of JSON. Exit codes: 0 all is well, 2 the run stopped, 3 some clients failed.
    """
    from fedbary.cli.ui.run_screen import ending, follow, look_until, picture
    from fedbary.cli.ui.session import session
    from fedbary.cli.ui.terminal import screen, show
    from fedbary.engines.live import Watched

    if folder.exists() and not folder.is_dir():
        raise DataError("cli.not-an-output-folder", path=str(folder))
    watched, console = Watched(folder), screen()
    last: object = None

    def print_change() -> None:
        nonlocal last
        now = watched.to_dict()
        if now != last:
            sys.stdout.write(json.dumps(now, ensure_ascii=False, allow_nan=False) + "\n")
            sys.stdout.flush()
            last = now

    def over() -> bool:
        return watched.is_over(time.time())

    try:
        if once:
            for _ in watched.look():
                pass
        elif session().json:
            look_until(over, watched, lambda _: None, print_change)
        else:
            if not console.is_terminal:
                show(Line(f"watching {watched.folder}", whole=True))
            follow(watched, console, over)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
    run, refusal = watched.run, None
    if run.standing == "stopped":
        how = run.phase.rstrip(".")
        refusal = ProtocolError("cli.run-stopped", folder=str(folder), how=how, remedy=watched.remedy)
    finished = run.standing == "finished"
    parts = picture(watched) if once and not finished else ending(watched)
    data = watched.to_dict() if once else None  # else every change was printed
    return Page(parts, data, SOME_FAILED if finished and run.failed else 0, refusal)
