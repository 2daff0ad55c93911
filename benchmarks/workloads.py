"""Pieces of work by name, each measured in a process of its own: what the tables of `performance.py` are made of.

``python benchmarks/workloads.py NAME ARGUMENT …`` runs one and prints what it took as JSON. They use nothing of fedbary
that is not public, so that the same file measures an older revision (`before_after.py`).

Synthetic rows: Gaussian classes (or a line, for regression), every twentieth label wrong, doubles in Parquet; seed 0.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

REFERENCE_ROWS, WRONG = 2000, 0.05
_PART = 100_000
Took = dict[str, float]


@contextmanager
def taking(found: Took) -> Iterator[None]:
    """Wall and processor seconds of what is done in here."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    found |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def drawn(rows: int, columns: int, classes: int, seed: int, wrong: float = WRONG) -> tuple[np.ndarray, np.ndarray]:
    """Rows of Gaussian classes with their labels; with ``classes`` 0 labels are a noisy linear function of the rows."""
    rng = np.random.default_rng(seed)
    fixed = np.random.default_rng(10**6)
    if not classes:
        features = rng.normal(size=(rows, columns))
        labels = features @ fixed.normal(size=columns) / np.sqrt(columns) + 0.1 * rng.normal(size=rows)
        return features, np.where(rng.random(rows) < wrong, 3.0 * rng.normal(size=rows), labels)
    centres = 8.0 / np.sqrt(columns) * fixed.normal(size=(classes, columns))
    codes = rng.integers(classes, size=rows)
    features = rng.normal(size=(rows, columns)) + centres[codes]
    return features, np.where(rng.random(rows) < wrong, rng.integers(classes, size=rows), codes)


def arrow(features: np.ndarray, labels: np.ndarray) -> Any:
    """Columns x0, x1, … and ``label``, classes as texts."""
    import pyarrow as pa

    columns = {f"x{place}": np.ascontiguousarray(column) for place, column in enumerate(features.T)}
    if labels.dtype.kind == "i":
        names = pa.array([f"class {code}" for code in range(int(labels.max()) + 1)])
        return pa.table({**columns, "label": names.take(pa.array(labels))})
    return pa.table({**columns, "label": labels})


def on_disk(rows: int, columns: int, classes: int) -> Path:
    """A Parquet file of such rows, made once on a machine and kept among its temporary files."""
    import pyarrow.parquet as pq

    path = Path(tempfile.gettempdir()) / f"fedbary-bench-{rows}-{columns}-{classes}.parquet"
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        writer = None
        for number, start in enumerate(range(0, rows, _PART)):
            part = arrow(*drawn(min(_PART, rows - start), columns, classes, seed=number))
            writer = writer or pq.ParquetWriter(draft, part.schema)
            writer.write_table(part)
        assert writer is not None
        writer.close()
        draft.rename(path)
    return path


def one_client(protocol: str, rows: str, columns: str = "128", classes: str = "10", **options: Any) -> Took:
    """One large client from a Parquet file to row values on disk; with cards it has two peers of 2,000 rows."""
    import fedbary as fb

    shape = (int(columns), int(classes))
    path = on_disk(int(rows), *shape)
    clean = frame(*drawn(REFERENCE_ROWS, *shape, seed=-1 % 2**31, wrong=0.0))
    clients: dict[str, Any] = {"big": path}
    if protocol == "cards":
        peers = (frame(*drawn(2000, *shape, seed=seed)) for seed in (10**5, 10**5 + 1))
        clients |= dict(zip(("one", "other"), peers, strict=True))
    settings = {"sketch": fb.Sketch, "cards": fb.Cards}[protocol](**options)
    found: Took = {}
    with tempfile.TemporaryDirectory() as folder:
        with taking(found):
            result = fb.value(
                clients, clean if protocol == "sketch" else None, protocol=settings, label="label", seed=0
            )
            result.save(folder)
        found["written_mb"] = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file()) / 2**20
    if result.failed:
        raise SystemExit(str(result.failed))
    return found


