"""What a client has to compute: the sketch protocol against the interpolation protocol, in one run.

N clients × 500 rows of Fashion-MNIST (else digits), 1000 reference rows, 100 points, 10 rounds, one thread, seed 0.
Only the clients' own work is timed: embedding and answering every message, and, apart, scoring all rows. Run:
``python benchmarks/client_work.py`` (``--smoke`` for a quick look).
"""

from __future__ import annotations

import argparse
import time

import fedbary as fb
from fedbary.valuation.rules import RowRules
from samples import ROWS, sample

SUPPORT = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="three clients only")
    count = 3 if parser.parse_args().smoke else 100
    data, tables, reference = sample(count)
    settings = {
        "interpolation, 10 rounds": fb.Interpolation(support=SUPPORT, tolerance=0.0),
        "sketch": fb.Sketch(support=SUPPORT, lower="triangle"),
        "sketch with the improved lower end (default)": fb.Sketch(support=SUPPORT),
    }
    spaces = {"the default space": None, "the space of the paper, without projection": fb.Space(projection="none")}
    for title, space in spaces.items():
        print(f"\n{data}, {count} clients × {ROWS} rows, S = {SUPPORT}, {title}: clients' work, interpolation = 1")
        print("\n| protocol | answering | times faster | scoring all rows |\n| --- | --- | --- | --- |")
        base = 0.0
        for name, chosen in settings.items():
            answering, scoring = measure(chosen, tables, reference, space)
            base = base or answering
            print(f"| {name} | {answering / base:.3f} | {base / answering:.1f} | {scoring / base:.3f} |", flush=True)
        print(f"\ninterpolation took {base / count:.3f} s a client")


def measure(
    settings: fb.Interpolation | fb.Sketch, tables: dict[str, fb.Table], reference: fb.Table, space: fb.Space | None
) -> tuple[float, float]:
    """Seconds that all clients together spend on answers, and on row values."""
    rules = RowRules()
    server = settings.server(list(tables), reference, settings.space(space), rules=rules, seed=0)
    clients = {name: settings.client(table, rules=rules, seed=0) for name, table in tables.items()}
    answering = 0.0
    while tasks := server.tasks():
        replies = {}
        for name, message in tasks.items():
            started = time.perf_counter()
            replies[name] = clients[name].answer(message)
            answering += time.perf_counter() - started
        server.absorb(replies)
    started = time.perf_counter()
    for client in clients.values():
        client.row_values()
    return answering, time.perf_counter() - started


if __name__ == "__main__":
    main()
