"""Say what got slower: a few pieces of work against what they took on this machine before.

``python benchmarks/slower.py --store`` keeps today's times in ``benchmarks/baselines/MACHINE.json``, ``python
benchmarks/slower.py`` compares with them and ends with 1 if something takes 1.3 times as long or more. Each piece is
measured three times and the quickest counts; times are processor seconds, divided by those of a fixed piece of NumPy
and POT in the same run, so that a slower day of the machine is not taken for a slower program.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np

from workloads import measured

FOLDER = Path(__file__).resolve().parent / "baselines"
WORK = {
    "sketch 2,000 × 64": ("in-memory", "sketch", "2000", "64"),
    "sketch 20,000 × 64": ("in-memory", "sketch", "20000", "64"),
    "sketch 20,000 × 32, regression": ("in-memory", "sketch", "20000", "32", "0"),
    "cards 100,000 × 64": ("in-memory", "cards", "100000", "64"),
    "sketch, Parquet to Parquet, 100,000 × 32": ("one-client", "sketch", "100000", "32"),
    "sketch, 100 clients × 500 × 64": ("many-clients", "sketch", "100"),
    "cards, 100 clients × 500 × 64": ("many-clients", "cards", "100"),
    "scoring model 2,000 × 512": ("scoring-fit", "2000", "512"),
    "interpolation, 5 clients × 500": ("interpolation", "5"),
    "--help": ("command", "--help"),
    "demo": ("command", "demo"),
}
SMOKE = {"sketch 500 × 8": ("in-memory", "sketch", "500", "8")}
_SLOWER, _TIMES = 1.3, 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", action="store_true", help="keep today's times")
    parser.add_argument("--smoke", action="store_true", help="one small piece of work, and nothing is kept")
    options = parser.parse_args()
    path = FOLDER / f"{machine()}.json"
    before = json.loads(path.read_text(encoding="utf-8"))["units"] if path.is_file() else {}
    if not before and not options.store:
        print(f"There is no baseline for this machine ({described()}): python benchmarks/slower.py --store", flush=True)
    unit, units, slower = yardstick(), {}, []
    print(
        f"unit: {unit:.3f} s of NumPy and POT\n\n| work | units | before | ratio |\n| --- | --- | --- | --- |",
        flush=True,
    )
    for name, work in (SMOKE if options.smoke else WORK).items():
        tries = [took["cpu"] for took in (measured(*work) for _ in range(1 if options.smoke else _TIMES)) if took]
        if not tries:
            print(f"| {name} | did not end | | |", flush=True)
            slower.append(name)
            continue
        units[name] = min(tries) / unit
        ratio = units[name] / before[name] if name in before else None
        shown = ("", "") if ratio is None else (f"{before[name]:.1f}", f"{ratio:.2f}")
        print(f"| {name} | {units[name]:.1f} | {shown[0]} | {shown[1]} |", flush=True)
        if ratio is not None and ratio >= _SLOWER:
            slower.append(name)
    if options.store and not options.smoke:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(json.dumps({"machine": described(), "units": units}, indent=2) + "\n", encoding="utf-8")
        print(f"\nkept in {path.relative_to(FOLDER.parent.parent)}")
        return 0
    print(f"\n{'slower: ' + ', '.join(slower) if slower else 'nothing got slower'}")
    return int(bool(slower))


def yardstick() -> float:
    """Processor seconds of matrix products, a decomposition and an exact transport; the quickest of three."""
    import ot

    rng = np.random.default_rng(0)
    wide, costs = rng.normal(size=(20_000, 128)), rng.random((1000, 1000))
    even = np.full(1000, 1e-3)
    tries = []
    for _ in range(_TIMES):
        started = time.process_time()
        for _ in range(5):
            np.linalg.eigh(wide.T @ wide)
        ot.emd(even, even, costs)
        tries.append(time.process_time() - started)
    return min(tries)


def described() -> str:
    """The processor, as far as the system tells, and the versions that matter."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return f"{model}, {os.cpu_count()} cores, {python}, NumPy {np.__version__.rsplit('.', 1)[0]}"


def machine() -> str:
    """A short name for this machine."""
    return hashlib.sha256(described().encode()).hexdigest()[:12]


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
