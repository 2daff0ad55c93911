"""Time and memory of `fb.read` and `fb.check`, as multiples of what pandas takes to read the same file.

50,000 rows × 30 columns, made up with seed 0: 12 quantities, 5 counts, 7 categories, 2 columns of yes and no, 2 of
dates, one with gaps, and the label. Each line in a process of its own: the best processor time of five, and by how much
the process grew for the first. Run: ``python benchmarks/reading.py`` (``--smoke`` for a quick look).
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fedbary as fb

ROWS, TIMES = 50_000, 5
READERS: dict[str, Callable[[Path], Any]] = {
    "csv": pd.read_csv,
    "csv.gz": pd.read_csv,
    "parquet": pd.read_parquet,
    "feather": pd.read_feather,
    "jsonl": partial(pd.read_json, lines=True),
}


def made(rows: int) -> pd.DataFrame:
    """A table as people have them."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 1500, (2, rows))
    columns: dict[str, Any] = {f"quantity_{place}": rng.normal(size=rows) for place in range(12)}
    columns |= {f"count_{place}": rng.integers(0, 1000, rows) for place in range(5)}
    columns |= {f"category_{place}": rng.choice([f"level {n}" for n in range(10)], rows) for place in range(7)}
    columns |= {f"smokes_{place}": rng.choice(["yes", "no"], rows) for place in range(2)}
    columns |= {f"day_{place}": found.astype(str) for place, found in enumerate(days)}
    columns["gaps"] = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows))
    return pd.DataFrame(columns | {"label": rng.choice(["a", "b"], rows)})


def write(frame: pd.DataFrame, path: Path) -> None:
    """In the format that the suffix says."""
    if path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix in (".csv", ".gz"):
        frame.to_csv(path, index=False)
    else:
        {".parquet": frame.to_parquet, ".feather": frame.to_feather}[path.suffix](path)


def measure(path: Path, what: str) -> dict[str, float]:
    """Seconds and MiB in this process."""
    kind = path.name.partition(".")[2]
    work: Callable[[], Any] = {
        "pandas": lambda: READERS[kind](path),
        "read": lambda: fb.read(path, "label"),
        "check": lambda: fb.check(path, "label"),
    }[what]
    small = path.with_name(f"small.{kind}")
    for reader in (READERS[kind], partial(fb.read, label="label")):  # what is imported on first use
        reader(small)
    fb.check(small, "label")
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = memory("VmRSS")
    work()
    grown = memory("VmHWM") - before
    seconds = []
    for _ in range(TIMES):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return {"seconds": min(seconds), "grown": grown}


def memory(which: str) -> float:
    """What this process has (VmRSS) or had at most (VmHWM), in MiB; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(which))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few rows")
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(measure(Path(options.cell[0]), options.cell[1])))
        return
    rows = 2_000 if options.smoke else ROWS
    print(f"{rows:,} rows × 30 columns, pandas = 1\n")
    print("| format | pandas | fb.read, time | memory | fb.check, time | memory |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        frame = made(rows)
        for kind in READERS:
            path = Path(folder) / f"large.{kind}"
            write(frame, path)
            write(frame[:200], path.with_name(f"small.{kind}"))
            base = fresh(path, "pandas")
            cells = [f"{base['seconds']:.2f} s, {base['grown']:.0f} MiB"]
            for what in ("read", "check"):
                found = fresh(path, what)
                cells += [f"{found['seconds'] / base['seconds']:.1f}", f"{found['grown'] / max(base['grown'], 1):.1f}"]
            print(f"| {kind} | {' | '.join(cells)} |", flush=True)


def fresh(path: Path, what: str) -> dict[str, float]:
    """Run one cell in a process of its own."""
    command = [sys.executable, __file__, "--cell", str(path), what]
    return dict(json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))


if __name__ == "__main__":
    main()
