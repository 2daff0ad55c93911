"""Small federations and models that several test files use."""

import numpy as np

from fedbary_lab.training.federation import Federation


def blobs(sizes, *, width=4, classes=3, tests=40, seed=0):
    """Clients of these sizes whose classes are clouds around different centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((classes, width))

    def draw(count):
        codes = np.arange(count) % classes
        return centres[codes] + 0.7 * rng.standard_normal((count, width)), codes

    return Federation.from_arrays({f"client_{i}": draw(size) for i, size in enumerate(sizes)}, draw(tests))
