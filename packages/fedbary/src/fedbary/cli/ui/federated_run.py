"""A run in a federation on the screen, from who is missing to its verdict and its report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.interrupts import on_interrupt
from fedbary.cli.ui.session import program, session
from fedbary.cli.ui.terminal_text import one_line
from fedbary.errors import DataError

if TYPE_CHECKING:
    from fedbary.deploy.network import Network, Step
    from fedbary.deploy.plan import Plan
    from fedbary.deploy.runs import SubmittedRun
    from fedbary.engines.coordinator import RunOutcome
    from fedbary.engines.live import Watched

BAD_INPUT = 2


def missing_steps(folder: Path, plan: Plan, net: Network, wanted: Sequence[str]) -> list[Step]:
    """What has to be typed for each node that is not online; a server that is not there is an error."""
    found = net.status(folder)
    chosen = [node for node in found["nodes"] if node["name"] in wanted]
    step = net.next_step(folder, plan, {**found, "nodes": chosen})
    if step is None:
        return []
    if not found["server"]["answers"]:
        raise DataError(
            "deploy.server-away", address=plan.address, problem=found["server"]["problem"], type=step.command
        )
    if all(node["registered"] is False for node in chosen):
        raise DataError("deploy.nobody-registered", address=plan.address, type=step.command)
    steps = [net.next_step(folder, plan, {**found, "nodes": [node]}) for node in chosen]
    return [step for step in steps if step is not None]


def follow_to_the_end(run: SubmittedRun, watched: Watched, *, json: bool, show: bool | None) -> int:
    """Show the run as it goes on and how it ended; returns the exit code that this means."""
    from fedbary.cli.ui.follow_run import follow, look_until
    from fedbary.cli.ui.tables import screen

    console = screen()
    with on_interrupt(lambda: _stopped(run, watched)):
        if json or console.quiet:
            look_until(run.is_over, watched, lambda entry: session().record(entry.event), lambda: None)
        else:
            words = f"Run {run.number} has begun; Ctrl-C stops it. From another terminal: {_watch(run)}"
            console.print(words, soft_wrap=True)
            # The log of events leaves out what may not be shown around; the outcome has the whole sentence.
            follow(watched, console, run.is_over, says_why=False)
    outcome = run.outcome
    if outcome is None and not run.ours and not run.why:
        console.print(f"Run {run.number} is over; 'flwr log {run.number}' shows what the app said.", soft_wrap=True)
        return 0
    if outcome is None or outcome.exit_code is None:
        again = session().typed_command(*(["--resume"] if watched.resumable else []))
        raise DataError("deploy.no-outcome", run=run.number, output=str(run.output), why=run.why or None, type=again)
    _show(run, outcome, json=json, show=show)
    return outcome.exit_code


def _stopped(run: SubmittedRun, watched: Watched) -> str:
    """End the run that nobody waits for any more; say what is left of it."""
    print("stopping the run …", file=sys.stderr, flush=True)
    if not run.stop():
        return f"interrupted: run {run.number} could not be stopped, and may go on; see {_watch(run)}"
    if not watched.resumable:
        return f"interrupted: run {run.number} is stopped; no round was finished, nothing was kept"
    command = session().typed_command("--resume")
    return f"interrupted: run {run.number} is stopped, its finished rounds are in {run.output}; go on with\n  {command}"


def _watch(run: SubmittedRun) -> str:
    """What shows the run in any other terminal."""
    return f"{program()} watch {quote(str(run.output.absolute()))}"


def _show(run: SubmittedRun, outcome: RunOutcome, *, json: bool, show: bool | None) -> None:
    from fedbary.cli.ui.browser import has_screen, open_file
    from fedbary.cli.ui.json import write_json
    from fedbary.cli.ui.tables import show_valuation
    from fedbary.cli.ui.written_result import for_programs, written_files
    from fedbary.valuation.result import Valuation

    result = None if outcome.report is None else Valuation.load(run.output)
    written = {} if result is None else written_files(run.output)
    if json:
        content: dict[str, Any] = {"run": run.number, "outcome": asdict(outcome), "output": str(run.output)}
        write_json(content | ({} if result is None else for_programs(result, written)))
    elif result is not None:
        show_valuation(result, written)
    if outcome.exit_code not in (0, 3):
        print(f"error: {one_line(outcome.text)}", file=sys.stderr)
    wanted = sys.stdout.isatty() and has_screen() if show is None else show
    if result is not None and wanted and not json:
        open_file(run.output / str(outcome.report))
