"""A watched run on the screen: as a picture that changes, as lines, and as the ranking in the end."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

from fedbary.cli.ui.terminal_text import one_line, visible
from fedbary.wording import counted, duration, number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fedbary.engines.events import Event
    from fedbary.engines.live import Logged, RunState, Watched

_BAR = 16
_MOST_NAMED = 10
_STYLES = {"waiting": "dim", "answered": "", "failed": "red"}


def picture(watched: Watched) -> RenderableType:
    """The run as it is now."""
    from rich.console import Group
    from rich.text import Text

    run = watched.run
    if run.started is None:
        return Text(f"Waiting for a run to begin in {visible(watched.folder)} …")
    parts: list[RenderableType] = [Text(_sentence(run.phase), style="bold"), Text(_facts(run), style="dim"), Text()]
    return Group(*parts, *_clients(run))


def ending(watched: Watched) -> RenderableType:
    """What is left when the run is over: the ranking, who failed, and the report."""
    from rich.console import Group
    from rich.text import Text

    from fedbary.engines.live import REPORT

    run = watched.run
    valued = sum(client.distance is not None for client in run.clients.values())
    lasted = duration((run.last or 0.0) - (run.started or 0.0))
    how = "Finished in" if run.standing == "finished" else "Stopped after"
    first = f"{how} {lasted}: {valued} of {counted(max(run.total, len(run.clients)), 'client')} with a distance."
    parts: list[RenderableType] = [Text(first, style="bold"), Text(), *_clients(run)]
    if run.standing == "finished":
        where = "There is no report.html in the folder."
        if watched.report is not None:
            where = f"report  {visible(watched.folder / REPORT)}"
        parts += [Text(), Text(where, overflow="fold")]
    return Group(*parts)


def in_words(entry: Logged, run: RunState) -> str:
    """An event as a line; ``run`` is the state after it.

    Examples
    --------
    >>> from fedbary.engines.events import Event
    >>> from fedbary.engines.live import Logged
    >>> from fedbary.engines.live import RunState
    >>> in_words(Logged(0.0, Event("client-replied", 2, "step", "north", 1, 5)), RunState())[-36:]
    '  exchange 2: north answered, 1 of 5'
    """
    clock = datetime.fromtimestamp(entry.time).strftime("%H:%M:%S")
    return f"{clock}  {one_line(_event_in_words(entry.event, run))}"


def _event_in_words(event: Event, run: RunState) -> str:
    where = f"exchange {event.exchange}"
    answers = f"{event.done} of {event.total}"
    words = {
        "run-started": f"the run has started with {counted(event.total, 'client')}",
        "round-started": f"{where}: {run.phase}, {counted(event.total, 'client')} asked",
        "client-replied": f"{where}: {event.client} answered, {answers}",
        "client-failed": f"{where}: {event.client} failed, {answers}: {event.detail}",
        "round-finished": f"{where}: done",
        "distances": f"{where}: distances so far: {_nearest(event)}",
        **dict.fromkeys(("nodes-joined", "server-busy", "run-finished", "run-stopped"), run.phase),
    }
    return words.get(event.kind, event.kind)


def _nearest(event: Event) -> str:
    ranked = sorted(event.values.items(), key=lambda item: item[1])
    named = [f"{name} {number(distance)}" for name, distance in ranked[:_MOST_NAMED]]
    more = len(ranked) - len(named)
    return ", ".join([*named, *([f"and {more} more"] if more else [])])


def _clients(run: RunState) -> list[RenderableType]:
    from rich.text import Text

    from fedbary.cli.ui.tables import bulleted, share_bar, table

    farthest = max((client.distance or 0.0 for client in run.clients.values()), default=0.0)
    rows: list[tuple[object, ...]] = []
    for name, client in run.ranked():
        distance, bar = "–", ""
        if client.distance is not None:
            distance = number(client.distance)
            bar = share_bar(client.distance, farthest or 1.0, _BAR)
        rows.append((name, distance, Text(bar, style="cyan"), Text(client.state, style=_STYLES[client.state])))
    parts: list[RenderableType] = []
    if rows:
        parts.append(table(("client", "distance", "", "state"), rows, numeric=("distance",)))
    if run.failed:
        parts += [Text(), bulleted(f"{name} failed: {reason}" for name, reason in run.failed.items())]
    return parts


def _facts(run: RunState) -> str:
    now = time.time()
    nodes = [f"{run.joined} of {run.wanted} nodes joined"] if run.wanted else []
    exchange = [f"exchange {run.exchange}", f"{run.answered} of {run.asked} answered"] if run.exchange else []
    ages = [f"started {duration(now - (run.started or now))} ago", f"last news {duration(now - (run.last or now))} ago"]
    return " · ".join([*nodes, *exchange, *ages])


def _sentence(words: str) -> str:
    clean = one_line(words)
    return clean[:1].upper() + clean[1:]
