"""`compare_rows`: the same rows by several methods."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbary import __version__
from fedbary.api import value
from fedbary.data.export import write
from fedbary.data.table import Table
from fedbary.errors import FedbaryError, SettingsError, as_note
from fedbary.notes import Note
from fedbary.valuation.result import why_without_rows
from fedbary_lab.comparison.inputs import check_methods, tables_of
from fedbary_lab.comparison.protocols import PROTOCOL_METHODS, ROW_PROTOCOLS
from fedbary_lab.comparison.row_comparison import RowComparison
from fedbary_lab.result_cache import ResultCache, fingerprints

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.api import Data

_DEFAULT = ("sketch", "logistic", "knn-shapley", "lava-exact")


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
    """Value the rows of the same clients by several methods: other people's and fedbary's protocols.

    All rows must be in one place: this is for research and for trying things out, not for a federation. What a method
    cannot compute is in ``failed``, client by client; the others go on.

    Parameters
    ----------
    clients, reference
        As for `fedbary.value`.
    methods : sequence of str, optional
        Names from `fedbary_lab.baselines.ROW_METHODS` (``knn-shapley``, ``lava``, …) and of protocols. Default:
        sketch, logistic, knn-shapley and lava-exact. `fedbary_lab.register_row_method` adds one of your own.
    truth : str, optional
        The method that the others are measured by; it is computed, too.
    wrong : mapping, optional
        Client name → boolean mask of rows that are known to be wrong; the summary says how well each method finds
        them.
    seed : int
        Of the protocols and of what the methods sample.
    folder : path, optional
        Where each method's values are cached as soon as they are known: the same call goes on after an interruption.
        They are removed when all methods are done; ``save`` writes the result.
    progress : callable, optional
        Called with what is being done, in words.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> parts = fb.partitions.by_size(digits.train, [60, 60, 60], seed=0)
    >>> rows = fb.compare_rows(parts.clients, digits.test, methods=["knn-shapley"])
    >>> list(rows.to_frame().columns), len(rows.to_frame())
    (['method', 'client', 'row', 'value'], 180)
    """
    tell = progress or (lambda _: None)
    chosen = chosen_row_methods(methods, truth)
    tables, target = tables_of(clients, reference)
    masks = _masks(wrong or {}, tables)
    cache = ResultCache(
        folder,
        lambda: {
            **{"version": __version__, "level": "rows", "seed": seed},
            **{"clients": fingerprints(tables), "reference": fingerprints({"": target})},
        },
    )
    found: dict[str, _Valued] = {}
    for name in chosen:
        tell(name)
        found[name] = cache.get(name, partial(_valued, name, tables, target, seed), save=_save, load=_load)
    cache.clear()
    values = {name: valued.rows for name, valued in found.items() if valued.rows}
    failed = {name: valued.failed for name, valued in found.items() if valued.failed}
    seconds = {name: valued.seconds for name, valued in found.items()}
    return RowComparison(values, seconds, failed, masks, {"seed": seed, "truth": truth if truth in values else None})


def chosen_row_methods(methods: Sequence[str] | None, truth: str | None) -> list[str]:
    """The methods that were named, or the default ones, each once."""
    from fedbary_lab.baselines.row_methods import ROW_METHODS

    named = _DEFAULT if methods is None else methods
    return check_methods(named, truth, [*ROW_METHODS.offered(), *ROW_PROTOCOLS], of=" that values rows")


class _Valued(NamedTuple):
    """One method's row values by client, why the other clients have none, and the time of all."""

    rows: dict[str, pd.DataFrame]
    failed: dict[str, Note]
    seconds: float


def _valued(name: str, tables: Mapping[str, Table | FedbaryError], target: Table, seed: int) -> _Valued:
    started = time.perf_counter()
    compute = _by_protocol if name in ROW_PROTOCOLS else _by_baseline
    rows, failed = compute(name, tables, target, seed)
    return _Valued(rows, failed, time.perf_counter() - started)


def _save(valued: _Valued, place: Path) -> None:
    for number, frame in enumerate(valued.rows.values()):
        write(frame, place / f"{number}.parquet")
    failed = {client: why.to_json() for client, why in valued.failed.items()}
    index = {"clients": list(valued.rows), "failed": failed, "seconds": valued.seconds}
    (place / "index.json").write_text(json.dumps(index), encoding="utf-8")


def _load(place: Path) -> _Valued:
    import pandas as pd

    index = json.loads((place / "index.json").read_text(encoding="utf-8"))
    rows = {name: pd.read_parquet(place / f"{number}.parquet") for number, name in enumerate(index["clients"])}
    failed = {client: Note.from_json(why) for client, why in index["failed"].items()}
    return _Valued(rows, failed, index["seconds"])


def _by_protocol(
    name: str, tables: Mapping[str, Table | FedbaryError], target: Table, seed: int
) -> tuple[dict[str, pd.DataFrame], dict[str, Note]]:
    """Row values by one of our protocols, all clients in one run."""
    try:
        reference = target if PROTOCOL_METHODS[name].uses_reference else None
        result = value(tables, reference, protocol=PROTOCOL_METHODS[name].protocol, seed=seed)
    except FedbaryError as error:
        return {}, dict.fromkeys(tables, error.note)
    rows = {client: scored.frame for client, scored in (result.row_tables or {}).items()}
    none = Note("research.protocol-without-rows", {"name": name})
    return rows, {client: why_without_rows(result, client) or none for client in tables if client not in rows}


def _by_baseline(
    name: str, tables: Mapping[str, Table | FedbaryError], target: Table, seed: int
) -> tuple[dict[str, pd.DataFrame], dict[str, Note]]:
    """Row values by a method that takes one table at a time."""
    from fedbary_lab.baselines.row_methods import ROW_METHODS

    rows: dict[str, pd.DataFrame] = {}
    failed: dict[str, Note] = {}
    for client, table in tables.items():
        try:
            if isinstance(table, FedbaryError):
                raise table
            rows[client] = ROW_METHODS[name].compute(table, target, seed=seed)
        except Exception as error:  # other people's packages, too; the other methods and clients go on
            failed[client] = as_note(error)
    return rows, failed


def _masks(wrong: Mapping[str, ArrayLike], tables: Mapping[str, Table | FedbaryError]) -> dict[str, NDArray[np.bool_]]:
    masks = {}
    for name, given in wrong.items():
        table, mask = tables.get(str(name)), np.asarray(given)
        if table is None:
            raise SettingsError("research.mask-of-no-client", name=str(name))
        if isinstance(table, FedbaryError):
            continue
        if mask.dtype != bool or mask.shape != (len(table),):
            raise SettingsError(
                "research.mask-shape", rows=len(table), client=str(name), dtype=str(mask.dtype), shape=str(mask.shape)
            )
        masks[str(name)] = mask
    return masks
