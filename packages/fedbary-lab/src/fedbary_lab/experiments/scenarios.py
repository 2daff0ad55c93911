"""Federations in which clients complete, repeat or spoil each other (DESIGN 2.8)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fedbary.data.corruptions import flip_labels
from fedbary.data.table import Table

Floats = NDArray[np.float64]

ROWS = 200


def scenario(pool: Table, name: str, clients: int, *, seed: int) -> dict[str, Table]:
    """Clients of one scenario, without any row in common."""
    draw = _Drawing(pool, seed)
    tables = SCENARIOS[name](draw, clients)
    return {f"client_{place + 1}": table for place, table in enumerate(tables)}


class _Drawing:
    """Takes rows from a pool, each once."""

    def __init__(self, pool: Table, seed: int) -> None:
        self._pool, self._classes = pool, np.unique(pool.labels)
        self.rng = np.random.default_rng([seed, 2])
        order = self.rng.permutation(len(pool))
        self._left = [order[pool.labels[order] == name] for name in self._classes]

    @property
    def classes(self) -> int:
        return len(self._classes)

    def rows(self, shares: Floats, count: int, *, flipped: float = 0.0) -> Table:
        """So many rows with these class shares, of which a part has a wrong label."""
        taken = []
        for code, number in enumerate(self.rng.multinomial(count, shares / shares.sum())):
            taken.append(self._left[code][:number])
            self._left[code] = self._left[code][number:]
        table = self._pool.take(np.concatenate(taken))
        return flip_labels(table, flipped, classes=self._classes, seed=self.rng)[0] if flipped else table


def _complement(draw: _Drawing, clients: int) -> list[Table]:
    """Three in five have half of the classes, one the other half, one all of them with 40 % wrong labels."""
    half = (np.arange(draw.classes) < draw.classes // 2).astype(float)
    fifth = clients // 5
    kinds = [half] * (clients - 2 * fifth) + [1.0 - half] * fifth
    return [draw.rows(kind, ROWS) for kind in kinds] + [
        draw.rows(np.ones(draw.classes), ROWS, flipped=0.4) for _ in range(fifth)
    ]


def _pairs(draw: _Drawing, clients: int) -> list[Table]:
    """Four fifths of a client's rows are of two classes."""
    tables = []
    for place in range(clients):
        shares = np.full(draw.classes, 0.2 / max(draw.classes - 2, 1))
        shares[[(2 * place) % draw.classes, (2 * place + 1) % draw.classes]] = 0.4
        tables.append(draw.rows(shares, ROWS))
    return tables


def _sizes(draw: _Drawing, clients: int) -> list[Table]:
    """From 20 to 320 rows, each client a constant factor larger than the one before."""
    return [draw.rows(np.ones(draw.classes), int(rows)) for rows in np.geomspace(20, 320, clients).round()]


def _flips(draw: _Drawing, clients: int) -> list[Table]:
    """From 0 to 60 % wrong labels."""
    return [draw.rows(np.ones(draw.classes), ROWS, flipped=share) for share in np.linspace(0.0, 0.6, clients)]


def _mixed(draw: _Drawing, clients: int) -> list[Table]:
    """Dirichlet(0.5) classes, 40 to 320 rows, and 0, 20 or 40 % wrong labels, all at random."""
    return [
        draw.rows(
            draw.rng.dirichlet(np.full(draw.classes, 0.5)),
            int(draw.rng.choice([40, 80, 160, 320])),
            flipped=float(draw.rng.choice([0.0, 0.2, 0.4])),
        )
        for _ in range(clients)
    ]


SCENARIOS: dict[str, Callable[[_Drawing, int], list[Table]]] = {
    "complement": _complement,
    "pairs": _pairs,
    "sizes": _sizes,
    "flips": _flips,
    "mixed": _mixed,
}
