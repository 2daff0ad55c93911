"""Time and bytes of cards beside the sketch protocol: 1,000 clients × 500 rows × 64 columns, one × 1,000,000 × 128.

Synthetic rows: ten Gaussian classes, every tenth label wrong; seed 0, each line in a process of its own. The large
client has two peers of 1,000 rows; its own work is what is shown. The sketch has a reference of 1,000 clean rows, cards
have none. Bytes are those of arrays and scalars, before any encoding. Run: ``python benchmarks/cards.py`` (``--smoke``
for a quick look).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import fedbary as fb
from fedbary.protocols.messages import Message, Reply
from fedbary.valuation.rows import RowRules

CLASSES, REFERENCE_ROWS, PEER_ROWS = 10, 1000, 1000
PROTOCOLS = {"cards": fb.Cards, "cards, guarded": lambda: fb.Cards(policy="guarded"), "sketch": fb.Sketch}


class Clock:
    """Seconds spent on each kind of work."""

    def __init__(self) -> None:
        self.seconds = {"answering": 0.0, "rows": 0.0, "server": 0.0}

    @contextmanager
    def __call__(self, work: str, *, counted: bool = True) -> Iterator[None]:
        """Add the time that is spent in here."""
        started = time.perf_counter()
        yield
        self.seconds[work] += counted * (time.perf_counter() - started)


def measure(protocol: str, clients: int, rows: int, columns: int) -> dict[str, float]:
    """Run one federation in this process; where there is one client only, its peers' work is not counted."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLASSES, columns))
    tables = {f"client_{number}": drawn(rng, centres, rows) for number in range(clients)}
    watched = set(tables)
    tables |= {f"peer_{number}": drawn(rng, centres, PEER_ROWS) for number in range(2 * (clients == 1))}
    reference = drawn(rng, centres, REFERENCE_ROWS, wrong=0.0) if protocol == "sketch" else None
    settings, rules, clock = PROTOCOLS[protocol](), RowRules(), Clock()
    halves = {name: settings.client(table, rules=rules, seed=0) for name, table in tables.items()}
    up, down = 0, 0
    with clock("server"):
        server = settings.server(list(tables), reference, settings.space(None), rules=rules, seed=0)
        tasks = server.tasks()
    while tasks:
        replies = {}
        for name, message in tasks.items():
            with clock("answering", counted=name in watched):
                replies[name] = halves[name].answer(message)
            if name in watched:
                up, down = up + size(replies[name]), down + size(message)
        with clock("server"):
            server.absorb(replies)
            tasks = server.tasks()
    with clock("server"):
        server.result()
    with clock("rows"):
        for name in watched:
            halves[name].row_values()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**clock.seconds, "up": up / clients, "down": down / clients, "peak": peak}


def drawn(rng: np.random.Generator, centres: np.ndarray, rows: int, wrong: float = 0.1) -> fb.Table:
    """Gaussian classes, and a share of labels that are any class."""
    codes = rng.integers(len(centres), size=rows)
    features = rng.normal(size=(rows, centres.shape[1])) + centres[codes]
    codes = np.where(rng.random(rows) < wrong, rng.integers(len(centres), size=rows), codes)
    return fb.Table({f"x{place}": column for place, column in enumerate(features.T)}, codes)


def size(sent: Message | Reply) -> int:
    """Bytes of what is sent."""
    return sum(array.nbytes for array in sent.arrays.values()) + len(json.dumps(dict(sent.scalars)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few clients of few rows")
    parser.add_argument("--cell", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        name, *numbers = options.cell
        print(json.dumps(measure(name, *map(int, numbers))))
        return
    federations = [(20, 100, 8), (1, 5000, 8)] if options.smoke else [(1000, 500, 64), (1, 1_000_000, 128)]
    print("| clients × rows × columns | protocol | answering, ms a client | own rows, ms a client | server, s", end="")
    print(" | KiB from a client | KiB to a client | peak MiB |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for federation in federations:
        for protocol in PROTOCOLS:
            found = fresh(protocol, *federation)
            clients = federation[0]
            print(
                f"| {' × '.join(f'{number:,}' for number in federation)} | {protocol} "
                f"| {1e3 * found['answering'] / clients:,.1f} | {1e3 * found['rows'] / clients:,.1f} "
                f"| {found['server']:.1f} | {found['up'] / 1024:,.1f} | {found['down'] / 1024:,.1f} "
                f"| {found['peak']:,.0f} |",
                flush=True,
            )


def fresh(protocol: str, *federation: int) -> dict[str, float]:
    """Run one cell in a process of its own."""
    command = [sys.executable, __file__, "--cell", protocol, *map(str, federation)]
    return dict(json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))


if __name__ == "__main__":
    main()
