"""The data of the experiments: a clean reference, and clients with label skew and rows spoilt on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fedbary.data import Table, add_noise, by_size, concat, datasets, dirichlet, flip_labels

Rows = npt.NDArray[np.intp]


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
        """Rows of the pool whose classes have Dirichlet(alpha) shares; infinity: any rows."""
        left = np.arange(len(self.pool)) if without is None else np.setdiff1d(np.arange(len(self.pool)), without)
        named = Table({"row": left.astype(float)}, self.pool.labels[left])
        skewed = np.isfinite(alpha)
        part = dirichlet(named, 1, alpha, rows=count, seed=seed) if skewed else by_size(named, [count], seed=seed)
        return next(iter(part.clients.values())).columns["row"].astype(np.intp)

    def client(self, rows: Rows, kind: str, share: float, *, sigma: float = 1.0, seed: int) -> Spoilt:
        """A client of these rows with a share of wrong labels, or of rows with noise of sigma.

        Wrong ``labels`` are any other class, wrong ``pairs`` the next one. Noise is measured by the spread of the whole
        pool: a client of few classes is not spared.
        """
        clean, rng = self.pool.take(rows), np.random.default_rng([seed, 1])  # not the one that drew the rows
        if kind in ("labels", "pairs"):
            classes = np.unique(self.pool.labels)
            table, mask = flip_labels(
                clean, share, kind="pair" if kind == "pairs" else "uniform", classes=classes, seed=rng
            )
            return Spoilt(table, clean.labels, mask)
        chosen = rng.permutation(len(rows)) < round(share * len(rows))
        both = concat([clean, _noisy_pool(self, sigma).take(rows)])
        return Spoilt(both.take(np.arange(len(rows)) + len(rows) * chosen), clean.labels, chosen)


@lru_cache(maxsize=1)
def split_dataset(dataset: str, reference_rows: int, *, seed: int) -> SplitDataset:
    """Draw the reference; the pool is everything else."""
    table = _all_rows(dataset)
    order = np.random.default_rng([seed, 0]).permutation(len(table))
    reference = table.take(order[:reference_rows]).replace(origin="reference")
    return SplitDataset(reference, table.take(order[reference_rows:]))


@lru_cache(maxsize=2)
def _noisy_pool(data: SplitDataset, sigma: float) -> Table:
    return add_noise(data.pool, 1.0, sigma=sigma, seed=0)[0]


@lru_cache(maxsize=1)
def _all_rows(dataset: str) -> Table:
    return datasets.load(dataset).all()
