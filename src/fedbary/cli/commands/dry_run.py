"""`--dry-run`: what a command would do, what it would write, and what it would cost; nothing is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from fedbary.cli.commands.estimates import Estimate, in_words
from fedbary.cli.commands.peek import Peek
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import SOME_FAILED
from fedbary.errors import DataError, FedbaryError

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Say what would be done, written and needed (time, memory), and stop. Writes nothing."
    ),
]


@dataclass(frozen=True)
class Plan:
    """What would happen.

    Parameters
    ----------
    clients, server
        What the files hold: each client's, and the reference's and test rows' by what they are.
    work
        Lines that say what would be computed.
    settings
        What would be used, the defaults included.
    writes
        Files and folders that would be written.
    """

    clients: Mapping[str, Peek]
    server: Mapping[str, Peek] = field(default_factory=dict)
    work: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    writes: tuple[str, ...] = ()

    @property
    def usable(self) -> dict[str, Peek]:
        """Clients whose files can be used."""
        return {name: one for name, one in self.clients.items() if not one.problem}


def finish(plan: Plan, trial: Callable[[dict[str, Peek]], Estimate], *, json: bool) -> None:
    """Estimate, and print the plan; leaves with 3 where a client's file cannot be used, as the command would."""
    from fedbary.cli.ui.progress import spinner

    for what, one in plan.server.items():
        if one.problem:
            raise DataError(f"{what}: {one.problem}")
    found: Estimate | None = None
    why = "no client's file can be used"
    if plan.usable:
        with spinner() as tell:
            tell("measuring small runs of the same work")
            try:
                found = trial(plan.usable)
            except FedbaryError as error:
                why = f"a run with few of the rows was refused: {error}"
    if json:
        write_json(_for_programs(plan, found, why))
    else:
        _show(plan, found, why)
    if len(plan.usable) < len(plan.clients):
        raise typer.Exit(SOME_FAILED)


def cost_lines(found: Estimate | None, why: str = "") -> list[str]:
    """An estimate in words."""
    if found is None:
        return [f"time and memory: no estimate, as {why}"]
    time, memory = _range(found.seconds, in_words), _range(found.megabytes, _memory)
    return [f"time: {time}", f"memory: {memory}", f"estimated from {found.how}"]


def _range(ends: tuple[float, float], words: Callable[[float], str]) -> str:
    low, high = words(ends[0]), words(ends[1]) if math.isfinite(ends[1]) else ""
    if not high:
        return f"more than {low}"
    return low if low == high else f"{low} to {high}"


def cost_for_programs(found: Estimate | None, why: str = "") -> dict[str, Any]:
    """An estimate for `write_json`."""
    if found is None:
        return {"seconds": None, "megabytes": None, "how": why}
    return {"seconds": found.seconds, "megabytes": found.megabytes, "how": found.how}


def _show(plan: Plan, found: Estimate | None, why: str) -> None:
    from fedbary.cli.ui.tables import bulleted, screen, table
    from fedbary.cli.ui.terminal_text import plural

    console = screen()
    console.print("A dry run: nothing is written.\n", style="bold")
    peeks = [*plan.clients.items(), *((f"({what})", one) for what, one in plan.server.items())]
    rows = [(name, _rows(one), one.columns, _memory(one.bytes / 1e6), _note(one)) for name, one in peeks]
    console.print(table(("client", "rows", "columns", "file", "note"), rows, numeric=("rows", "columns", "file")))
    total = sum(one.rows for one in plan.usable.values())
    clients = plural(len(plan.usable), "client")
    settings = ", ".join(f"{name} {_setting(value)}" for name, value in plan.settings.items())
    lines = [f"{clients} with {plural(total, 'row')} in all", *plan.work, f"settings: {settings}"]
    lines += [f"would write {', '.join(plan.writes)}", *cost_lines(found, why)]
    console.print("")
    console.print(bulleted(lines))


def _for_programs(plan: Plan, found: Estimate | None, why: str) -> dict[str, Any]:
    return {
        "dry_run": True,
        "clients": [{"client": name, **one.for_programs()} for name, one in plan.clients.items()],
        "server": {what: one.for_programs() for what, one in plan.server.items()},
        "work": plan.work,
        "settings": plan.settings,
        "writes": plan.writes,
        "estimate": cost_for_programs(found, why),
    }


def _rows(one: Peek) -> str:
    return "–" if one.problem else f"{'' if one.exact else 'about '}{one.rows:,}"


def _note(one: Peek) -> str:
    return f"cannot be used: {one.problem}" if one.problem else ""


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{name} {_setting(item)}" for name, item in value.items()) + ")"
    words = {None: "–", True: "yes", False: "no"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _memory(megabytes: float) -> str:
    if megabytes < 0.1:
        return f"{1000 * megabytes:.0f} kB"
    if megabytes < 10:
        return f"{megabytes:.1f} MB"
    return f"{megabytes:,.0f} MB" if megabytes < 10_000 else f"{megabytes / 1000:,.0f} GB"
