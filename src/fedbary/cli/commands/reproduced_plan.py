"""What `fedbary reproduce --dry-run` prints."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.commands.dry_run import cost_for_programs, cost_lines
from fedbary.cli.commands.estimates import Estimate
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.session import peak_megabytes

if TYPE_CHECKING:
    from fedbary.research.experiments import Experiment

# Cells that are tried where none is there yet, and how long each may take.
_TRIED, _PATIENCE = 3, 8.0
_MANY, _WIDTH = 20, 1.6  # the mean of so many cells is known to this factor; of fewer, only their extremes are
_FAILED = "the cells that were tried failed"
_QUICK = 2.0
_START = 5.0  # seconds at most until the worker processes are there


def plan_experiment(experiment: Experiment, place: Path, *, smoke: bool, workers: int, json: bool) -> None:
    """Print what would be computed, and what it would cost."""
    from fedbary.cli.ui.progress import spinner
    from fedbary.research.experiments.cells import cached_seconds

    cells = experiment.cells(smoke)
    there = cached_seconds(cells, place / "cells")
    missing = [cell for cell, seconds in zip(cells, there, strict=True) if seconds is None]
    known = [seconds for seconds in there if seconds is not None]
    with spinner() as tell:
        tell("computing a few cells")
        found = _estimate(experiment, missing, known, workers)
    writes = [f"{place}/", "table.md", "table.csv", "records.csv", "cells/"]
    if json:
        counts = {"cells": len(cells), "kept": len(known), "missing": len(missing), "workers": workers}
        what = {"dry_run": True, "experiment": experiment.name, "smoke": smoke}
        write_json({**what, **counts, "writes": writes, "estimate": cost_for_programs(found, _FAILED)})
        return
    from fedbary.cli.ui.tables import bulleted, screen
    from fedbary.cli.ui.terminal_text import plural

    console = screen()
    console.print("A dry run: nothing is written.\n", style="bold")
    lines = [f"{experiment.name}: {experiment.shows}"]
    lines.append(f"{plural(len(cells), 'cell')}, {len(known)} of them kept, {len(missing)} to be computed")
    lines += [f"{plural(workers, 'worker')} at a time", f"would write {', '.join(writes)}", *cost_lines(found, _FAILED)]
    console.print(bulleted(lines))


def _estimate(experiment: Experiment, missing: list[Any], known: list[float], workers: int) -> Estimate | None:
    """From the cells that are there, or else from a few that are computed now and thrown away."""
    if not missing:
        return Estimate((0.0, _START), (_megabytes(0.0), _megabytes(0.0)), "all cells being there")
    over, memory = 0, float(peak_megabytes() or 0)
    how = f"{len(known)} cells that are there"
    if not known:
        step = max(1, len(missing) // _TRIED)
        known, over, memory = _tried(experiment, missing[step // 2 :: step][:_TRIED])
        how = f"{len(known) + over} of the cells, computed now"
        how += f", of which {over} took longer than {_PATIENCE:.0f} s and were stopped" if over else ""
    taken = [*known, *[_PATIENCE] * over]
    if not taken:
        return None
    mean = sum(taken) / len(taken)
    least, most = (mean / _WIDTH, mean * _WIDTH) if len(taken) >= _MANY else (min(taken), max(taken))
    high = math.inf if over else most * math.ceil(len(missing) / workers) + _START
    size = (memory or float(peak_megabytes() or 0), _megabytes(1.3 * memory * workers) if memory else math.inf)
    return Estimate((least * len(missing) / workers, high), size, how)


def _tried(experiment: Experiment, cells: list[Any]) -> tuple[list[float], int, float]:
    """Seconds of the cells that were computed in time, how many were not, and MB of the largest process."""
    from multiprocessing import get_context

    seconds, over, largest = [], 0, 0.0
    context = get_context("spawn")  # a process of its own can be stopped
    for cell in cells:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_timed, args=(experiment, cell, sender), daemon=True)
        process.start()
        sender.close()
        if receiver.poll(_PATIENCE + _START):
            with suppress(EOFError):  # the cell failed, and the table would say why
                took, memory = receiver.recv()
                seconds.append(took)
                largest = max(largest, memory)
        else:
            over += 1
            process.terminate()
        process.join()
    return seconds, over, largest


def _timed(experiment: Experiment, cell: Any, sender: Any) -> None:
    """In a process: how long the cell takes, and its memory."""
    from threadpoolctl import threadpool_limits

    took = math.inf
    with threadpool_limits(1):
        for _ in range(2):
            started = time.perf_counter()
            experiment.module.compute(cell)
            took = min(took, time.perf_counter() - started)
            if took > _QUICK:  # otherwise imports and caches took most of it
                break
    sender.send((took, peak_megabytes() or 0))


def _megabytes(used: float) -> float:
    return used + (peak_megabytes() or 0)
