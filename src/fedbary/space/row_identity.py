"""Rows as such: keys of their content, a split that depends on nothing else, and guards that count different rows."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from fedbary.data.changed import changed
from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.space.encode import category_texts
from fedbary.space.labels import class_names

Floats = NDArray[np.float64]


def row_keys(table: Table, *, seed: int = 0) -> NDArray[np.bytes_]:
    """A keyed hash of each row's content; equal rows have equal keys, in whatever order rows and columns are."""
    columns = [table.columns[name] for name in sorted(table.columns)]
    numbers = [values.reshape(len(table), -1).astype(np.float64) for values in columns if values.dtype.kind != "O"]
    matrix = np.hstack(numbers) + 0.0 if numbers else np.zeros((len(table), 0))
    texts = [category_texts(values) for values in columns if values.dtype.kind == "O"]
    names = class_names(table.labels)
    secret = str(seed).encode()
    keys = []
    for row in range(len(table)):
        content = repr((str(names[row]), [column[row] for column in texts])).encode()
        keys.append(hashlib.blake2b(matrix[row].tobytes() + content, key=secret, digest_size=16).digest())
    return np.array(keys, dtype="S16")


def content_digest(table: Table) -> str:
    """One hash of a table's rows, in whatever order."""
    return hashlib.sha256(b"".join(np.sort(row_keys(table)).tolist())).hexdigest()


def order_digest(table: Table) -> str:
    """One hash of a table's rows in their order, by which a table is known again."""
    return hashlib.sha256(b"".join(row_keys(table).tolist())).hexdigest()


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
        raise DataError("schema.reference-too-small-to-split")
    order = np.argsort(row_keys(reference, seed=seed), kind="stable")
    half = (len(reference) + 1) // 2
    return reference.take(np.sort(order[:half])), reference.take(np.sort(order[half:]))


def different_rows(table: Table) -> Table:
    """The table with each row once: what guards count."""
    once = np.zeros(len(table), dtype=bool)
    once[np.unique(row_keys(table), return_index=True)[1]] = True
    return changed(table.replace(ids=None), lambda part: part, kept=once)


def without_rare_values(values: Floats, min_group: int) -> Floats:
    """Columns in which fewer than ``min_group`` rows differ from all others become constant.

    A sum over such a column, or a product with it, would be a sum over those few rows. Returns ``values`` itself
    where there is no such column.
    """
    if min_group <= 1 or not len(values):
        return values
    # A value that all but a few rows share is the median of any that are twice as many, be it "missing". Unless most
    # rows share it, it is a row's own value, and a constant would show it.
    some = values[: 2 * min_group - 1]
    middle = len(some) // 2
    common = np.partition(some, middle, axis=0)[middle]
    odd = len(values) - ((values == common) | (np.isnan(values) & np.isnan(common))).sum(axis=0)
    rare = (odd > 0) & (odd < min(min_group, len(values) / 2))
    return np.where(rare, common, values) if rare.any() else values
