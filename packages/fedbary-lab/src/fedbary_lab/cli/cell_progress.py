"""How far an experiment is: cells done, the last one, and about how long the rest takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fedbary.cli.ui.session import one_line, session
from fedbary.wording import duration

if TYPE_CHECKING:
    from fedbary_lab.experiments.cells import Done, Progress


class Remaining:
    """An estimate of the time that is left, from the cells that were computed since it was made.

    Examples
    --------
    >>> from fedbary_lab.experiments.cells import Done
    >>> clock = iter([0.0, 10.0, 20.0])
    >>> remaining = Remaining(clock=lambda: next(clock))
    >>> [remaining.after(Done(done, 5, "a cell", 9.0)) for done in (2, 3)]
    [30.0, 20.0]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._computed = 0

    def after(self, done: Done) -> float | None:
        """Seconds until all cells are there; None as long as nothing was computed, or when nothing is left."""
        self._computed += done.seconds > 0
        left = done.total - done.done
        if not self._computed or not left:
            return None
        return left * (self._clock() - self._started) / self._computed


@contextmanager
def cell_progress(of: str = "") -> Iterator[Progress]:
    """A bar on a terminal; otherwise a line per cell, for the log of a run that takes hours. ``of`` opens each."""
    remaining = Remaining()
    if not sys.stderr.isatty() or session().quiet or session().verbose:

        def tell(done: Done) -> None:
            _note(done)
            left = remaining.after(done)
            if not session().quiet:
                print(_line(done, of, left), file=sys.stderr, flush=True)

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (MofNCompleteColumn(), BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as display:
        task = display.add_task(of or "starting", total=None)

        def show(done: Done) -> None:
            _note(done)
            said = f"{of}{_left(remaining.after(done))}{done.cell}"
            display.update(task, completed=done.done, total=done.total, description=said)
            if done.error:
                display.console.print(_line(done, of, None))

        yield show


def _note(done: Done) -> None:
    """A cell in the log: data sets and settings of the experiment, which are no secret, and of an error its type."""
    error = done.error.partition(":")[0]
    session().note("cell", done=done.done, total=done.total, cell=done.cell, seconds=done.seconds, error=error)


def _line(done: Done, of: str, left: float | None) -> str:
    took = f"{done.seconds:.1f} s" if done.seconds else "was there"
    outcome = f"error: {done.error}" if done.error else took
    return one_line(f"{of}[{done.done}/{done.total}] {_left(left)}{done.cell}: {outcome}")


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {duration(seconds)} left, "
