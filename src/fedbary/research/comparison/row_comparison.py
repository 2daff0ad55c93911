"""What different methods say the same rows are worth."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbary import __version__
from fedbary.api import value
from fedbary.checks import did_you_mean
from fedbary.data.export import write
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError, SettingsError
from fedbary.protocols.registry import PROTOCOLS
from fedbary.research.comparison.compared_tables import tables_of
from fedbary.research.comparison.measures import auroc, rank_correlations
from fedbary.research.comparison.protocols import PROTOCOL_METHODS
from fedbary.research.unfinished import Unfinished, fingerprints

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fedbary.api import Data
    from fedbary.views.plots import Display

_DEFAULT = ("sketch", "logistic", "knn-shapley", "lava-exact")
_MARK, _MARKED = "row-comparison.json", '{"fedbary": "row-comparison", "version": 1}\n'
_FILES = ("rows.csv", "summary.csv", "plot.html", _MARK)
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
        Method → client → why it could not be computed.
    wrong : mapping
        Client → mask of rows that are known to be wrong, where that is known.
    """

    values: Mapping[str, Mapping[str, pd.DataFrame]]
    seconds: Mapping[str, float]
    failed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
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
            raise SettingsError(f"'{truth}' is not among the methods compared ({', '.join(self.values)}).")
        records = []
        for method, clients in self.values.items():
            record: dict[str, Any] = {"method": method, "clients": len(clients), "seconds": self.seconds[method]}
            found = [auroc(_numbers(rows), self.wrong[name]) for name, rows in clients.items() if name in self.wrong]
            record["auroc"] = _mean(found)
            if truth is not None:
                other = self.values[truth]
                agreed = [
                    rank_correlations(_numbers(rows), _numbers(other[name]))
                    for name, rows in clients.items()
                    if name in other
                ]
                record |= {key: _mean([one[key] for one in agreed]) for key in ("spearman", "kendall")}
            records.append(record)
        columns = ["method", "clients", "auroc", "spearman", "kendall", "seconds"]
        return pd.DataFrame(records).reindex(columns=columns)

    def display(self) -> Display:
        """How well the methods find wrong rows where these are known, else how alike the methods are."""
        from fedbary.views.plots import method_aurocs, method_likeness

        return method_aurocs(self.summary()) if self.wrong else method_likeness(self.likeness())

    def plot(self) -> Figure:
        """`display` as a Plotly figure."""
        return self.display().plot()

    def likeness(self) -> pd.DataFrame:
        """Mean rank correlation of the row values of every two methods: method, other, spearman."""
        import pandas as pd

        pairs = [(first, second) for first in self.values for second in self.values]
        correlations = [_likeness(self.values[first], self.values[second]) for first, second in pairs]
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
        (home / _MARK).write_text(_MARKED, encoding="utf-8")
        return home


def check_folder(folder: str | Path) -> None:
    """Refuse a folder in which saving would overwrite anything but an earlier comparison of rows."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise DataError(f"'{home}' is a file: choose a folder to write to.")
    own = (home / _MARK).is_file() and (home / _MARK).read_text(encoding="utf-8") == _MARKED
    for name in _FILES:
        if (home / name).exists() and not own:
            raise DataError(
                f"'{home}' holds {name}, which is not from an earlier comparison of rows and would be overwritten: "
                "choose another folder."
            )


def compare_rows(
    clients: Mapping[str, Data | FedbaryError],
    reference: Data,
    *,
    methods: Sequence[str] | None = None,
    truth: str | None = None,
    wrong: Mapping[str, ArrayLike] | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> RowComparison:
    """`fedbary.compare` with ``level="rows"``."""
    tell = progress or (lambda _: None)
    chosen = chosen_row_methods(methods, truth)
    tables, target = tables_of(clients, reference)
    masks = _masks(wrong or {}, tables)
    unfinished = Unfinished(
        folder,
        lambda: {
            **{"version": __version__, "level": "rows", "seed": seed},
            **{"clients": fingerprints(tables), "reference": fingerprints({"": target})},
        },
    )
    values: dict[str, dict[str, pd.DataFrame]] = {}
    failed: dict[str, dict[str, str]] = {}
    seconds: dict[str, float] = {}
    for name in chosen:
        tell(name)
        done = unfinished.find(name)
        if done is not None:
            found, why, seconds[name] = _load(done)
        else:
            started = time.perf_counter()
            one = _protocol if name in PROTOCOLS else _each
            found, why = one(name, tables, target, seed)
            seconds[name] = time.perf_counter() - started
            unfinished.keep(name, partial(_keep, found=found, why=why, seconds=seconds[name]))
        if found:
            values[name] = found
        if why:
            failed[name] = why
    unfinished.clear()
    return RowComparison(values, seconds, failed, masks, {"seed": seed, "truth": truth if truth in values else None})


def _keep(place: Path, *, found: Mapping[str, pd.DataFrame], why: Mapping[str, str], seconds: float) -> None:
    """One method's values, for a comparison that goes on after an interruption."""
    names = list(found)
    for number, name in enumerate(names):
        write(found[name], place / f"{number}.parquet")
    index = {"clients": names, "failed": dict(why), "seconds": seconds}
    (place / "index.json").write_text(json.dumps(index), encoding="utf-8")


