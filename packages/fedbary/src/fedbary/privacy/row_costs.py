"""What each row costs at each point of a sketch, as an integer that no other row can change.

A matrix product rounds a row differently depending on how many others stand beside it, and a dishonest server can make
that visible. So here is no product of matrices and no sum along rows: coordinate by coordinate, elementwise additions,
subtractions and multiplications, each correctly rounded (IEEE 754) and so the same wherever a row stands.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.space.row_points import chunks

Floats = NDArray[np.float64]

# Costs are counted in parts of the cap.
GRID = 2**20


def row_costs(coordinates: Floats, points: Floats, cap: float) -> Floats:
    """Whole numbers between 0 and ``GRID`` for every row and point: ⌊GRID·min(‖row − point‖²/cap, 1)⌋.

    ``coordinates`` has one line per coordinate, see `fedbary.space.row_points`. What cannot be computed costs ``GRID``.
    The numbers are integers in doubles, as a network simplex wants them.
    """
    width, rows = coordinates.shape
    costs = np.empty((rows, len(points)))
    columns = np.ascontiguousarray(points.T)[:, :, None]
    with np.errstate(all="ignore"):
        for part in chunks(rows, len(points)):
            squares = np.zeros((len(points), part.stop - part.start))
            difference = np.empty_like(squares)
            for place in range(width):
                np.subtract(columns[place], coordinates[place, part], out=difference)
                np.multiply(difference, difference, out=difference)
                np.add(squares, difference, out=squares)
            np.divide(squares, cap, out=squares)
            np.multiply(squares, float(GRID), out=squares)
            np.floor(squares, out=squares)
            squares[~(squares < GRID)] = GRID  # NaN, too
            costs[part] = squares.T
    return costs
