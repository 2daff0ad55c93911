"""An experiment as a list of cells: each is computed once, in any process, and kept as soon as it is there.

A run that was killed goes on where it stopped, because a cell's file is named after everything that the cell
depends on, the code that computes it included. Only cells with an ``error`` are computed again.
"""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import fedbary
from fedbary.data.atomic import write_atomically

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance

# A cell is a frozen dataclass of numbers and texts, whose `str` says it in a few words.
Cell = TypeVar("Cell", bound="DataclassInstance")
Record = dict[str, Any]
Compute = Callable[[Cell], list[Record]]

# What only shows or carries results: no number of a cell depends on it.
_SHOWS = frozenset({"cli", "deploy", "views", "plots", "sentences", "sentences.py"})


@dataclass(frozen=True)
class Done:
    """The event that a progress callback gets: a cell, how long it took (0 if it was there), and how many are done."""

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
    digest: str = "",
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
    digest : str
        What the records depend on besides the cells and the code of core and laboratory.

    Returns
    -------
    DataFrame
        One row per record, with the columns of its cell, in the order of the cells.
    """
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    done = {cell: stored for cell in cells if (stored := _load(_path(folder, cell, digest))) is not None}
    missing = [cell for cell in cells if cell not in done]
    for number, (cell, stored) in enumerate(done.items(), start=1):
        _report(progress, number, len(cells), cell, stored | {"seconds": 0.0})
    for number, (cell, stored) in enumerate(_computed(missing, compute, folder, workers, digest), start=len(done) + 1):
        done[cell] = stored
        _report(progress, number, len(cells), cell, stored)
    records = [{**asdict(cell), **record} for cell in cells for record in done[cell]["records"]]
    return pd.DataFrame.from_records(records)


def cached_seconds(cells: Sequence[Cell], folder: Path, *, digest: str = "") -> list[float | None]:
    """How long each cell took that is there already; None where it is missing."""
    found = [_load(_path(folder, cell, digest)) for cell in cells]
    return [None if stored is None else float(stored["seconds"]) for stored in found]


@lru_cache(maxsize=1)
def code_digest() -> str:
    """A digest of the core's and the laboratory's source, so that other code finds no cells of this one.

    Examples
    --------
    >>> len(code_digest())
    64
    """
    found = hashlib.sha256()
    for home in (Path(fedbary.__file__).parent, Path(__file__).parents[1]):
        for file in sorted(home.rglob("*.py")):
            place = file.relative_to(home)
            if place.parts[0] not in _SHOWS:
                found.update(f"{home.name}/{place.as_posix()}\n".encode())
                found.update(file.read_bytes())
    return found.hexdigest()


def _computed(
    cells: Sequence[Cell], compute: Compute[Cell], folder: Path, workers: int, digest: str
) -> Iterable[tuple[Cell, Record]]:
    paths = [_path(folder, cell, digest) for cell in cells]
    if workers == 1 or len(cells) < 2:
        yield from (_compute_and_store(cell, compute, path) for cell, path in zip(cells, paths, strict=True))
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        with _ignoring_interrupts():
            computed = parallel(
                delayed(_compute_and_store)(cell, compute, path) for cell, path in zip(cells, paths, strict=True)
            )
        yield from computed


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes that start in here leave Ctrl-C to this one, which ends them; each would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _compute_and_store(cell: Cell, compute: Compute[Cell], path: Path) -> tuple[Cell, Record]:
    """In a worker: the cell's records, written before anybody is told."""
    from threadpoolctl import threadpool_limits

    started = time.perf_counter()
    with threadpool_limits(1):
        try:
            records = compute(cell)
        except Exception as error:  # the other cells go on, and the table says what is missing
            records = [{"error": f"{type(error).__name__}: {error}"}]
    stored = {"cell": asdict(cell), "seconds": round(time.perf_counter() - started, 3), "records": records}
    text = json.dumps(stored, indent=1)
    write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"))
    return cell, stored


def _load(path: Path) -> Record | None:
    if not path.is_file():
        return None
    try:
        stored: Record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # the disk was full, or somebody edited it
        return None
    return None if _error(stored) else stored


def _path(folder: Path, cell: DataclassInstance, digest: str) -> Path:
    content = json.dumps([code_digest() + digest, type(cell).__name__, asdict(cell)], sort_keys=True)
    return folder / f"{hashlib.sha256(content.encode()).hexdigest()[:20]}.json"


def _error(stored: Mapping[str, Any]) -> str:
    return next((str(record["error"]) for record in stored["records"] if record.get("error")), "")


def _report(
    progress: Progress | None, done: int, total: int, cell: DataclassInstance, stored: Mapping[str, Any]
) -> None:
    if progress is not None:
        progress(Done(done, total, str(cell), float(stored["seconds"]), _error(stored)))
