"""The last numbers of the protocol that cards replaced, an iterated consensus of the clients' averages.

It is no longer part of the package, so its numbers are kept, with the commit whose code made them.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

COMMIT = "47e001c"
_KEYS = ["dataset", "noise", "clients", "alpha", "method"]


def last_consensus(table: str) -> pd.DataFrame:
    """Means over seeds as `tables.mean_and_spread` gives them, of one of the stored tables."""
    import pandas as pd

    with (files(__package__) / "last_consensus.csv").open(encoding="utf-8") as file:
        stored = pd.read_csv(file, comment="#", dtype={"alpha": str})
    mine = stored[stored["table"] == table]
    found = mine.pivot(index=_KEYS, columns="metric", values="mean")
    found = found.join(mine.pivot(index=_KEYS, columns="metric", values="sd").add_suffix("_sd"))
    seeds = mine.groupby(_KEYS)["seeds"].min()
    return found.assign(seeds=seeds, errors=0, error="").rename_axis(columns=None).reset_index()
