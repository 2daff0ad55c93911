"""All experiments one after the other, in one folder, with an index of what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedbary.errors import SettingsError
from fedbary_lab.experiments import EXPERIMENTS, Experiment, stored
from fedbary_lab.experiments.cells import Progress
from fedbary_lab.experiments.stored import Provenance
from fedbary_lab.experiments.tables import markdown_table

INDEX = "index.md"


@dataclass(frozen=True)
class Finished:
    """An experiment that came to its end: where its table comes from, or what went wrong instead."""

    experiment: Experiment
    folder: Path
    provenance: Provenance | None = None
    error: str = ""


def chosen(*, smoke: bool, only: str = "") -> list[Experiment]:
    """The experiments that are part of all, those that are timed last, when nothing else is left to disturb them."""
    found = [
        experiment
        for experiment in sorted(EXPERIMENTS, key=lambda experiment: experiment.alone)
        if any(only in str(cell) for cell in experiment.cells(smoke))
    ]
    if not found:
        raise SettingsError("research.no-such-cell", name="all", only=only)
    return found


def run_all(
    experiments: Sequence[Experiment],
    output: Path,
    *,
    smoke: bool = False,
    only: str = "",
    workers: int = 1,
    progress: Callable[[Experiment], Progress] | None = None,
) -> list[Finished]:
    """Run them and write ``index.md``, after each again; one that fails is named there and does not stop the others.

    ``progress`` gives the callback for the cells of an experiment.
    """
    done: list[Finished] = []
    for experiment in experiments:
        folder = experiment.folder(output, smoke=smoke)
        shown = progress(experiment) if progress else None
        try:
            experiment.run(output, smoke=smoke, only=only, workers=workers, progress=shown)
            done.append(Finished(experiment, folder, stored.read(folder)[1]))
        except Exception as error:  # whatever it is, the next experiment has nothing to do with it
            done.append(Finished(experiment, folder, error=f"{type(error).__name__}: {error}"))
        output.mkdir(parents=True, exist_ok=True)
        (output / INDEX).write_text(index(done), encoding="utf-8")
    return done


def index(finished: Sequence[Finished]) -> str:
    """A page that links the tables and says how long each took."""
    rows = [
        [
            f"[{one.experiment.name}]({one.folder.name}/table.md)" if one.provenance else one.experiment.name,
            one.experiment.shows,
            *_numbers(one),
        ]
        for one in finished
    ]
    header = ["experiment", "what it shows", "cells", "minutes of one core", "computed by", ""]
    return f"# All experiments\n\n{markdown_table(header, rows)}\n"


def _numbers(one: Finished) -> list[str]:
    if one.provenance is None:
        return ["–", "–", "–", f"failed: {' '.join(one.error.split())}".replace("|", "/")]
    known = one.provenance
    whole = "" if known.complete else "not all cells"
    return [str(known.cells), f"{known.minutes:.1f}", f"`{known.command}`", whole]
