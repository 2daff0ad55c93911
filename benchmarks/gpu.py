"""A GPU against two CPU cores: transport, moments and scores of 10⁵, 10⁶ and 10⁷ made-up rows × 128, and of 10⁷ × 512.

Ten Gaussian classes, 200 targets, seed 0. Rows come in parts of 65,536 from this machine's memory, which holds the
first million of them (262,144 where they have 512 columns); further parts are these again. The GPU has done everything
once beforehand with few rows, and gets all rows from memory anew each time. ``≈`` is scaled up from the largest table
that two cores do in less than a minute: 1,000,000 rows × 128, 100,000 × 512. Run:
``python benchmarks/gpu.py`` (``--smoke`` for a quick look; without a GPU only the CPU is measured).
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from fedbary.compute import arrays_for, computing_on, device
from fedbary.compute.arrays import class_sums, squared_distances
from fedbary.judging.scoring import Centroids, ClassMetric, Scorer, ScoringModel, SharedMetric
from fedbary.transport.cloud import CHUNK, on_device
from fedbary.transport.semi_discrete import Targets, semi_discrete, survey
from fedbary_lab.transport.sinkhorn import sinkhorn

CLASSES, TARGETS, CORES = 10, 200, 2
SIZES = ((100_000, 128), (1_000_000, 128), (10_000_000, 128), (10_000_000, 512))
SMOKE = ((20_000, 16), (100_000, 16))
# Parts in memory, and the most rows that the CPU is measured with, by columns.
PARTS = {16: 2, 128: 16, 512: 4}
CPU_ROWS = {16: 50_000, 128: 1_000_000, 512: 100_000}
FEW = 20_000
ENTROPIC, SMOKE_ENTROPIC = (5_000, 1_000), (200, 50)

# Something to be timed.
Work = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few rows")
    parser.add_argument("--pretend", action="store_true", help="PyTorch on the CPU in the GPU's place")
    typed = parser.parse_args()
    if typed.pretend:
        from fedbary.compute.arrays import TorchArrays

        device._cuda_arrays = lambda: TorchArrays("cpu")
    started = time.perf_counter()
    gpu = has_gpu()
    if gpu:
        on_gpu(lambda: arrays_for(1.0).filled((1,), 0.0))
    print(f"{machine()}; PyTorch and its driver started in {time.perf_counter() - started:.1f} s\n")
    print("| what | rows × columns | two CPU cores | GPU | times faster |\n| --- | --- | --- | --- | --- |", flush=True)
    sides = SMOKE_ENTROPIC if typed.smoke else ENTROPIC
    work = entropic(*sides)
    report(f"entropic transport | {sides[0]:,} to {sides[1]:,} points", on_cpu(work), on_gpu(work) if gpu else None)
    parts: dict[int, list[np.ndarray]] = {}
    seconds_here: dict[tuple[str, int, int], float] = {}
    for rows, columns in SMOKE if typed.smoke else SIZES:
        if columns not in parts:
            parts = {columns: made_up_parts(columns)}
            for make in WORKS.values() if gpu else ():
                on_gpu(make(Rows(parts[columns], FEW)))
        for name, make in WORKS.items():
            fewer = Rows(parts[columns], min(rows, CPU_ROWS[columns]))
            key = name, fewer.rows, columns
            if key not in seconds_here:
                seconds_here[key] = on_cpu(make(fewer))
            there = on_gpu(make(Rows(parts[columns], rows))) if gpu else None
            report(f"{name} | {rows:,} × {columns}", seconds_here[key], there, scale=rows / fewer.rows)
    print("\nMultiplications that two cores do in a second:", end=" ")
    rates = {key: key[1] * products(*key) / taken for key, taken in seconds_here.items()}
    print("; ".join(f"{name}, {rows:,} × {columns}: {rate:.1e}" for (name, rows, columns), rate in rates.items()))


@dataclass(frozen=True)
class Rows:
    """Weighted rows in parts, of which a few are in memory and come again and again."""

    parts: list[np.ndarray]
    rows: int

    @cached_property
    def weights(self) -> np.ndarray:
        """All alike."""
        return np.full(self.rows, 1.0 / self.rows)

    @property
    def width(self) -> int:
        """Columns."""
        return self.parts[0].shape[1]

    def chunks(self) -> Iterator[np.ndarray]:
        """The parts."""
        for place, start in enumerate(range(0, self.rows, CHUNK)):
            yield self.parts[place % len(self.parts)][: self.rows - start]


def made_up_parts(columns: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLASSES, columns))[np.arange(CHUNK) % CLASSES]
    return [rng.normal(size=(CHUNK, columns)) + centres for _ in range(PARTS[columns])]


def few_targets(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return rows.parts[0][-TARGETS:] * 0.5, np.full(TARGETS, 1.0 / TARGETS)


def first_pass(rows: Rows) -> Work:
    points, weights = few_targets(rows)
    targets = Targets(points, weights, np.zeros(1, dtype=np.int64), None)
    return lambda: survey(on_device(rows, points), targets, np.zeros(TARGETS), np.float32)


def whole_transport(rows: Rows) -> Work:
    return lambda: semi_discrete(rows, *few_targets(rows))


def moments(rows: Rows) -> Work:
    codes = np.arange(CHUNK) % CLASSES

    def work() -> None:
        xp = arrays_for(float(rows.rows) * rows.width**2)
        for part in rows.chunks():
            for found in class_sums(xp.asarray(part), xp.asarray(codes[: len(part)]), CLASSES, xp):
                xp.numpy(found)

    return work


def scores(rows: Rows) -> Work:
    model = made_up_model(rows.width).in_single()  # as a client does with more than 65,536 rows

    def work() -> None:
        scorer = Scorer(model, rows.rows)
        for part in rows.chunks():
            scorer(part.astype(np.float32))

    return work


WORKS: dict[str, Callable[[Rows], Work]] = {
    "transport to 200 points, one pass": first_pass,
    "transport to 200 points, to its proof": whole_transport,
    "class sums and second moments": moments,
    "scores": scores,
}


def products(name: str, _: int, columns: int) -> float:
    """Multiplications that a row takes."""
    if WORKS[name] is scores:
        return made_up_model(columns).products
    return columns**2 if WORKS[name] is moments else columns * TARGETS


def entropic(sources: int, targets: int) -> Work:
    rng = np.random.default_rng(0)
    costs = squared_distances(rng.normal(size=(sources, 8)), rng.normal(size=(targets, 8)))
    a, b = np.full(sources, 1.0 / sources), np.full(targets, 1.0 / targets)
    return lambda: sinkhorn(costs, a, b, epsilon=0.5)


def made_up_model(width: int) -> ScoringModel:
    """A model of the size that a fit gives: ten centroids a class, and a metric for each class."""
    rng, own = np.random.default_rng(0), width if width <= 128 else 65
    classes = np.repeat(np.arange(CLASSES), 10)
    tenth = np.full(len(classes), 0.1)
    directions = np.linalg.qr(rng.normal(size=(width, width)))[0]
    return ScoringModel(
        classes=tuple("abcdefghij"),
        log_prior=np.full(CLASSES, -np.log(CLASSES)),
        metric=SharedMetric(np.zeros(width), directions, np.ones(width), 1.0),
        shrinkage=0.3,
        epsilon=2.0,
        centroids=Centroids(rng.normal(size=(len(classes), width)), classes, tenth),
        class_metric=ClassMetric(
            None if own == width else directions[:, : own - 1],
            Centroids(rng.normal(size=(CLASSES, own)), np.arange(CLASSES), np.ones(CLASSES)),
            np.stack([np.eye(own)] * CLASSES),
            np.zeros(CLASSES),
        ),
        coefficients=rng.normal(size=(CLASSES, width)) / width,
        offsets=np.zeros(CLASSES),
        scales=np.full(3, 0.1),
        biases=np.zeros((3, CLASSES)),
        blend=np.full(3, 1 / 3),
    )


def on_cpu(work: Work) -> float:
    with threadpool_limits(CORES), computing_on("cpu"):
        return seconds(work)


def on_gpu(work: Work) -> float:
    with computing_on("cuda"):
        return seconds(work)


def seconds(work: Work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def report(name: str, here: float, there: float | None, scale: float = 1.0) -> None:
    about = "≈ " if scale > 1 else ""
    compared = "– | –" if there is None else f"{there:.2f} s | {about}{scale * here / there:.1f}"
    print(f"| {name} | {about}{scale * here:.2f} s | {compared} |", flush=True)


def has_gpu() -> bool:
    return find_spec("torch") is not None and device._cuda_arrays() is not None


def machine() -> str:
    name, versions = (
        "no GPU",
        {"Python": platform.python_version(), "NumPy": np.__version__, "SciPy": scipy.__version__},
    )
    if has_gpu():
        import torch

        versions["PyTorch"] = torch.__version__
        name = torch.cuda.get_device_name() if torch.cuda.is_available() else "PyTorch's CPU in a GPU's place"
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    cpu = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
    return f"{name}; {cpu}, {CORES} threads; {', '.join(' '.join(one) for one in versions.items())}"


if __name__ == "__main__":
    main()
