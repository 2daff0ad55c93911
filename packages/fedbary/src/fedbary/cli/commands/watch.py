"""`fedbary watch`: a run on the screen until it is over, as a picture or as lines, and the ranking at last."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import SOME_FAILED, argument, flag
from fedbary.cli.ui.session import one_line, session
from fedbary.cli.ui.terminal import rendered, screen, share_bar, show
from fedbary.errors import DataError, ProtocolError
from fedbary.views.page import HEADING, Cell, Grid, Items, Line, Page, Part
from fedbary.wording import counted, duration, number

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.engines.events import Event
    from fedbary.engines.live import Logged, RunProgress, Watched

_INTERRUPTED = 130
_EVERY = 0.5
_BAR = 16
_MOST_NAMED = 10
_LOOKS = {"waiting": "dim", "answered": "", "failed": "red"}


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
    from fedbary.engines.live import Watched

    if folder.exists() and not folder.is_dir():
        raise DataError("cli.not-an-output-folder", path=str(folder))
    watched, console, last = Watched(folder), screen(), None

    def over() -> bool:
        return watched.is_over(time.time())

    try:
        if once:
            list(watched.look())
        elif session().json:
            for events in looks(watched, over):
                list(events)
                if (now := watched.to_dict()) != last:
                    print(json.dumps(now, ensure_ascii=False, allow_nan=False), flush=True)
                    last = now
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


def follow(watched: Watched, console: Console, over: Callable[[], bool], *, says_why: bool = True) -> None:
    """Show the run as it goes on; without ``says_why`` somebody else says why it stopped."""
    if not console.is_terminal:
        for events in looks(watched, over):
            for entry in events:
                if says_why or entry.event.kind != "run-stopped":
                    console.print(in_words(entry, watched.run), soft_wrap=True)
        return
    from rich.console import Group
    from rich.live import Live

    with Live(console=console, auto_refresh=False, transient=True) as display:
        for events in looks(watched, over):
            list(events)
            display.update(Group(*map(rendered, picture(watched))), refresh=True)


def looks(watched: Watched, over: Callable[[], bool]) -> Iterator[Iterator[Logged]]:
    """The new events of each look, twice a second, and once more when it is over; the run's state goes along."""
    while True:
        ended = over()
        yield watched.look()
        if ended:
            return
        time.sleep(_EVERY)


def picture(watched: Watched) -> list[Part]:
    """The run as it is now."""
    run = watched.run
    if run.started is None:
        return [f"Waiting for a run to begin in {watched.folder} …"]
    phase, now = one_line(run.phase), time.time()
    facts = [f"{run.joined} of {run.wanted} nodes joined"] if run.wanted else []
    facts += [f"exchange {run.exchange}", f"{run.answered} of {run.asked} answered"] if run.exchange else []
    facts += [f"started {duration(now - run.started)} ago", f"last news {duration(now - (run.last or now))} ago"]
    title = Line(phase[:1].upper() + phase[1:], HEADING)
    return [title, Line(" · ".join(facts), "dim"), "", *_clients(run)]


def ending(watched: Watched) -> list[Part]:
    """What is left when the run is over: the ranking, who failed, and the report."""
    from fedbary.engines.live import REPORT

    run = watched.run
    valued = sum(client.distance is not None for client in run.clients.values())
    lasted = duration((run.last or 0.0) - (run.started or 0.0))
    how = "Finished in" if run.standing == "finished" else "Stopped after"
    first = f"{how} {lasted}: {valued} of {counted(max(run.total, len(run.clients)), 'client')} with a distance."
    parts: list[Part] = [Line(first, HEADING), "", *_clients(run)]
    if run.standing == "finished":
        there = watched.report is not None
        parts += ["", f"report  {watched.folder / REPORT}" if there else "There is no report.html in the folder."]
    return parts


def in_words(entry: Logged, run: RunProgress) -> str:
    """An event as a line; ``run`` is the state after it."""
    clock = datetime.fromtimestamp(entry.time).strftime("%H:%M:%S")
    return f"{clock}  {one_line(_event_in_words(entry.event, run))}"


def _event_in_words(event: Event, run: RunProgress) -> str:
    where, answers = f"exchange {event.exchange}", f"{event.done} of {event.total}"
    nearest = sorted(event.values.items(), key=lambda item: item[1])
    distances = [f"{name} {number(distance)}" for name, distance in nearest[:_MOST_NAMED]]
    more = [f"and {len(nearest) - _MOST_NAMED} more"] if len(nearest) > _MOST_NAMED else []
    words = {
        "run-started": f"the run has started with {counted(event.total, 'client')}",
        "round-started": f"{where}: {run.phase}, {counted(event.total, 'client')} asked",
        "client-replied": f"{where}: {event.client} answered, {answers}",
        "client-failed": f"{where}: {event.client} failed, {answers}: {event.detail}",
        "round-finished": f"{where}: done",
        "distances": f"{where}: distances so far: {', '.join([*distances, *more])}",
        **dict.fromkeys(("nodes-joined", "server-busy", "run-finished", "run-stopped"), run.phase),
    }
    return words.get(event.kind, event.kind)


def _clients(run: RunProgress) -> list[Part]:
    farthest = max((client.distance or 0.0 for client in run.clients.values()), default=0.0) or 1.0
    rows = [
        (
            name,
            number(client.distance),
            Cell("" if client.distance is None else share_bar(client.distance, farthest, _BAR), "cyan"),
            Cell(client.state, _LOOKS[client.state]),
        )
        for name, client in run.ranked()
    ]
    parts: list[Part] = [Grid(("client", "distance", "", "state"), rows, ("distance",))] if rows else []
    if run.failed:
        parts += ["", Items([f"{name} failed: {reason}" for name, reason in run.failed.items()])]
    return parts
