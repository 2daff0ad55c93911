"""How time and memory grow with rows, clients, columns, classes and support, and what ε costs.

``python benchmarks/growth.py`` prints the tables of docs/performance.md (``--write`` puts them there, ``--only`` takes
some, ``--smoke`` has small sizes). Every line is a process of its own; what is measured is in `workloads.py`. The
exponent is fitted to the processor seconds of the lines from 10,000 rows (100 clients) on: 1 is linear.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from performance_page import place
from workloads import Took, measured

Line = tuple[str, float, tuple[str, ...]]


def rows(sizes: Sequence[int], protocol: str, columns: int, classes: int) -> list[Line]:
    """Lines of a growing client, from Parquet to row values in Parquet."""
    return [(f"{size:,}", size, ("one-client", protocol, str(size), str(columns), str(classes))) for size in sizes]


def many(sizes: Sequence[int], protocol: str, shape: tuple[int, int]) -> list[Line]:
    """Lines of a growing number of clients."""
    return [(f"{size:,}", size, ("many-clients", protocol, str(size), *map(str, shape))) for size in sizes]


SIZES = (1_000, 10_000, 100_000, 1_000_000)
TABLES: dict[str, tuple[str, float, list[Line]]] = {
    "sketch-rows": ("rows × 128, sketch", 10_000, rows(SIZES, "sketch", 128, 10)),
    "cards-rows": ("rows × 128, cards", 10_000, rows(SIZES, "cards", 128, 10)),
    "regression-rows": ("rows × 128, regression, sketch", 10_000, rows(SIZES, "sketch", 128, 0)),
    "regression-cards": ("rows × 128, regression, cards", 10_000, rows(SIZES, "cards", 128, 0)),
    "ten-million": ("rows × 32", 0, rows((10_000_000,), "sketch", 32, 10) + rows((10_000_000,), "cards", 32, 10)),
    "sketch-clients": ("clients × 500 × 64, sketch", 100, many((10, 100, 1_000), "sketch", (500, 64))),
    "cards-clients": ("clients × 500 × 64, cards", 100, many((10, 100, 1_000), "cards", (500, 64))),
    "sketch-small": ("clients × 20 × 8, sketch", 1_000, many((1_000, 10_000, 100_000), "sketch", (20, 8))),
    "cards-small": ("clients × 20 × 8, cards", 1_000, many((1_000, 10_000, 100_000), "cards", (20, 8))),
    "columns": (
        "columns, 20,000 rows, sketch",
        0,
        [(str(n), n, ("one-client", "sketch", "20000", str(n))) for n in (8, 32, 128, 512)],
    ),
    "classes": (
        "classes, 20,000 rows × 64, sketch",
        0,
        [(str(n), n, ("one-client", "sketch", "20000", "64", str(n))) for n in (2, 10, 50, 100)],
    ),
    "support": (
        "points of the sketch, 20,000 rows × 64",
        0,
        [(str(n), n, ("support", "20000", str(n))) for n in (50, 100, 200, 300)],
    ),
    "epsilon": (
        "rows × 128, sketch with ε = 1",
        0,
        [(f"{n:,}", n, ("epsilon", str(n))) for n in (1_000, 5_000, 20_000)],
    ),
}
SMOKE: dict[str, tuple[str, float, list[Line]]] = {
    "sketch-rows": ("rows × 8, sketch", 0, rows((500, 1_000), "sketch", 8, 3)),
    "cards-rows": ("rows × 8, cards", 0, rows((500, 1_000), "cards", 8, 3)),
    "sketch-clients": ("clients × 50 × 8, sketch", 0, many((2, 4), "sketch", (50, 8))),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=list(TABLES), help="some of the tables")
    parser.add_argument("--smoke", action="store_true", help="small sizes")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds that a line may take")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    options = parser.parse_args()
    tables = SMOKE if options.smoke else TABLES
    for name in options.only or tables:
        text = table(*tables[name], patience=options.patience)
        if options.write:
            place(name, text)


def table(title: str, start: float, lines: list[Line], *, patience: float) -> str:
    """One table, printed as it comes."""
    text = [
        f"| {title} | seconds | processor seconds | seconds per 1,000 | peak MiB |",
        "| --- | --- | --- | --- | --- |",
    ]
    print("\n".join(["", *text]), flush=True)
    found: list[tuple[float, Took]] = []
    for label, size, work in lines:
        took = measured(*work, patience=patience)
        if took is None:
            text.append(f"| {label} | not within {patience:.0f} s | | | |")
        else:
            found.append((size, took))
            each = 1000.0 * took["wall"] / size
            text.append(f"| {label} | {took['wall']:.1f} | {took['cpu']:.1f} | {each:.3g} | {took['peak_mib']:,.0f} |")
        print(text[-1], flush=True)
    late = [(size, took["cpu"]) for size, took in found if size >= start]
    if start and len(late) > 1:
        sizes, seconds = np.log(np.array(late)).T
        text += ["", f"Exponent from {start:,.0f} on: {np.polyfit(sizes, seconds, 1)[0]:.2f}."]
        print(text[-1], flush=True)
    return "\n".join(text)


if __name__ == "__main__":
    main()
