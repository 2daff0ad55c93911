"""How good `--dry-run` is: the ranges that it prints, and what the same command then needs.

Every command runs in a process of its own, first with ``--dry-run``, then for real. Run:
``python benchmarks/estimates.py`` (``--smoke`` for one small case). Data: Dry Bean, Fashion-MNIST and digits.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fedbary as fb

FEDBARY = str(Path(sys.executable).with_name("fedbary"))


@dataclass(frozen=True)
class Case:
    """A command on clients that are drawn from a data set."""

    name: str
    command: tuple[str, ...]
    dataset: str = "dry-bean"
    clients: int = 5
    rows: int = 1000
    reference_rows: int = 1000


# The constants of `fedbary.cli.commands.estimates` were chosen while looking at these.
CASES = (
    Case("value, sketch", ("value",), clients=6, rows=1500, reference_rows=2000),
    Case("value, sketch, images", ("value",), "fashion-mnist", rows=1000),
    Case("value, consensus", ("value", "--protocol", "consensus"), "fashion-mnist", clients=12, rows=600),
    Case("value, interpolation", ("value", "--protocol", "interpolation"), rows=1500, reference_rows=1500),
    Case("value, coalition", ("value", "--protocol", "coalition"), clients=9, rows=800),
    Case("boost", ("boost",), "fashion-mnist", clients=8, rows=800),
    Case("compare", ("compare", "--methods", "exactfed,mr,gtg,cgsv,sketch"), clients=8, rows=600),
    Case("compare --rows", ("compare", "--rows"), rows=800),
    Case("reproduce accuracy", ("reproduce", "accuracy", "--smoke", "--workers", "1")),
)
# These were added afterwards, and nothing was changed because of them.
HELD_OUT = (
    Case("value, sketch", ("value",), "mnist", clients=6, rows=3000, reference_rows=2000),
    Case("value, interpolation", ("value", "--protocol", "interpolation"), clients=3, rows=3000, reference_rows=2000),
    Case("value, consensus", ("value", "--protocol", "consensus"), "cifar10-embeddings", clients=8, rows=1500),
    Case("boost", ("boost", "--rounds", "40"), "mnist", clients=10, rows=1500),
    Case("compare", ("compare", "--methods", "exactfed,mr,datasv,coalition"), clients=10, rows=500),
    Case("compare --rows", ("compare", "--rows", "--methods", "sketch,lava,knn-shapley"), clients=4, rows=2000),
)
SMOKE = (Case("value, sketch", ("value",), "digits", clients=3, rows=150, reference_rows=300),)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one small case only")
    tables = {"one small case": SMOKE}
    if not parser.parse_args().smoke:
        tables = {"cases that the constants were chosen by": CASES, "other cases": HELD_OUT}
    for title, cases in tables.items():
        print(f"\n{title}\n")
        print("| command | clients × rows | predicted time | time | predicted MB | peak MB | dry run |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                print(line(case, Path(folder)), flush=True)


def line(case: Case, folder: Path) -> str:
    """One line of the table."""
    arguments = [*case.command, *([] if case.command[0] == "reproduce" else write(case, folder))]
    started = time.perf_counter()
    found = json.loads(called([*arguments, "--dry-run", "--json"], folder))["estimate"]
    dry = time.perf_counter() - started
    started = time.perf_counter()
    called([*arguments, "--log", "log.jsonl"], folder)
    took = time.perf_counter() - started
    peak = json.loads((folder / "log.jsonl").read_text(encoding="utf-8").splitlines()[-1])["peak_megabytes"]
    (low, high), (least, most) = found["seconds"], found["megabytes"]
    inside = ["" if a <= value <= b else " (outside)" for a, value, b in ((low, took, high), (least, peak, most))]
    size = "8 cells" if case.command[0] == "reproduce" else f"{case.clients} × {case.rows}, {case.dataset}"
    return (
        f"| {case.name} | {size} | {low:.1f} to {high:.1f} s | {took:.1f} s{inside[0]} "
        f"| {least:.0f} to {most:.0f} | {peak}{inside[1]} | {dry:.1f} s |"
    )


def write(case: Case, folder: Path) -> list[str]:
    """The parties' files; returns the arguments that name them."""
    everything = fb.datasets.load(case.dataset).all()
    order = np.random.default_rng(0).permutation(len(everything))
    (folder / "sites").mkdir()
    places = {"reference": folder / "reference.parquet", "test": folder / "test.parquet"}
    places |= {f"client_{i}": folder / "sites" / f"client_{i}.parquet" for i in range(case.clients)}
    used = 0
    for name, place in places.items():
        count = case.rows if name.startswith("client") else case.reference_rows
        fb.data.write(everything.take(order[used : used + count]), place)
        used += count
    reference = [] if "consensus" in case.command else ["--reference", "reference.parquet"]
    test = ["--test", "test.parquet"] if case.command[0] == "boost" else []
    return ["sites", "--label", "label", *reference, *test, "-o", "out"]


def called(arguments: list[str], folder: Path) -> str:
    """Run the command line; returns what it printed."""
    return subprocess.run([FEDBARY, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
