"""The split of the reference into a sketch half and a calibration half."""

from __future__ import annotations

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.space.row_identity import row_keys


def split_reference(reference: Table, *, seed: int = 0) -> tuple[Table, Table]:
    """Split a reference in two: the first half fits everything, the second only calibrates flags.

    The order is a keyed hash of each row's content, so it depends on the seed and not on how the file was
    sorted. Nothing may be fitted on the calibration half: with a schema fitted on all rows, clean rows reach
    small p-values far too often (DESIGN 2.1).

    Examples
    --------
    >>> import fedbary as fb
    >>> sketch, calibration = fb.split_reference(fb.datasets.load("digits").test)
    >>> len(sketch) - len(calibration) in (0, 1)
    True
    """
    if len(reference) < 2:
        raise DataError("The reference needs at least two rows to be split: add validation rows.")
    order = np.argsort(row_keys(reference, seed=seed), kind="stable")
    half = (len(reference) + 1) // 2
    return reference.take(np.sort(order[:half])), reference.take(np.sort(order[half:]))
