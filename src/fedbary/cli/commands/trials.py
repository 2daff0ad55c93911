"""Small runs of what a command would do, from which `--dry-run` estimates the whole."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedbary.cli.commands.estimates import Estimate, Parts, Stopwatch, calibrate, estimate
from fedbary.cli.commands.peek import Peek

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.engines.events import Event
    from fedbary.research.comparison import Comparison

    Run = Callable[[dict[str, Table], list[Table]], Any]

# Rows of the smallest trial; with fewer, guards refuse, or no scoring model is fitted.
_FEWEST_ROWS = 120
_MOST_CLIENTS = 8
_FEW_EVALUATIONS = 64
# Permutations that sampled methods make at the least, and how many more they may need.
_PERMUTATIONS, _MORE = 31, 6
_ALL_COALITIONS = ("exactfed", "mr", "or")


def trial_of_value(
    clients: Mapping[str, Peek], reference: Peek | None, workers: int | None, **settings: Any
) -> Estimate:
    """A valuation: the server's part once, the clients' part for each of them."""
    from fedbary import LocalEngine, value

    some = _some(clients)

    def run(tables: dict[str, Table], server: list[Table]) -> Parts:
        watch = _Watch()
        value(tables, *server, engine=LocalEngine(workers=1), progress=watch, **settings)
        return watch.parts()

    share = len(clients) / len(some)
    calibration = calibrate(_with_rows(run, some, _given(reference)), _smallest(some, _given(reference)))
    parallel = min(workers or os.cpu_count() or 1, len(clients))
    # A server's work may grow with its clients.
    times = {"clients": (share / parallel, share), "server": (1.0, share)}
    return estimate(calibration, times, data_bytes=_bytes([*clients.values(), *_given(reference)]))


def trial_of_boost(clients: Mapping[str, Peek], reference: Peek, test: Peek, **settings: Any) -> Estimate:
    """A valuation and a training for each way of acting."""
    from fedbary.research.boosting import boost

    some = _some(clients)

    def run(tables: dict[str, Table], server: list[Table]) -> Parts:
        watch = Stopwatch()
        boost(tables, *server, **settings)
        return {"all": watch.lap()}

    share = len(clients) / len(some)
    calibration = calibrate(_with_rows(run, some, [reference, test]), _smallest(some, [reference, test]))
    data = _bytes([*clients.values(), reference, test])
    return estimate(calibration, {"all": (1.0 if share == 1.0 else 0.5 * share, share)}, data_bytes=data)


def trial_of_row_comparison(clients: Mapping[str, Peek], reference: Peek, **settings: Any) -> Estimate:
    """Row values by several methods, client by client."""
    from fedbary.research.comparison import compare_rows

    some = _some(clients)

    def run(tables: dict[str, Table], server: list[Table]) -> Parts:
        return dict(compare_rows(tables, *server, **settings).seconds)

    share = len(clients) / len(some)
    calibration = calibrate(_with_rows(run, some, [reference]), _smallest(some, [reference]))
    times = dict.fromkeys(calibration.runs[-1][1], (share, share))
    return estimate(calibration, times, data_bytes=_bytes([*clients.values(), reference]))


def trial_of_comparison(clients: Mapping[str, Peek], reference: Peek, rounds: int, **settings: Any) -> Estimate:
    """Every method with a small budget; what an evaluation costs is scaled by how many the method needs."""
    from fedbary.research.comparison import compare_clients

    found: list[Comparison] = []
    given = settings.pop("max_evaluations", None)
    budget = min(given or _FEW_EVALUATIONS, _FEW_EVALUATIONS)

    def run(tables: dict[str, Table], server: list[Table]) -> Parts:
        started = time.perf_counter()
        found[:] = [compare_clients(tables, *server, max_evaluations=budget, **settings)]
        took = time.perf_counter() - started
        scores = found[0].scores
        each = {name: one.seconds / max(one.evaluations, 1) for name, one in scores.items()}
        return {**each, "": max(took - sum(one.seconds for one in scores.values()), 0.0)}

    calibration = calibrate(_with_rows(run, clients, [reference]), _smallest(clients, [reference]))
    times = {"": (1.0, 1.0)}
    for name, one in found[0].scores.items():
        done = float(max(one.evaluations, 1))
        low, high = (done, 1.5 * done) if one.converged else _needed(name, len(clients), rounds)
        most = math.inf if given is None else float(given)
        times[name] = (min(low, most), min(max(high, done), most))
    return estimate(calibration, times, data_bytes=_bytes([*clients.values(), reference]))


def _needed(method: str, clients: int, rounds: int) -> tuple[float, float]:
    """Evaluations of a method, at least and at most: all coalitions, or the permutations of a sample."""
    from fedbary.research.baselines.clients import METHODS

    games = 1 if (method in METHODS and METHODS[method].retrains) or method == "or" else rounds
    coalitions = 2.0**clients
    if method in _ALL_COALITIONS:
        return games * coalitions, games * coalitions
    sampled = float(_PERMUTATIONS * clients)
    # Truncation may leave out most of a permutation, and most rounds.
    return min(coalitions, 2.0 * clients), games * min(coalitions, _MORE * sampled)


def _with_rows(run: Run, clients: Mapping[str, Peek], server: Sequence[Peek]) -> Callable[[float], Parts]:
    """The work with a fraction of everybody's rows."""

    def work(fraction: float) -> Parts:
        tables = {name: _part(one, fraction) for name, one in clients.items()}
        parts: Parts = run(tables, [_part(one, fraction) for one in server])
        return parts

    return work


def _part(one: Peek, fraction: float) -> Table:
    """Rows from all over the sample, always the same."""
    import numpy as np

    assert one.sample is not None
    count = min(max(math.ceil(fraction * one.rows), _FEWEST_ROWS), len(one.sample))
    return one.sample.take(np.sort(np.random.default_rng(0).permutation(len(one.sample))[:count]))


def _smallest(clients: Mapping[str, Peek], server: Sequence[Peek]) -> float:
    """The fraction that leaves the fewest rows to a typical table."""
    rows = sorted(one.rows for one in (*clients.values(), *server))
    return min(1.0, _FEWEST_ROWS / rows[len(rows) // 2])


def _some(clients: Mapping[str, Peek]) -> dict[str, Peek]:
    """Few enough clients for a quick trial, from the smallest to the largest."""
    names = sorted(clients, key=lambda name: clients[name].rows)
    step = max(1.0, len(names) / _MOST_CLIENTS)
    return {name: clients[name] for name in [names[int(step * i)] for i in range(min(len(names), _MOST_CLIENTS))]}


def _given(peek: Peek | None) -> list[Peek]:
    return [] if peek is None else [peek]


def _bytes(peeks: Sequence[Peek]) -> float:
    """Size of all tables in memory."""
    total = 0.0
    for one in peeks:
        if one.sample is not None and len(one.sample):
            held = sum(column.nbytes for column in one.sample.columns.values())
            total += one.rows * held / len(one.sample)
    return total


class _Watch:
    """Tells the server's time from that of the clients, by the events of a run."""

    def __init__(self) -> None:
        self._watch = Stopwatch()
        self._parts = {"server": 0.0, "clients": 0.0}
        self._inside = False

    def __call__(self, event: Event) -> None:
        self._count()
        if event.kind in ("round-started", "round-finished", "run-finished"):
            self._inside = event.kind == "round-started"

    def parts(self) -> Parts:
        self._count()
        return self._parts

    def _count(self) -> None:
        self._parts["clients" if self._inside else "server"] += self._watch.lap()
