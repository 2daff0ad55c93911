"""`fedbary reproduce`: compute a table of the documentation again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import (
    LIST,
    SOME_FAILED,
    argument,
    comma_separated,
    flag,
    one_of,
    option,
    output_folder,
    refuse_file,
    several_of,
)
from fedbary.cli.ui.session import on_interrupt, session
from fedbary.errors import SettingsError
from fedbary.views.page import Grid, Page
from fedbary_lab.cli.cell_progress import cell_progress
from fedbary_lab.cli.completion import DATASETS, EXPERIMENTS

if TYPE_CHECKING:
    from fedbary_lab.experiments import Experiment
    from fedbary_lab.experiments.cells import Progress
    from fedbary_lab.experiments.everything import Finished

ALL = "all"

_OWN = "Data and methods of your own"


@command("fedbary reproduce detection --smoke")
def reproduce(
    name: str | None = argument(
        "Which experiment, or 'all' of them.", default=None, autocompletion=one_of(*EXPERIMENTS, ALL)
    ),
    *,
    listed: bool = flag("--list", "Say what each shows and how long it takes."),
    smoke: bool = flag("--smoke", "A tiny version that shows that everything runs."),
    only: str = option("Only cells with this text in their name, such as a data set.", default="", show_default=False),
    extension: Path | None = option(
        "A Python file that registers data sets or methods of your own.", "FILE.py", "--with", panel=_OWN
    ),
    data: str = option(
        "Data sets instead of the experiment's.",
        LIST,
        default="",
        show_default=False,
        panel=_OWN,
        complete=several_of(*DATASETS),
    ),
    methods: str = option(
        "Methods to compare. Default: the experiment's, and those of --with.",
        LIST,
        default="",
        show_default=False,
        panel=_OWN,
    ),
    output: Path = output_folder("fedbary-reproduce"),
    workers: int | None = option("Cells to compute at a time, each in its own process. Default: all cores.", min=1),
) -> Page:
    """Compute a table of the documentation again, from the data to the Markdown.

    Without a NAME the experiments are listed. Every cell of a table is kept as soon as it is computed: the same
    command goes on where an interrupted one stopped, and computes nothing twice. Beside the tables lie their
    pictures, and a file that says which code, versions and seeds they come from. With data sets
    or methods of your own the results have a folder of their own.
    """
    from fedbary_lab.experiments import find
    from fedbary_lab.experiments.extensions import Extension, extended

    if name is None or listed:
        return _list()
    refuse_file(output)
    processes = workers or _processors()
    own = Extension.read(extension, comma_separated(data), comma_separated(methods))
    if name == ALL and own != Extension():
        raise SettingsError("research.own-in-all")
    if name == ALL:
        return _all(output, smoke=smoke, only=only, workers=processes)
    experiment = extended(find(name), own)
    place = experiment.folder(output, smoke=smoke)
    with cell_progress() as progress, on_interrupt(lambda: _finished_cells([experiment], output, smoke)):
        table = experiment.run(output, smoke=smoke, only=only, workers=processes, progress=progress)
    files = _files(place)
    if not session().json and not session().quiet:
        sys.stdout.write((place / "table.md").read_text(encoding="utf-8"))
        print(f"\nwritten to {place}: {', '.join(files)}{_no_images(files)}", file=sys.stderr)
    paths = {file: str(place / file) for file in files}
    return Page([], {"experiment": name, "smoke": smoke, "table": table, "files": paths})


def _all(output: Path, *, smoke: bool, only: str, workers: int) -> Page:
    """All experiments, each with its own progress, and at the end what became of each."""
    from contextlib import ExitStack

    from fedbary_lab.experiments import everything

    experiments = everything.chosen(smoke=smoke, only=only)
    with on_interrupt(lambda: _finished_cells(experiments, output, smoke)), ExitStack() as shown:

        def progress(experiment: Experiment) -> Progress:
            shown.close()
            place = experiments.index(experiment) + 1
            return shown.enter_context(cell_progress(f"{experiment.name} ({place} of {len(experiments)}) "))

        done = everything.run_all(experiments, output, smoke=smoke, only=only, workers=workers, progress=progress)
    failed = [one.experiment.name for one in done if one.error]
    if not session().json and not session().quiet:
        print(f"written to {output}: index.md and a folder for each", file=sys.stderr)
    header = ("experiment", "cells", "minutes of one core", "")
    data = {"smoke": smoke, "experiments": [_summary(one) for one in done], "index": str(output / "index.md")}
    return Page([Grid(header, list(map(_summary_line, done)), header[1:3])], data, SOME_FAILED if failed else 0)


def _summary_line(one: Finished) -> tuple[object, ...]:
    if one.provenance is None:
        return one.experiment.name, "", "", f"failed: {one.error}"
    whole = "" if one.provenance.complete else "not all cells"
    return one.experiment.name, one.provenance.cells, f"{one.provenance.minutes:.1f}", whole


def _summary(one: Finished) -> dict[str, Any]:
    known = one.provenance
    return {
        "name": one.experiment.name,
        "folder": str(one.folder),
        "error": one.error,
        "seconds": known.seconds if known else None,
        "complete": bool(known and known.complete),
    }


def _files(place: Path) -> list[str]:
    """What an experiment has written, the table first."""
    known = ["table.md", "table.csv", "records.csv", "provenance.json", "pictures.html"]
    images = sorted(file.name for file in place.glob("*.svg"))
    return [*(file for file in known if (place / file).is_file()), *images, "cells"]


def _no_images(files: list[str]) -> str:
    drawn = "pictures.html" in files and not any(file.endswith(".svg") for file in files)
    return "; pictures as SVG files need kaleido and a Chromium, and no --smoke" if drawn else ""


def _list() -> Page:
    from fedbary_lab.experiments import EXPERIMENTS as KNOWN

    header = ("name", "what it shows", "minutes of one core")
    lines = [(one.name, one.shows, "" if one.minutes is None else f"{one.minutes:.0f}") for one in KNOWN]
    about = [{"name": one.name, "shows": one.shows, "minutes": one.minutes} for one in KNOWN]
    return Page([Grid(header, lines, header[2:])], {"experiments": about})


def _finished_cells(experiments: Sequence[Experiment], output: Path, smoke: bool) -> str:
    """What interrupted experiments leave, and how to go on."""
    there = [seconds for experiment in experiments for seconds in experiment.cached_seconds(output, smoke=smoke)]
    done = sum(seconds is not None for seconds in there)
    place = experiments[0].folder(output, smoke=smoke) if len(experiments) == 1 else output
    return f"interrupted: {done} of {len(there)} cells are kept in {place}; go on with\n  {session().typed_command()}"


def _processors() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
