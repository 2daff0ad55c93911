"""The federation that several benchmarks measure: Fashion-MNIST, or digits where it is not on the machine."""

from __future__ import annotations

import numpy as np

import fedbary as fb

ROWS, REFERENCE_ROWS = 500, 1000


def sample(clients: int) -> tuple[str, dict[str, fb.Table], fb.Table]:
    """Name of the data, clients of 500 rows, and 1000 reference rows; seed 0."""
    try:
        data = fb.datasets.load("fashion-mnist")
    except fb.FedbaryError:
        data = fb.datasets.load("digits")
    rng = np.random.default_rng(0)
    pick = lambda table, size: table.take(rng.choice(len(table), size, replace=size > len(table)))  # noqa: E731
    reference = pick(data.test, REFERENCE_ROWS)
    return data.name, {f"client_{i:03d}": pick(data.train, ROWS) for i in range(clients)}, reference
