"""The data of the experiments: a clean reference, and clients with label skew and rows spoilt on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fedbary.data import datasets
from fedbary.data.corruptions import add_noise, flip_labels
from fedbary.data.partitions import by_size, dirichlet
from fedbary.data.table import Table, concat

Rows = npt.NDArray[np.intp]

# Kind, share of the rows and size of what spoils a client's rows.
NOISES = {
    "labels 10 %": ("labels", 0.1, 0.0),
    "labels 30 %": ("labels", 0.3, 0.0),
    "features 0.5 σ": ("features", 0.1, 0.5),
    "features 1 σ": ("features", 0.1, 1.0),
}
# Dirichlet parameters of label skew, as tables print them.
SKEWS = {"0.1": 0.1, "1": 1.0, "∞": np.inf}


@dataclass(frozen=True, eq=False)
class Spoilt:
    """A client, the labels it had, and which of its rows were spoilt."""

    table: Table
    truth: npt.NDArray[np.generic]
    mask: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SplitDataset:
    """One data set divided into a reference and a pool that clients draw from."""

    reference: Table
    pool: Table

    def rows(self, count: int, alpha: float, *, seed: int, without: Rows | None = None) -> Rows:
        """Rows of the pool whose classes have Dirichlet(alpha) shares; infinity, or one class left: any rows."""
        left = np.arange(len(self.pool)) if without is None else np.setdiff1d(np.arange(len(self.pool)), without)
        named = Table({"row": left.astype(float)}, self.pool.labels[left])
        skewed = np.isfinite(alpha) and len(np.unique(named.labels)) > 1
        part = dirichlet(named, 1, alpha, rows=count, seed=seed) if skewed else by_size(named, [count], seed=seed)
        return next(iter(part.clients.values())).columns["row"].astype(np.intp)

    def disjoint_rows(self, sizes: Sequence[int], alpha: float, *, seed: int) -> list[Rows]:
        """Rows of the pool for several clients that have none in common, each with class shares of its own."""
        found: list[Rows] = []
        for number, size in enumerate(sizes):
            taken = np.concatenate(found) if found else None
            found.append(self.rows(size, alpha, seed=seed + number, without=taken))
        return found

    def client(self, rows: Rows, kind: str, share: float, *, sigma: float = 1.0, seed: int) -> Spoilt:
        """A client of these rows with a share of wrong labels, or of rows with noise.

        Wrong ``labels`` are any other class, wrong ``pairs`` the next one, ``confusions`` the class that looks most
        alike. Noise on ``features`` is sigma times the spread of the whole pool, so that a client of few classes is not
        spared; ``standard`` noise is N(0, sigma²) on the numbers as they are.
        """
        clean, rng = self.pool.take(rows), np.random.default_rng([seed, 1])  # not the one that drew the rows
        if kind == "confusions":
            mask = rng.permutation(len(rows)) < round(share * len(rows))
            classes, nearest = _nearest_classes(self)
            confused = nearest[np.searchsorted(classes, clean.labels)]
            return Spoilt(clean.replace(labels=np.where(mask, confused, clean.labels)), clean.labels, mask)
        if kind in ("labels", "pairs"):
            classes = np.unique(self.pool.labels)
            table, mask = flip_labels(
                clean, share, kind="pair" if kind == "pairs" else "uniform", classes=classes, seed=rng
            )
            return Spoilt(table, clean.labels, mask)
        chosen = rng.permutation(len(rows)) < round(share * len(rows))
        if kind == "standard":
            return Spoilt(_standard_noise(clean, chosen, sigma, rng), clean.labels, chosen)
        both = concat([clean, _noisy_pool(self, sigma).take(rows)])
        return Spoilt(both.take(np.arange(len(rows)) + len(rows) * chosen), clean.labels, chosen)


@lru_cache(maxsize=1)
def split_dataset(dataset: str, reference_rows: int, *, seed: int, coordinates: int | None = None) -> SplitDataset:
    """Draw the reference; the pool is everything else. A block of more ``coordinates`` is reduced to so many."""
    table = _all_rows(dataset) if coordinates is None else _reduced(dataset, coordinates)
    order = np.random.default_rng([seed, 0]).permutation(len(table))
    reference = table.take(order[:reference_rows]).replace(origin="reference")
    return SplitDataset(reference, table.take(order[reference_rows:]))


def forget_data() -> None:
    """Load data sets again: one of them may have changed."""
    split_dataset.cache_clear()
    _reduced.cache_clear()
    _all_rows.cache_clear()


def _standard_noise(table: Table, chosen: npt.NDArray[np.bool_], sigma: float, rng: np.random.Generator) -> Table:
    columns = {name: column.copy() for name, column in table.columns.items()}
    for column in columns.values():
        column[chosen] += sigma * rng.standard_normal((int(chosen.sum()), *column.shape[1:]), dtype=column.dtype)
    return table.replace(columns=columns)


@lru_cache(maxsize=2)
def _noisy_pool(data: SplitDataset, sigma: float) -> Table:
    return add_noise(data.pool, 1.0, sigma=sigma, seed=0)[0]


@lru_cache(maxsize=1)
def _nearest_classes(data: SplitDataset) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.generic]]:
    """The classes, and of each the one whose mean is nearest, measured by the spread within classes."""
    features = np.hstack([column.reshape(len(data.pool), -1) for column in data.pool.columns.values()]).astype(float)
    classes, codes = np.unique(data.pool.labels, return_inverse=True)
    means = np.array([features[codes == code].mean(axis=0) for code in range(len(classes))])
    spread = np.sqrt(((features - means[codes]) ** 2).mean(axis=0))
    means /= np.where(spread > 0, spread, 1.0)
    apart = ((means[:, None] - means) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return classes, classes[apart.argmin(axis=1)]


@lru_cache(maxsize=1)
def _all_rows(dataset: str) -> Table:
    return datasets.load(dataset).all()


@lru_cache(maxsize=1)
def _reduced(dataset: str, coordinates: int) -> Table:
    """Blocks as their first principal directions, each with standard deviation 1; columns as they are."""
    table = _all_rows(dataset)
    wide = {name: block for name, block in table.columns.items() if block.ndim > 1 and block.shape[1] > coordinates}
    return table.replace(columns={**table.columns, **{name: _principal(wide[name], coordinates) for name in wide}})


def _principal(block: npt.NDArray[np.floating], coordinates: int) -> npt.NDArray[np.float64]:
    centred = block.astype(np.float64) - block.mean(axis=0, dtype=np.float64)
    directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :coordinates]  # eigh has the largest last
    scores: npt.NDArray[np.float64] = centred @ directions
    return np.asarray(scores / scores.std(axis=0))
