"""`fedbary watch`: a run in progress, in a terminal."""

from __future__ import annotations

import json as json_text
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.ui.options import SOME_FAILED, Json
from fedbary.errors import DataError, ProtocolError

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.engines.live import Watched

_INTERRUPTED = 130


def watch(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The output folder of a run, now or soon.", show_default=False)
    ],
    *,
    once: Annotated[bool, typer.Option("--once", help="Say how the run is doing now, and stop.")] = False,
    json: Json = False,
) -> None:
    """Follow a run of `fedbary value` or of a federation's server from its output folder.

    Shows the nodes that joined, the exchanges, who failed and why, and the distances so far; when the run has
    finished, the ranking and where the report is. Without a terminal every event is a line, with --json every change
    is a line of JSON. Exit codes: 0 all is well, 2 the run stopped, 3 some clients failed.
    """
    from fedbary.cli.ui.tables import screen
    from fedbary.engines.live import Watched

    if folder.exists() and not folder.is_dir():
        raise DataError("cli.not-an-output-folder", path=str(folder))
    watched, console = Watched(folder), screen()
    try:
        if once:
            _show_once(watched, console, json=json)
        elif json:
            _follow_as_json(watched)
        else:
            _follow(watched, console)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
    if watched.run.standing == "stopped":
        raise ProtocolError(
            "cli.run-stopped", folder=str(folder), how=watched.run.phase.rstrip("."), remedy=watched.remedy
        )
    if watched.run.standing == "finished" and watched.run.failed:
        raise typer.Exit(SOME_FAILED)


def _show_once(watched: Watched, console: Console, *, json: bool) -> None:
    from fedbary.cli.ui.json import write_json
    from fedbary.cli.ui.run_screen import ending, picture

    for _ in watched.look():
        pass
    if json:
        write_json(watched.to_dict())
    else:
        console.print(ending(watched) if watched.run.standing == "finished" else picture(watched))


def _follow_as_json(watched: Watched) -> None:
    from fedbary.cli.ui.follow_run import look_until

    last: object = None

    def print_change() -> None:
        nonlocal last
        now = watched.to_dict()
        if now != last:
            sys.stdout.write(json_text.dumps(now, ensure_ascii=False, allow_nan=False) + "\n")
            sys.stdout.flush()
            last = now

    look_until(lambda: watched.is_over(time.time()), watched, lambda _: None, print_change)


def _follow(watched: Watched, console: Console) -> None:
    from fedbary.cli.ui.follow_run import follow
    from fedbary.cli.ui.run_screen import ending

    if not console.is_terminal:
        console.print(f"watching {watched.folder}", soft_wrap=True)
    follow(watched, console, lambda: watched.is_over(time.time()))
    console.print(ending(watched))
