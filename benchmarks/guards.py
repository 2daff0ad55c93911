"""What the privacy guards of the sketch cost; digits, one thread, fixed seeds.

`closeness` of clean clients under ``policy="coarsen"`` and ``"trusted"``. Run: ``python benchmarks/guards.py``.
"""

from __future__ import annotations

import argparse

import numpy as np

import fedbary as fb

SIZES = (300, 150, 80, 40)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one draw only")
    draws = 1 if parser.parse_args().smoke else 10
    digits = fb.datasets.load("digits").all()
    print(
        f"closeness of clean clients, mean of {draws} draws\n\n| policy | "
        + " | ".join(f"{n} rows" for n in SIZES)
        + " |"
    )
    print("| --- |" + " --- |" * len(SIZES))
    for policy in ("trusted", "coarsen"):
        found = [closeness(digits, policy, seed) for seed in range(draws)]
        print(f"| {policy} | " + " | ".join(f"{one:.3f}" for one in np.nanmean(found, axis=0)) + " |", flush=True)


def closeness(digits: fb.Table, policy: str, seed: int) -> list[float]:
    *clients, reference = fb.partitions.by_size(digits, [*SIZES, 797], seed=seed).clients.values()
    settings = fb.Sketch(policy=policy)  # type: ignore[arg-type]
    named = dict(zip(map(str, SIZES), clients, strict=True))
    return list(fb.value(named, reference, protocol=settings, seed=seed).clients["closeness"].astype(float))


if __name__ == "__main__":
    main()
