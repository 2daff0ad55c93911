"""Groups of rows that lie together: k-means with no group smaller than asked, class by class.

k-means++ and Lloyd's steps without a library's overhead, of which a model needs hundreds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_STEPS, _TOLERANCE = 50, 1e-4
# Rows at a time, as all distances to all centres at once would need more memory than the rows; and groups whose sums
# are fastest as a matrix product: over many, sums of sorted rows are.
_PART, _FEW = 4096, 32


def grouped_by_class(
    values: Floats, codes: Integers, most: int | Mapping[int, int], *, min_group: int, seed: int
) -> Integers:
    """Assign rows to `grouped` groups that never cross classes, at most ``most`` in each class."""
    return groupings_by_class(values, codes, (most,), min_group=min_group, seed=seed)[0]


def groupings_by_class(
    values: Floats, codes: Integers, mosts: Sequence[int | Mapping[int, int]], *, min_group: int, seed: int
) -> list[Integers]:
    """`grouped_by_class` for several ``most`` at the price of little more than one."""
    groupings, starts = [np.zeros(len(codes), dtype=np.int64) for _ in mosts], [0] * len(mosts)
    for code in np.unique(codes):
        mine = codes == code
        rows = fewest_coordinates(values[mine])
        for place, most in enumerate(mosts):
            share = most if isinstance(most, int) else most[int(code)]
            found = starts[place] + grouped(rows, share, min_group=min_group, seed=seed)
            groupings[place][mine] = found
            starts[place] = int(found.max()) + 1
    return groupings


def grouped(rows: Floats, most: int, *, min_group: int, seed: int) -> Integers:
    """Assign rows to at most ``most`` k-means groups; groups under ``min_group`` rows join their nearest one."""
    count = max(1, min(most, len(rows) // max(min_group, 1)))
    if count == 1:
        return np.zeros(len(rows), dtype=np.int64)
    groups, centres = k_means(rows, count, seed=seed)
    sizes = np.bincount(groups, minlength=count)
    while (sizes > 0).sum() > 1 and sizes[sizes > 0].min() < min_group:
        small = int(np.argmin(np.where(sizes > 0, sizes, len(rows) + 1)))
        others = np.flatnonzero((sizes > 0) & (np.arange(count) != small))
        nearest = others[np.argmin(((centres[others] - centres[small]) ** 2).sum(axis=1))]
        groups[groups == small] = nearest
        centres[nearest] = rows[groups == nearest].mean(axis=0)
        sizes = np.bincount(groups, minlength=count)
    return np.asarray((np.cumsum(sizes > 0) - 1)[groups], dtype=np.int64)


def fewest_coordinates(rows: Floats) -> Floats:
    """Rows with the same distances in no more coordinates than there are rows."""
    if len(rows) >= rows.shape[1]:
        return rows
    from scipy.linalg import lapack

    centred = rows - rows.mean(axis=0)
    products = centred @ centred.T
    # Centred rows are dependent, so that a factor with pivots is needed.
    factor, pivots, rank, _ = (lapack.spstrf if products.dtype == np.float32 else lapack.dpstrf)(products, lower=1)
    found = np.zeros_like(products)
    found[pivots - 1] = np.tril(factor)
    return np.asarray(found[:, : max(int(rank), 1)])


def k_means(rows: Floats, count: int, *, seed: int) -> tuple[Integers, Floats]:
    """The group of each row and the groups' centres, as `sklearn.cluster.KMeans` with one start finds them."""
    middle = rows.mean(axis=0)
    centred = rows - middle
    parts = [slice(start, start + _PART) for start in range(0, len(rows), _PART)]
    centres = _first_centres(centred, count, np.random.RandomState(seed))
    enough = _TOLERANCE * float(np.einsum("ij,ij->i", centred, centred).mean()) / rows.shape[1]

    def nearest() -> Integers:
        lengths, twice = np.einsum("ij,ij->i", centres, centres), 2.0 * centres.T
        found = [(lengths - centred[part] @ twice).argmin(axis=1) for part in parts]
        return found[0] if len(found) == 1 else np.concatenate(found)

    groups = np.full(len(rows), -1)
    for _ in range(_MOST_STEPS):
        before, groups = groups, nearest()
        if (before == groups).all():
            return groups, centres + middle
        previous, centres = centres, _means(centred, groups, centres, parts)
        moved = (centres - previous).ravel()
        if float(moved @ moved) <= enough:
            break
    return nearest(), centres + middle


def _first_centres(rows: Floats, count: int, random: np.random.RandomState) -> Floats:
    """Greedy k-means++: of a few rows drawn by squared distance, the one that leaves the least distance."""
    lengths, trials = np.einsum("ij,ij->i", rows, rows), 2 + int(np.log(count))
    tried = np.array([random.choice(len(rows), p=np.full(len(rows), 1.0 / len(rows)))])
    chosen, closest = [], np.full(len(rows), np.inf)
    while True:
        squared = lengths[tried][:, None] + lengths - 2.0 * (rows[tried] @ rows.T)
        left = np.minimum(closest, np.maximum(squared, 0.0, out=squared))
        best = int(np.argmin(left.sum(axis=1)))
        closest = left[best]
        chosen.append(int(tried[best]))
        if len(chosen) == count:
            return rows[chosen]
        drawn = random.uniform(size=trials) * closest.sum()
        tried = np.minimum(np.searchsorted(np.cumsum(closest), drawn), len(rows) - 1)


def _means(rows: Floats, groups: Integers, centres: Floats, parts: Sequence[slice]) -> Floats:
    """The groups' means; an empty group takes the row that is farthest from its own centre."""
    count = len(centres)
    sizes = np.bincount(groups, minlength=count).astype(float)
    if (empty := np.flatnonzero(sizes == 0)).size:
        away = ((rows - centres[groups]) ** 2).sum(axis=1)
        groups = groups.copy()
        groups[np.argsort(away)[: -len(empty) - 1 : -1]] = empty
        sizes = np.maximum(np.bincount(groups, minlength=count), 1).astype(float)
    if count <= _FEW:
        members = np.zeros((count, len(rows)), dtype=rows.dtype)
        members[groups, np.arange(len(rows))] = 1.0
        return np.asarray((members @ rows) / sizes[:, None])
    sums = np.zeros_like(centres)
    for part in parts:
        order = np.argsort(groups[part], kind="stable")
        present, starts = np.unique(groups[part][order], return_index=True)
        sums[present] += np.add.reduceat(rows[part][order], starts, axis=0)
    return np.asarray(sums / sizes[:, None])
