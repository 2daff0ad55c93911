"""A finished experiment on disk: its table, and where it comes from.

``table.csv`` and ``provenance.json`` of a folder are enough to print the table's page again, to the letter; numbers in
the pages' prose are taken from them, too.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Provenance:
    """Where a table comes from.

    Parameters
    ----------
    command
        What computes it.
    cells, seeds, seconds, cores
        How many cells and seeds it has, the seconds of all cells together, and the cores that shared them.
    commit, versions
        The code that computed it.
    complete
        Whether all cells are in it.
    """

    command: str
    cells: int
    seeds: int
    seconds: float
    cores: int
    commit: str
    versions: dict[str, str]
    complete: bool = True


def write(folder: Path, table: pd.DataFrame, provenance: Provenance) -> None:
    """Keep a table with what is needed to read it as it was."""
    table.to_csv(folder / "table.csv", index=False)
    kept = {**asdict(provenance), "columns": {str(name): str(kind) for name, kind in table.dtypes.items()}}
    (folder / "provenance.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read(folder: Path) -> tuple[pd.DataFrame, Provenance]:
    """The table as it was written: texts that look like numbers stay texts."""
    import pandas as pd

    kept = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    columns = kept.pop("columns")
    table = pd.read_csv(
        folder / "table.csv",
        dtype={name: "str" if kind == "object" else kind for name, kind in columns.items()},
        float_precision="round_trip",
    )
    return table, Provenance(**kept)
