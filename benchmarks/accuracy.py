"""How far above the exact distance the interpolation protocol ends: digits, 600 against 600 rows, 10 rounds.

Run: ``python benchmarks/accuracy.py`` (``--smoke`` for a quick look).
"""

from __future__ import annotations

import argparse

import numpy as np

import fedbary as fb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one seed, two supports")
    options = parser.parse_args()
    seeds, supports = (range(1), (50, 100)) if options.smoke else (range(12), (50, 100, 300, 600))
    digits = fb.datasets.load("digits").all()
    order = np.random.default_rng(0).permutation(len(digits))
    table, reference = digits.take(order[:600]), digits.take(order[600:1200])
    schema = fb.fit_schema(reference)
    P, Q = fb.embed(table, schema), fb.embed(reference, schema)
    exact = fb.solve(P.points, Q.points, P.weights, Q.weights).distance
    print(f"digits, 600 vs 600 rows, Gaussian labels, 10 rounds, {len(seeds)} seeds; exact distance {exact:.3f}")
    print("\n| S | t = 0.5: median (worst) | random t: median (worst) |\n| --- | --- | --- |")
    for support in supports:
        cells = []
        for t in (0.5, None):
            settings = fb.Interpolation(support=support, t=t, allow_reconstruction=True, tolerance=0.0)
            ratios = [
                fb.value({"c": table}, reference, protocol=settings, seed=seed).clients["distance"][0] / exact
                for seed in seeds
            ]
            cells.append(f"{np.median(ratios):.3f} ({max(ratios):.3f})")
        print(f"| {support} | {cells[0]} | {cells[1]} |", flush=True)
    print("\nnumbers are estimate / exact distance; 1 is perfect, below 1 is impossible")


if __name__ == "__main__":
    main()
