"""What one number of points for all clients is good for, and how few still order clients (docs/decisions/046).

First: 250 clean rows beside 500 of the same source, each client with as many points as its rows allow, and both with
the same number; printed is by how much the smaller one stands farther away. Then: five clients of 250 digits of which
from none to 8 or 20 % are spoilt, compared by ever more points; printed is the mean Spearman correlation of noise and
distance. Run: ``python benchmarks/one_support.py`` (``--smoke`` for a quick look). Fashion-MNIST needs FEDBARY_DATA.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from scipy.stats import spearmanr

import fedbary as fb
from fedbary_lab.datasets import describe

SUPPORTS = (2, 5, 10, 20, 50)
NOISES = {
    "wrong labels": lambda rows, share, seed: fb.corruptions.flip_labels(rows, share, seed=seed)[0],
    "noisy features, 1 σ": lambda rows, share, seed: fb.corruptions.add_noise(rows, share, sigma=1.0, seed=seed)[0],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="two seeds only, and no data but digits")
    smoke = parser.parse_args().smoke
    known = describe().set_index("name")["available"]
    names = ["digits", *(["fashion-mnist"] if known["fashion-mnist"] and not smoke else [])]
    clean = range(2 if smoke else 5)
    print(f"250 rows stand farther away than 500, {len(clean)} seeds")
    print("\n| data | points | mean | least | most |\n| --- | --- | --- | --- | --- |")
    for name in names:
        rows = fb.datasets.load(name).all()
        for points, common in (("as many as each allows", False), ("the same", True)):
            found = [farther(rows, seed, common=common) for seed in clean]
            numbers = " | ".join(f"{one:+.0%}" for one in (np.mean(found), min(found), max(found)))
            print(f"| {name} | {points} | {numbers} |", flush=True)
    noisy = range(2 if smoke else 6)
    print(f"\ndigits, Spearman correlation of noise and distance by the number of points, {len(noisy)} seeds")
    print(
        "\n| noise | most spoilt rows | "
        + " | ".join(map(str, SUPPORTS))
        + " |\n| --- | --- |"
        + " --- |" * len(SUPPORTS)
    )
    digits = fb.datasets.load("digits").all()
    for noise, most in product(NOISES, (0.08, 0.2)):
        means = np.mean([correlations(digits, noise, most, seed) for seed in noisy], axis=0)
        print(f"| {noise} | {most:.0%} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |", flush=True)


def farther(rows: fb.Table, seed: int, *, common: bool) -> float:
    """How much farther 250 rows stand than 500, as a share; alone, each client has the points that it allows."""
    order = np.random.default_rng(seed).permutation(len(rows))
    clients = {"half": rows.take(order[:250]), "whole": rows.take(order[250:750])}
    runs = [clients] if common else [{name: table} for name, table in clients.items()]
    half, whole = np.concatenate([_distances(run, rows.take(order[750:1250]), 100, seed) for run in runs])
    return float(half / whole - 1.0)


def correlations(rows: fb.Table, noise: str, most: float, seed: int) -> list[float]:
    """How well each number of points orders five clients."""
    order = np.random.default_rng(seed).permutation(len(rows))
    reference, clients = rows.take(order[1250:]), {}
    for number in range(5):
        own = rows.take(order[250 * number : 250 * (number + 1)])
        clients[f"client {number}"] = NOISES[noise](own, most * number / 4, seed)
    return [spearmanr(range(5), _distances(clients, reference, support, seed))[0] for support in SUPPORTS]


def _distances(clients: dict[str, fb.Table], reference: fb.Table, support: int, seed: int) -> list[float]:
    result = fb.value(clients, reference, protocol=fb.Interpolation(support=support), seed=seed)
    return list(result.clients["distance"])


if __name__ == "__main__":
    main()
