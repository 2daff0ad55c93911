"""Partitions of named data sets, for simulations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fedbary.data import by_size, datasets, dirichlet, paper_case
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from fedbary.data.table import Table


def partition_table(config: Mapping[str, Any], partition: int) -> Table:
    """The rows of one simulated client.

    ``dataset`` (default digits), ``partition`` (``same``, ``case-1`` … ``case-5``, or ``dirichlet-0.3``), ``clients``,
    ``rows`` of a client and ``seed``; the test part of the data set is the server's.
    """
    clients = int(config.get("clients", 5))
    how, rows = str(config.get("partition", "case-5")), int(config.get("rows", 100))
    parts = list(
        _divided(str(config.get("dataset", "digits")), how, clients, rows, int(config.get("seed", 0))).values()
    )
    if not 0 <= partition < len(parts):
        raise SettingsError("guard.no-such-node", clients=len(parts), number=partition + 1)
    return parts[partition]


def reference_table(config: Mapping[str, Any]) -> Table:
    """The test part of the data set."""
    return datasets.load(str(config.get("dataset", "digits"))).test.replace(origin="reference")


@lru_cache(maxsize=2)
def _divided(dataset: str, how: str, clients: int, rows: int, seed: int) -> dict[str, Table]:
    pool = datasets.load(dataset).train
    kind, _, detail = how.partition("-")
    if kind == "case" and detail in ("1", "2", "3", "4", "5"):
        return paper_case(pool, int(detail), clients=clients, rows=rows * clients, seed=seed).clients
    if kind == "dirichlet":
        try:
            return dirichlet(pool, clients, float(detail), rows=rows, seed=seed).clients
        except ValueError as error:
            raise SettingsError("guard.partition-lacks-number", name=how) from error
    if how == "same":
        return by_size(pool, [rows] * clients, seed=seed).clients
    raise SettingsError("guard.no-partition", name=how)
