"""How well distances order five clients by their noise (the paper's cases 4 and 5) on digits.

For every seed: 1400 digits for five clients with 0, 5, 10, 15, 20 % noisy rows, 397 as reference. Printed are the
mean Spearman correlation of noise and distance, and the share of seeds in which all five are in order. Run:
``python benchmarks/ordering.py`` (``--smoke`` for a quick look).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import spearmanr

import fedbary as fb

SPACES = {
    "one scale per block (default)": fb.Space(scaling="standard"),
    "every coordinate scaled": fb.Space(scaling="coordinate"),
}


def exact_distances(clients: dict[str, fb.Table], reference: fb.Table, space: fb.Space) -> list[float]:
    schema = fb.fit_schema(reference, space)
    Q = fb.embed(reference, schema)
    clouds = [fb.embed(table, schema) for table in clients.values()]
    return [fb.solve(P.points, Q.points, P.weights, Q.weights).distance for P in clouds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="two seeds only")
    seeds = range(2 if parser.parse_args().smoke else 12)
    digits = fb.datasets.load("digits").all()
    methods = {
        "exact distance": exact_distances,
        "protocol, t = 0.5": lambda c, r, s: _protocol(c, r, s, fb.Interpolation(t=0.5)),
        "protocol, random t": lambda c, r, s: _protocol(c, r, s, fb.Interpolation()),
    }
    print(f"digits, 5 clients × 280 rows, 397 reference rows, S = 56, {len(seeds)} seeds")
    print("\n| case | scaling | " + " | ".join(methods) + " |\n| --- | --- |" + " --- |" * len(methods))
    for case in (4, 5):
        for name, space in SPACES.items():
            found: dict[str, list[float]] = {method: [] for method in methods}
            for seed in seeds:
                train, reference = fb.partitions.by_size(digits, [1400, 397], seed=seed).clients.values()
                clients = fb.partitions.paper_case(train, case, seed=seed).clients
                for method, run in methods.items():
                    found[method].append(spearmanr(range(5), run(clients, reference, space))[0])
            cells = [f"{np.mean(v):.2f} ({np.mean(np.array(v) > 0.999):.0%})" for v in found.values()]
            print(f"| {case} | {name} | " + " | ".join(cells) + " |", flush=True)


def _protocol(
    clients: dict[str, fb.Table], reference: fb.Table, space: fb.Space, settings: fb.Interpolation
) -> list[float]:
    return list(fb.value(clients, reference, protocol=settings, space=space, seed=0).clients["distance"])


if __name__ == "__main__":
    main()
