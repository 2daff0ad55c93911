"""Second moments of features, class by class: what whitening and the label weight are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, SchemaError
from fedbary.space.encode import encode
from fedbary.space.labels import class_names
from fedbary.space.points import place
from fedbary.space.row_identity import without_rare_values
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

_ABSURD = 100.0


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and mean outer product of the features, and the between-class part of the latter.

    ``between`` is Σ_c (n_c/n)·m_c·m_cᵀ. All three are sums over the same rows, those of classes with at least
    ``min_group`` different rows, so that no difference between them shows a smaller group.
    """

    mean: Floats
    second: Floats
    between: Floats


def table_moments(table: Table, draft: Schema, *, min_group: int = 1) -> Moments:
    """Second moments of a table's features before whitening."""
    values = place(without_rare_values(encode(table, draft), min_group), draft)
    classes = draft.label.kind == "classes"
    names: NDArray[np.generic] = class_names(table.labels) if classes else np.zeros(len(values))
    if min_group > 1:
        values, names = _of_large_classes(values, names, min_group)
    second = values.T @ values / len(values)
    between = np.zeros_like(second)
    for name in np.unique(names):
        rows = names == name
        class_mean = values[rows].mean(axis=0)
        between += rows.mean() * np.outer(class_mean, class_mean)
    return Moments(values.mean(axis=0), second, between)


def _of_large_classes(values: Floats, names: NDArray[np.generic], min_group: int) -> tuple[Floats, NDArray[np.generic]]:
    large = np.zeros(len(values), dtype=bool)
    for name in np.unique(names):
        rows = names == name
        large |= rows & (len(np.unique(values[rows], axis=0)) >= min_group)
    if not large.any():
        raise DataError("schema.no-class-with-enough-rows", least=min_group)
    return values[large], names[large]


def merged(parts: Sequence[Moments]) -> Moments:
    """Average of several parties' moments, each party counting the same; absurdly large ones are left out."""
    if not parts:
        raise SchemaError("schema.nobody-sent-moments")
    sizes = [float(np.trace(part.second)) for part in parts]
    parts = [
        part for part, size in zip(parts, sizes, strict=True) if size <= _ABSURD * max(float(np.median(sizes)), 1e-12)
    ]
    return Moments(
        np.mean([part.mean for part in parts], axis=0),
        np.mean([part.second for part in parts], axis=0),
        np.mean([part.between for part in parts], axis=0),
    )
