"""What a client has to compute: the sketch protocol against the published loop and our interpolation, in one run.

N clients × 500 rows of Fashion-MNIST (else digits), 1000 reference rows, 10 rounds, one thread, seed 0; processor
time. The published loop is the paper's Algorithm 1 with as many points as rows and t = 0.5: in every round a client
solves two transports, γ to its rows and η_P to η_Q, and a last one for its distance. The paper's solver is the network
simplex; the same loop with our choice of solver stands beside it. The loop gives a distance, so that the sketch's
distance alone is what compares with it; by default a client also scores its rows, for numbers about them. Only the
clients' own work is timed: embedding and answering every message, and, apart, scoring all rows. Run:
``python benchmarks/client_work.py`` (``--smoke`` for a quick look).
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary.space.points import random_points
from fedbary.transport import interpolate
from fedbary.transport.solve import Method
from fedbary.valuation.rows import RowRules
from samples import ROWS, sample

SUPPORT, ROUNDS, T = 100, 10, 0.5

Floats = NDArray[np.float64]
Tables = dict[str, fb.Table]
Work = Callable[[Tables, fb.Table, fb.Space | None], tuple[float, float | None]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="three clients, two rounds, one space")
    parser.add_argument("--clients", type=int, default=20)
    options = parser.parse_args()
    count, rounds = (3, 2) if options.smoke else (options.clients, ROUNDS)
    data, tables, reference = sample(count)
    measured: dict[str, Work] = {
        "published loop, network simplex": published(rounds, "exact"),
        "published loop, our choice of solver": published(rounds, "auto"),
        f"interpolation, S = {SUPPORT}": ours(fb.Interpolation(support=SUPPORT, rounds=rounds, tolerance=0.0)),
        "sketch, distance alone": ours(fb.Sketch(support=SUPPORT, lower="triangle", numbers=False)),
        "sketch, with the improved lower end": ours(fb.Sketch(support=SUPPORT, numbers=False)),
        "sketch, with numbers about the rows (default)": ours(fb.Sketch(support=SUPPORT)),
    }
    spaces = {"the default space": None, "the space without projection": fb.Space(projection="none")}
    used = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "POT"))
    print(f"{data}, {count} clients × {ROWS} rows, {rounds} rounds, seed 0; Python {platform.python_version()}, {used}")
    first = next(iter(tables.values())).take(np.arange(200))
    for work in measured.values():  # what is imported late is not a client's work
        work({"first": first}, reference, None)
    for title, space in list(spaces.items())[: 1 if options.smoke else None]:
        print(f"\nClients' work in {title}; the published loop = 1\n")
        print(
            "| protocol | ms a client | answering | times faster | scoring all rows |\n| --- | --- | --- | --- | --- |"
        )
        base = 0.0
        for name, work in measured.items():
            answering, scoring = work(tables, reference, space)
            base = base or answering
            scored = "" if scoring is None else f"{scoring / base:.3f}"
            each = f"{1e3 * answering / count:.1f}"
            print(f"| {name} | {each} | {answering / base:.3f} | {base / answering:.1f} | {scored} |", flush=True)


def ours(settings: fb.Interpolation | fb.Sketch) -> Work:
    """Processor seconds that the clients of one of our protocols together spend on answers, and on row values."""

    def work(tables: Tables, reference: fb.Table, space: fb.Space | None) -> tuple[float, float]:
        rules = RowRules()
        server = settings.server(list(tables), reference, settings.space(space), rules=rules, seed=0)
        clients = {name: settings.client(table, rules=rules, seed=0) for name, table in tables.items()}
        answering = 0.0
        while tasks := server.tasks():
            replies = {}
            for name, message in tasks.items():
                started = time.process_time()
                replies[name] = clients[name].answer(message)
                answering += time.process_time() - started
            server.absorb(replies)
        started = time.process_time()
        for client in clients.values():
            client.row_values()
        return answering, time.process_time() - started

    return work


def published(rounds: int, method: Method) -> Work:
    """Processor seconds that all clients spend in Algorithm 1 as published (lines 2, 3 and 6), S = rows and t = 0.5."""

    def work(tables: Tables, reference: fb.Table, space: fb.Space | None) -> tuple[float, None]:
        schema = fb.fit_schema(reference, fb.Interpolation().space(space), seed=0)
        target = fb.embed(reference, schema)
        spent = 0.0
        for table in tables.values():
            gamma = random_points(np.random.default_rng(0), len(table), schema)
            started = time.process_time()
            rows = fb.embed(table, schema)
            spent += time.process_time() - started
            for _ in range(rounds):
                eta_q = halfway(gamma, target.points, target.weights, method)  # the server's work
                started = time.process_time()
                eta_p = halfway(gamma, rows.points, rows.weights, method)
                gamma = halfway(eta_p, eta_q, None, method)
                spent += time.process_time() - started
            started = time.process_time()
            fb.solve(gamma, rows.points, None, rows.weights, method=method)
            spent += time.process_time() - started
        return spent, None

    return work


def halfway(points: Floats, others: Floats, weights: Floats | None, method: Method) -> Floats:
    """Equation 6 of the paper: each point moves by t towards where its mass goes."""
    return interpolate(fb.solve(points, others, None, weights, method=method), points, others, T)[0]


if __name__ == "__main__":
    main()
