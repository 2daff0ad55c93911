"""`RowComparison`: what different methods say the same rows are worth, and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.export import write
from fedbary.errors import DataError, SettingsError
from fedbary.notes import Note
from fedbary_lab.comparison.measures import auroc, rank_correlations
from fedbary_lab.result_folder import read_index, refuse_foreign, write_index

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fedbary.views.plots import Display

_KIND, _INDEX = "row-comparison", "row-comparison.json"
_FILES = ("rows.csv", "summary.csv", "plot.html", _INDEX)
_COLUMNS = ("method", "client", "row", "value")


@dataclass(frozen=True, eq=False)
class RowComparison:
    """Values of the same rows by several methods.

    Parameters
    ----------
    values : mapping
        Method → client → row values, in the columns of `Valuation.rows`.
    seconds : mapping
        Method → time for all clients together.
    failed : mapping
        Method → client → `Note` that says why it could not be computed.
    wrong : mapping
        Client → mask of rows that are known to be wrong, where that is known.
    """

    values: Mapping[str, Mapping[str, pd.DataFrame]]
    seconds: Mapping[str, float]
    failed: Mapping[str, Mapping[str, Note]] = field(default_factory=dict)
    wrong: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"RowComparison({', '.join(self.values)}: .summary(), .to_frame(), .plot())"

    def to_frame(self) -> pd.DataFrame:
        """One line per method, client and row: method, client, row, value (higher is better), and wrong if known."""
        import pandas as pd

        frames = []
        for method, clients in self.values.items():
            for client, rows in clients.items():
                frame = rows[["row", "value"]].assign(method=method, client=client)
                frames.append(frame.assign(wrong=self.wrong[client]) if client in self.wrong else frame)
        columns = [*_COLUMNS, *(["wrong"] if self.wrong else [])]
        return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)

    def summary(self, truth: str | None = None) -> pd.DataFrame:
        """One row per method: AUROC of wrong rows, agreement with ``truth``, seconds; means over the clients."""
        import pandas as pd

        truth = truth or self.settings.get("truth")
        if truth is not None and truth not in self.values:
            raise SettingsError("research.truth-not-compared", name=str(truth), methods=", ".join(self.values))
        records = []
        for method, clients in self.values.items():
            record: dict[str, Any] = {"method": method, "clients": len(clients), "seconds": self.seconds[method]}
            found = [auroc(_numbers(rows), self.wrong[name]) for name, rows in clients.items() if name in self.wrong]
            record["auroc"] = _mean(found)
            if truth is not None:
                record |= _agreement(clients, self.values[truth])
            records.append(record)
        columns = ["method", "clients", "auroc", "spearman", "kendall", "seconds"]
        return pd.DataFrame(records).reindex(columns=columns)

    def display(self) -> Display:
        """How well the methods find wrong rows where these are known, else how alike the methods are."""
        from fedbary_lab.plots import method_aurocs, method_likeness

        return method_aurocs(self.summary()) if self.wrong else method_likeness(self.likeness())

    def plot(self) -> Figure:
        """`display` as a Plotly figure."""
        return self.display().plot()

    def likeness(self) -> pd.DataFrame:
        """Mean rank correlation of the row values of every two methods: method, other, spearman."""
        import pandas as pd

        pairs = [(first, second) for first in self.values for second in self.values]
        correlations = [_agreement(self.values[first], self.values[second])["spearman"] for first, second in pairs]
        return pd.DataFrame(pairs, columns=["method", "other"]).assign(spearman=correlations)

    def save(self, folder: str | Path) -> Path:
        """Write ``rows.csv`` and ``summary.csv``, which any spreadsheet opens."""
        home = Path(folder)
        check_folder(home)
        for name in _FILES:
            (home / name).unlink(missing_ok=True)
        home.mkdir(parents=True, exist_ok=True)
        write(self.to_frame(), home / "rows.csv")
        write(self.summary(), home / "summary.csv")
        write_index(home / _INDEX, _KIND, {})
        return home


def check_folder(folder: str | Path) -> None:
    """Refuse a folder in which saving would overwrite anything but an earlier comparison of rows."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise DataError("valuation.not-a-folder", path=str(home))
    if (home / _INDEX).is_file():
        read_index(home / _INDEX, _KIND, dict)
    else:
        refuse_foreign(home, (home / name for name in _FILES), "comparison of rows")


def _agreement(first: Mapping[str, pd.DataFrame], second: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Rank correlations of two methods' values, averaged over the clients that both have valued."""
    shared = [name for name in first if name in second]
    found = [rank_correlations(_numbers(first[name]), _numbers(second[name])) for name in shared]
    return {measure: _mean([both[measure] for both in found]) for measure in ("spearman", "kendall")}


def _numbers(rows: pd.DataFrame) -> NDArray[np.float64]:
    return rows["value"].to_numpy(dtype=float)


def _mean(numbers: Sequence[float]) -> float:
    known = [number for number in numbers if np.isfinite(number)]
    return float(np.mean(known)) if known else float("nan")
