"""Small tables of two classes for as many clients as a test wants."""

import numpy as np

import fedbary as fb


def many(count, rows=20):
    """A table for each client, and a reference."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 1.0]])

    def drawn(rows):
        codes = rng.integers(0, 2, rows)
        columns = {f"x{i}": column for i, column in enumerate((centres[codes] + rng.normal(size=(rows, 3))).T)}
        return fb.Table(columns, np.array(["no", "yes"])[codes])

    return {f"site {i}": drawn(rows) for i in range(count)}, drawn(120)
