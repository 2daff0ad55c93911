"""A finished experiment on disk: its table, and where it comes from.

``table.csv`` and ``provenance.json`` of a folder are enough to print the table's page again, to the letter; numbers in
the pages' prose are taken from them, too.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.export import quoted

if TYPE_CHECKING:
    import pandas as pd

TABLE, PROVENANCE = "table.csv", "provenance.json"
MINUTES = Path(__file__).with_name("minutes.csv")
# What a page shows is far from the seventh digit; more would only make the files larger.
DIGITS = 7
# Columns of texts, and of values of several types, each of which is written as JSON.
TEXT, MIXED = "text", "mixed"
# An empty cell is an empty text, so that a missing one needs a word.
NO_TEXT = "NaN"


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
        Whether all cells are in it, each without an error.
    """

    command: str
    cells: int
    seeds: int
    seconds: float
    cores: int
    commit: str
    versions: dict[str, str]
    complete: bool = True

    @property
    def minutes(self) -> float:
        """Minutes of one core."""
        return self.seconds / 60.0


def rounded(table: pd.DataFrame) -> pd.DataFrame:
    """The table with as many digits as are kept, so that what is printed now is what is printed from the file.

    Examples
    --------
    >>> import pandas as pd
    >>> rounded(pd.DataFrame({"share": [1 / 3], "alpha": ["0.1"]})).to_dict("records")
    [{'share': 0.3333333, 'alpha': '0.1'}]
    """
    numbers = [str(name) for name in table if table[name].dtype.kind == "f"]
    return table.assign(**{name: [float(f"{number:.{DIGITS}g}") for number in table[name]] for name in numbers})


def write(folder: Path, table: pd.DataFrame, provenance: Provenance) -> None:
    """Keep a table with what is needed to read it as it was."""
    kinds = {str(name): _kind(table[name]) for name in table}
    plain = table.assign(
        **{name: [_cell(value, kind) for value in table[name]] for name, kind in kinds.items() if kind in (TEXT, MIXED)}
    )
    plain.to_csv(folder / TABLE, index=False)
    kept = {**asdict(provenance), "columns": kinds}
    (folder / PROVENANCE).write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read(folder: Path) -> tuple[pd.DataFrame, Provenance]:
    """The table as it was written: texts that look like numbers stay texts, and whole numbers whole."""
    import pandas as pd

    kept = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
    kinds = kept.pop("columns")
    texts = pd.read_csv(folder / TABLE, dtype=str, keep_default_na=False)
    return texts.assign(**{name: _column(texts[name], kind) for name, kind in kinds.items()}), Provenance(**kept)


@lru_cache(maxsize=1)
def minutes() -> dict[str, float]:
    """Minutes of one core by experiment, as tools/pages.py has written them down from the tables that it stored.

    Examples
    --------
    >>> minutes()["verdict"] > 1
    True
    """
    lines = MINUTES.read_text(encoding="utf-8").splitlines()[1:]
    return {name: float(took) for name, _, took in (line.partition(",") for line in lines)}


def _column(texts: pd.Series, kind: str) -> pd.Series:
    """A column of its own type. Python reads the numbers, to the last digit: how pandas does depends on its version."""
    import pandas as pd

    if kind == TEXT:
        return texts.mask(texts == NO_TEXT)
    if kind == MIXED:
        return pd.Series([json.loads(cell) for cell in texts], dtype=object)
    if kind == "bool":
        return texts == "True"
    number = float if kind.startswith("float") else int
    return pd.Series([number(cell or "nan") for cell in texts], dtype=kind)


def _kind(column: pd.Series) -> str:
    """The type of a column: that of NumPy, or what it holds where that says too little."""
    if column.dtype.kind in "biuf":
        return str(column.dtype)
    return TEXT if all(isinstance(value, str) for value in column.dropna()) else MIXED


def _cell(value: Any, kind: str) -> str:
    missing = value is None or (isinstance(value, float) and isnan(value))
    if kind == MIXED:
        return json.dumps(None if missing else value.item() if hasattr(value, "item") else value)
    if not missing and value == NO_TEXT:
        raise ValueError(f"a text of a table may not be {NO_TEXT!r}")
    return NO_TEXT if missing else str(quoted(value))