def in_memory(protocol: str, rows: str, columns: str = "128", classes: str = "10") -> Took:
    """The same from a table in memory, without writing: what a user of the API waits for."""
    import fedbary as fb

    shape = (int(columns), int(classes))
    table = fb.Table.from_arrays(*drawn(int(rows), *shape, seed=0))
    clean = fb.Table.from_arrays(*drawn(REFERENCE_ROWS, *shape, seed=1, wrong=0.0))
    clients = {"big": table}
    if protocol == "cards":
        clients |= {f"peer {seed}": fb.Table.from_arrays(*drawn(2000, *shape, seed=seed)) for seed in (2, 3)}
    found: Took = {}
    with taking(found):
        result = fb.value(clients, clean if protocol == "sketch" else None, protocol=protocol, seed=0)
    if result.failed:
        raise SystemExit(str(result.failed))
    return found


def many_clients(protocol: str, clients: str, rows: str = "500", columns: str = "64", classes: str = "10") -> Took:
    """Many small clients with row values."""
    import fedbary as fb

    shape = (int(columns), int(classes))
    tables = {f"c{seed}": fb.Table.from_arrays(*drawn(int(rows), *shape, seed=seed)) for seed in range(int(clients))}
    before = peak()
    clean = fb.Table.from_arrays(*drawn(REFERENCE_ROWS, *shape, seed=10**7, wrong=0.0))
    found: Took = {}
    with taking(found):
        result = fb.value(tables, clean if protocol == "sketch" else None, protocol=protocol, seed=0)
    if result.failed:
        raise SystemExit(str(result.failed)[:500])
    return {**found, "grown_mib": peak() - before}


def scoring_fit(rows: str, columns: str, classes: str = "10") -> Took:
    """Fit the scoring model that the server sends: the time before the first client is asked."""
    from fedbary.engines.local import one_thread
    from fedbary.judging.scoring_fit import fit_scoring_model

    features, codes = drawn(int(rows), int(columns), int(classes), seed=0)
    warm = drawn(200, 4, 2, seed=1)
    fit_scoring_model(*warm, ("a", "b"))  # imports are not its work
    names = tuple(f"class {code}" for code in range(int(classes)))
    found: Took = {}
    with one_thread(), taking(found):
        fit_scoring_model(features, codes, names)
    return found


def interpolation(clients: str, rows: str = "500", support: str = "100", reference: str = "1") -> Took:
    """The paper's protocol, ten rounds, with a reference or without."""
    import fedbary as fb

    tables = {f"c{seed}": fb.Table.from_arrays(*drawn(int(rows), 64, 10, seed=seed)) for seed in range(int(clients))}
    clean = fb.Table.from_arrays(*drawn(1000, 64, 10, seed=10**7, wrong=0.0))
    settings = fb.Interpolation(support=int(support), tolerance=0.0)
    found: Took = {}
    with taking(found):
        fb.value(tables, clean if int(reference) else None, protocol=settings, seed=0, engine=fb.LocalEngine(workers=1))
    return found


def command(*words: str) -> Took:
    """A command of the command line, in a folder that is removed."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-P", "-m", "fedbary", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "wall": time.perf_counter() - started,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


WORK: Mapping[str, Callable[..., Took]] = {
    "one-client": one_client,
    "in-memory": in_memory,
    "many-clients": many_clients,
    "scoring-fit": scoring_fit,
    "interpolation": interpolation,
    "command": command,
    "support": lambda rows, points: one_client("sketch", rows, "64", support=int(points)),
    "epsilon": lambda rows, columns="128": one_client("sketch", rows, columns, epsilon=1.0),
}


def frame(features: np.ndarray, labels: np.ndarray) -> Any:
    """Rows as a pandas frame with the columns of the file."""
    return arrow(features, labels).to_pandas()


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(name: str, *arguments: str, source: Path | None = None, patience: float = 1200.0) -> Took | None:
    """What a piece of work takes in a fresh process, by this tree's package or another's; None if it did not end."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "POT_BACKEND_DISABLE_PYTORCH": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    line = [sys.executable, __file__, name, *arguments]
    try:
        done = subprocess.run(line, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=patience)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    took = WORK[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({**took, "peak_mib": peak()}))
