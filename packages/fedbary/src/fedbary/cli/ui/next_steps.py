"""What to type next in a federation, as lines that can be copied into a shell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from fedbary.cli.ui.session import program, session

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.deploy.network import Step


def run_step(folder: Path) -> Step:
    """A run, once all else is done."""
    from fedbary.deploy.network import Step

    command = f"{program()} federation run {quote(str(folder))} --reference FILE --label COLUMN"
    return Step(command, "to value the nodes; without --reference and --label, among each other")


def doctor_step(folder: Path) -> Step:
    """A look at everything."""
    from fedbary.deploy.network import Step

    return Step(f"{program()} federation doctor {quote(str(folder))}", "to see what is missing")


def again_step() -> Step:
    """The command that was typed, for a run that nothing but its settings or an owner's policy has stopped."""
    from fedbary.deploy.network import Step

    return Step(session().typed_command(), "once that is mended or allowed")


def show_steps(console: Console, title: str, steps: Iterable[Step]) -> None:
    """Each command on a line of its own, under a line that says who types it."""
    console.print(title, style="bold")
    for step in steps:
        console.print(f"  # {step.where}", style="dim", soft_wrap=True)
        console.print(f"  {step.command}", soft_wrap=True)