def _load(place: Path) -> tuple[dict[str, pd.DataFrame], dict[str, str], float]:
    import pandas as pd

    index = json.loads((place / "index.json").read_text(encoding="utf-8"))
    found = {name: pd.read_parquet(place / f"{number}.parquet") for number, name in enumerate(index["clients"])}
    return found, index["failed"], index["seconds"]


def _protocol(
    name: str, tables: Mapping[str, Table | FedbaryError], target: Table, seed: int
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Row values by one of our protocols, all clients in one run."""
    try:
        reference = target if PROTOCOL_METHODS[name].uses_reference else None
        result = value(tables, reference, protocol=name, seed=seed)
    except FedbaryError as error:
        return {}, dict.fromkeys(tables, str(error))
    rows = dict(result.row_tables)
    status = dict(zip(result.clients["client"], result.clients["status"], strict=True))
    return rows, {client: str(status[client]) for client in tables if client not in rows}


def _each(
    name: str, tables: Mapping[str, Table | FedbaryError], target: Table, seed: int
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Row values by a method that takes one table at a time."""
    from fedbary.research.baselines.row_methods import ROW_METHODS

    found: dict[str, pd.DataFrame] = {}
    why: dict[str, str] = {}
    for client, table in tables.items():
        try:
            if isinstance(table, FedbaryError):
                raise table
            found[client] = ROW_METHODS[name].compute(table, target, seed)
        except FedbaryError as error:
            why[client] = str(error)
        except Exception as error:  # other people's packages; the other methods and clients go on
            why[client] = f"{type(error).__name__}: {error}"
    return found, why


def chosen_row_methods(methods: Sequence[str] | None, truth: str | None) -> list[str]:
    """The methods that were named, or the default ones, each once."""
    from fedbary.research.baselines.row_methods import ROW_METHODS

    if isinstance(methods, str):
        raise SettingsError(f"The 'methods' parameter must be a list of names. Got the text {methods!r} instead.")
    named = [*(_DEFAULT if methods is None else methods), *([] if truth is None else [truth])]
    if not named:
        raise SettingsError("No method was given: name at least one.")
    for name in named:
        if name not in ROW_METHODS and name not in PROTOCOLS:
            there = [*ROW_METHODS, *PROTOCOLS]
            raise SettingsError(
                f"There is no method {name!r} that values rows{did_you_mean(name, there)}; there is {', '.join(there)}."
            )
    return list(dict.fromkeys(named))


def _masks(wrong: Mapping[str, ArrayLike], tables: Mapping[str, Table | FedbaryError]) -> dict[str, NDArray[np.bool_]]:
    masks = {}
    for name, given in wrong.items():
        table, mask = tables.get(str(name)), np.asarray(given)
        if table is None:
            raise SettingsError(f"The 'wrong' parameter of compare names '{name}', which is no client.")
        if isinstance(table, FedbaryError):
            continue
        if mask.dtype != bool or mask.shape != (len(table),):
            raise SettingsError(
                f"The 'wrong' parameter of compare must have one boolean for each of the {len(table)} rows of "
                f"'{name}'. Got {mask.dtype} of shape {mask.shape} instead."
            )
        masks[str(name)] = mask
    return masks


def _likeness(first: Mapping[str, pd.DataFrame], second: Mapping[str, pd.DataFrame]) -> float:
    shared = [name for name in first if name in second]
    found = [rank_correlations(_numbers(first[name]), _numbers(second[name]))["spearman"] for name in shared]
    return _mean(found)


def _numbers(rows: pd.DataFrame) -> NDArray[np.float64]:
    return rows["value"].to_numpy(dtype=float)


def _mean(numbers: Sequence[float]) -> float:
    known = [number for number in numbers if np.isfinite(number)]
    return float(np.mean(known)) if known else float("nan")
