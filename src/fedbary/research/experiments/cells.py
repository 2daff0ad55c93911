"""An experiment as a list of cells: each is computed once, in any process, and kept as soon as it is there.

A run that was killed goes on where it stopped, because a cell's file is named after everything that the cell
depends on. Only cells with an ``error`` are computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fedbary import __version__

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

# A cell is a frozen dataclass of numbers and texts, whose `str` says it in a few words.
Cell = TypeVar("Cell")
Record = dict[str, Any]
Compute = Callable[[Cell], list[Record]]


@dataclass(frozen=True)
class Done:
    """What a progress callback is told: a cell, how long it took (0 if it was there), and how many are done."""

    done: int
    total: int
    cell: str
    seconds: float
    error: str = ""


Progress = Callable[[Done], None]


def run_cells(
    cells: Sequence[Cell],
    compute: Compute[Cell],
    folder: Path,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Compute what is missing, several cells at a time, and return the records of all.

    Parameters
    ----------
    cells : sequence of frozen dataclasses
        Everything a cell depends on, in numbers and texts.
    compute : callable
        A plain function from a cell to its records. An exception becomes a record with an ``error``.
    folder : path
        Where ``<hash>.json`` of every cell is kept.
    workers : int
        Processes, each with one thread for linear algebra.
    progress : callable, optional
        Called after every cell.

    Returns
    -------
    DataFrame
        One row per record, with the columns of its cell, in the order of the cells.
    """
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    kept = {cell: stored for cell in cells if (stored := _load(folder, cell)) is not None}
    missing = [cell for cell in cells if cell not in kept]
    for number, (cell, stored) in enumerate(kept.items(), start=1):
        _tell(progress, number, len(cells), cell, stored | {"seconds": 0.0})
    for number, (cell, stored) in enumerate(_computed(missing, compute, folder, workers), start=len(kept) + 1):
        kept[cell] = stored
        _tell(progress, number, len(cells), cell, stored)
    records = [{**_parameters(cell), **record} for cell in cells for record in kept[cell]["records"]]
    return pd.DataFrame.from_records(records)


def kept_seconds(cells: Sequence[Cell], folder: Path) -> list[float | None]:
    """How long each cell took that is there already; None where it is missing."""
    stored = [_load(folder, cell) for cell in cells]
    return [None if one is None else float(one["seconds"]) for one in stored]


@dataclass(frozen=True)
class Tabulated(Generic[Cell]):
    """An experiment that ends in a table: how a cell is computed, joined with the others, and written down."""

    name: str
    compute: Compute[Cell]
    table: Callable[[pd.DataFrame], pd.DataFrame]
    markdown: Callable[[pd.DataFrame], str]
    pictures: Callable[[pd.DataFrame], Sequence[Display]] = lambda _: ()

    def run(
        self, cells: Sequence[Cell], folder: Path, *, smoke: bool, workers: int, progress: Progress | None
    ) -> pd.DataFrame:
        """Compute the cells; ``records.csv``, ``table.csv``, ``table.md`` and pictures are written beside them."""
        place = results_folder(folder, self.name, smoke=smoke)
        records = run_cells(cells, self.compute, place / "cells", workers=workers, progress=progress)
        final = self.table(records)
        records.to_csv(place / "records.csv", index=False)
        final.to_csv(place / "table.csv", index=False)
        (place / "table.md").write_text(self.markdown(final), encoding="utf-8")
        drawn = [picture for picture in self.pictures(final) if len(picture.table)]
        if drawn:
            from fedbary.views.plots.page import chart_page

            (place / "pictures.html").write_text(chart_page(*drawn), encoding="utf-8")
        return final


def results_folder(folder: Path, name: str, *, smoke: bool) -> Path:
    """Where an experiment's files are; a smoke test never overwrites the real table."""
    return folder / (f"{name}-smoke" if smoke else name)


def _computed(
    cells: Sequence[Cell], compute: Compute[Cell], folder: Path, workers: int
) -> Iterable[tuple[Cell, Record]]:
    if workers == 1 or len(cells) < 2:
        yield from ((cell, _compute_and_keep(cell, compute, folder)[1]) for cell in cells)
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        with _deaf_to_interrupts():
            done = parallel(delayed(_compute_and_keep)(cell, compute, folder) for cell in cells)
        yield from done


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that start in here leave Ctrl-C to this one, which ends them; each would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _compute_and_keep(cell: Cell, compute: Compute[Cell], folder: Path) -> tuple[Cell, Record]:
    """In a worker: the cell's records, written before anybody is told."""
    from threadpoolctl import threadpool_limits

    started = time.perf_counter()
    with threadpool_limits(1):
        try:
            records = compute(cell)
        except Exception as error:  # the other cells go on, and the table says what is missing
            records = [{"error": f"{type(error).__name__}: {error}"}]
    stored = {"cell": _parameters(cell), "seconds": round(time.perf_counter() - started, 3), "records": records}
    path = _path(folder, cell)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(stored, indent=1), encoding="utf-8")
    draft.replace(path)
    return cell, stored


def _load(folder: Path, cell: object) -> Record | None:
    path = _path(folder, cell)
    if not path.is_file():
        return None
    try:
        stored: Record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # the disk was full, or somebody edited it
        return None
    return None if _error(stored) else stored


def _path(folder: Path, cell: object) -> Path:
    content = json.dumps([__version__, type(cell).__name__, _parameters(cell)], sort_keys=True)
    return folder / f"{hashlib.sha256(content.encode()).hexdigest()[:20]}.json"


def _parameters(cell: object) -> Record:
    return asdict(cell)  # type: ignore[call-overload,no-any-return]


def _error(stored: Mapping[str, Any]) -> str:
    return next((str(record["error"]) for record in stored["records"] if record.get("error")), "")


def _tell(progress: Progress | None, done: int, total: int, cell: object, stored: Mapping[str, Any]) -> None:
    if progress is not None:
        progress(Done(done, total, str(cell), float(stored["seconds"]), _error(stored)))
