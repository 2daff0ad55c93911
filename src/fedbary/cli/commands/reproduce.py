"""`fedbary reproduce`: compute a table of the documentation again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.ui.completion import DATASETS, EXPERIMENTS, one_of, several_of
from fedbary.cli.ui.interrupts import on_interrupt
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json, Output, comma_separated, refuse_file
from fedbary.cli.ui.session import session

if TYPE_CHECKING:
    from fedbary.research.experiments import Experiment
    from fedbary.research.experiments.cells import Done, Progress

_OWN = "Data and methods of your own"


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="Which experiment.", show_default=False, autocompletion=one_of(*EXPERIMENTS)),
    ] = None,
    *,
    listed: Annotated[bool, typer.Option("--list", help="Say what each experiment shows, and stop.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="A tiny version that shows that everything runs.")] = False,
    only: Annotated[
        str, typer.Option(help="Only cells with this text in their name, such as a data set.", show_default=False)
    ] = "",
    extension: Annotated[
        Path | None,
        typer.Option(
            "--with",
            metavar="FILE.py",
            help="A Python file that registers data sets or methods of your own.",
            show_default=False,
            rich_help_panel=_OWN,
        ),
    ] = None,
    data: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="Data sets instead of the experiment's.",
            show_default=False,
            autocompletion=several_of(*DATASETS),
            rich_help_panel=_OWN,
        ),
    ] = "",
    methods: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="Methods to compare. Default: the experiment's, and those of --with.",
            show_default=False,
            rich_help_panel=_OWN,
        ),
    ] = "",
    output: Output = Path("fedbary-reproduce"),
    workers: Annotated[
        int | None,
        typer.Option(
            help="Cells to compute at a time, each in its own process. Default: all cores.", show_default=False, min=1
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compute a table of the documentation again, from the data to the Markdown.

    Without a NAME the experiments are listed. Every cell of a table is kept as soon as it is computed: the same
    command goes on where an interrupted one stopped, and computes nothing twice. With data sets or methods of your
    own the results have a folder of their own.
    """
    from fedbary.research.experiments import find
    from fedbary.research.experiments.extensions import Extension, extended

    if name is None or listed:
        _list(json=json)
        return
    refuse_file(output)
    own = Extension.read(extension, comma_separated(data), comma_separated(methods))
    experiment = extended(find(name), own)
    place, processes = experiment.folder(output, smoke=smoke), workers or _processors()
    with _progress() as progress, on_interrupt(lambda: _finished_cells(experiment, place, smoke)):
        table = experiment.run(output, smoke=smoke, only=only, workers=processes, progress=progress)
    if json:
        files = {name: str(place / name) for name in ("table.md", "table.csv", "records.csv", "cells")}
        write_json({"experiment": name, "smoke": smoke, "table": table, "files": files})
    elif not session().quiet:
        sys.stdout.write((place / "table.md").read_text(encoding="utf-8"))
        print(f"\nwritten to {place}: table.md, table.csv, records.csv, cells/", file=sys.stderr)


def _list(*, json: bool) -> None:
    from fedbary.cli.ui.tables import screen, table
    from fedbary.research import experiments

    known = experiments.EXPERIMENTS
    if json:
        write_json({"experiments": [{"name": experiment.name, "shows": experiment.shows} for experiment in known]})
    else:
        screen().print(table(("name", "what it shows"), [(experiment.name, experiment.shows) for experiment in known]))


def _finished_cells(experiment: Experiment, place: Path, smoke: bool) -> str:
    """What an interrupted experiment leaves, and how to go on."""
    from fedbary.research.experiments.cells import cached_seconds

    there = cached_seconds(experiment.cells(smoke), place / "cells", digest=experiment.digest)
    done = sum(seconds is not None for seconds in there)
    return f"interrupted: {done} of {len(there)} cells are kept in {place}; go on with\n  {session().typed_command()}"


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal; otherwise a line per cell, for the log of a run that takes hours."""
    if not sys.stderr.isatty() or session().quiet or session().verbose:
        yield _print_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (MofNCompleteColumn(), BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as display:
        task = display.add_task("starting", total=None)

        def show(done: Done) -> None:
            _note(done)
            display.update(task, completed=done.done, total=done.total, description=done.cell)
            if done.error:
                display.console.print(_line(done))

        yield show


def _print_line(done: Done) -> None:
    _note(done)
    if not session().quiet:
        print(_line(done), file=sys.stderr, flush=True)


def _note(done: Done) -> None:
    """A cell in the log: data sets and settings of the experiment, which are no secret, and of an error its type."""
    error = done.error.partition(":")[0]
    session().note("cell", done=done.done, total=done.total, cell=done.cell, seconds=done.seconds, error=error)


def _line(done: Done) -> str:
    from fedbary.cli.ui.terminal_text import one_line

    took = f"{done.seconds:.1f} s" if done.seconds else "was there"
    return one_line(f"[{done.done}/{done.total}] {done.cell}: {f'error: {done.error}' if done.error else took}")


def _processors() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
