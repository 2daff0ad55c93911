"""`fedbary reproduce`: compute a table of the documentation again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from fedbary.experiments.cells import Done, Progress


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which experiment.", show_default=False)] = None,
    *,
    listed: Annotated[bool, typer.Option("--list", help="Say what each experiment shows, and stop.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="A tiny version that shows that everything runs.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("fedbary-reproduce"),
    workers: Annotated[
        int | None, typer.Option(help="Processes. Default: one per processor.", show_default=False, min=1)
    ] = None,
) -> None:
    """Compute a table of the documentation again, from the data to the Markdown.

    Without a NAME the experiments are listed. Every cell of a table is kept as soon as it is computed: the same
    command goes on where an interrupted one stopped, and computes nothing twice.
    """
    from fedbary.experiments import find

    if name is None or listed:
        _list()
        return
    if output.is_file():
        raise SettingsError(f"'{output}' is a file: choose a folder to write to.")
    run = find(name).run()
    from fedbary.experiments.cells import results_folder

    with _progress() as progress:
        run(smoke, output, workers or _processors(), progress)
    place = results_folder(output, name, smoke=smoke)
    sys.stdout.write((place / "table.md").read_text(encoding="utf-8"))
    print(f"\nwritten to {place}: table.md, table.csv, records.csv, cells/", file=sys.stderr)


def _list() -> None:
    from fedbary.cli.screen import screen, table
    from fedbary.experiments import EXPERIMENTS

    rows = [(experiment.name, experiment.shows) for experiment in EXPERIMENTS]
    screen().print(table(("name", "what it shows"), rows))


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal; otherwise a line per cell, for the log of a run that takes hours."""
    if not sys.stderr.isatty():
        yield _print_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (MofNCompleteColumn(), BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as display:
        task = display.add_task("starting", total=None)

        def show(done: Done) -> None:
            display.update(task, completed=done.done, total=done.total, description=done.cell)
            if done.error:
                display.console.print(_line(done))

        yield show


def _print_line(done: Done) -> None:
    print(_line(done), file=sys.stderr, flush=True)


def _line(done: Done) -> str:
    from fedbary.cli.text import one_line

    took = f"{done.seconds:.1f} s" if done.seconds else "was there"
    return one_line(f"[{done.done}/{done.total}] {done.cell}: {f'error: {done.error}' if done.error else took}")


def _processors() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
