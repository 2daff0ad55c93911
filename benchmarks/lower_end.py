"""Lower ends of the sketch protocol's intervals: how wide they leave the interval, against the time they take.

Clients of equal size, a third of them with labels replaced at random, against 2,000 reference rows. ``width`` is the
mean of (high − low)/high, ``seconds`` what the lower end costs a client beside its one transport, in CPU time, and
``pairs`` how many pairs of clients have intervals that do not meet. Frank–Wolfe from the optimal plan, 12 steps, is
what was used before. Run: ``python benchmarks/lower_end.py`` (``--smoke`` for a quick look). Seed 0.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations

import numpy as np

import fedbary as fb
from fedbary.protocols.sketch import answer as module
from fedbary.protocols.sketch.sketch import SketchPoints, make_sketch
from fedbary.space.points import Points, class_codes
from fedbary.transport import Transport, solve
from fedbary.transport.simplex import network_simplex
from fedbary.transport.solve import cost_matrix

DATA = ("dry-bean", "fashion-mnist", "cifar10-embeddings", "digits")
STEPS = {"1 step": (0.3,), "2 steps (default)": (0.3, 0.3), "4 steps": (0.3, 0.3, 0.3, 0.3)}


def triangle(_: Points, sketch: SketchPoints, start: Transport) -> float:
    """(d − e)²."""
    return max(0.0, start.distance - sketch.error) ** 2


def frank_wolfe(cloud: Points, sketch: SketchPoints, start: Transport, steps: int = 12) -> float:
    """The least objective − gap of Frank–Wolfe from the optimal plan."""
    costs = cost_matrix(cloud.points, sketch.points, 2)
    lengths, spread = (cloud.points**2).sum(axis=1), np.sqrt(sketch.variances)
    plan, best = start.plan, triangle(cloud, sketch, start)
    for step in range(steps):
        means = plan.T @ cloud.points / sketch.weights[:, None]
        variances = plan.T @ lengths / sketch.weights - (means**2).sum(axis=1)
        sigma = np.sqrt(np.maximum(variances, 1e-12 * (1.0 + variances.max())))
        objective = (plan * costs).sum() + sketch.weights @ (sketch.variances - 2.0 * spread * sigma)
        slope = costs - (spread / sigma) * (lengths[:, None] - 2.0 * cloud.points @ means.T)
        towards = network_simplex(slope, cloud.weights, sketch.weights)
        reached = float(towards.mass @ slope[towards.source, towards.target])
        best = max(best, float(objective + reached - (slope * plan).sum()))
        weight = 2.0 / (step + 3.0)
        plan *= 1.0 - weight
        plan[towards.source, towards.target] += weight * towards.mass
    return best


def climbing(steps: tuple[float, ...]):
    """The lower end with other steps than the default."""

    def bound(cloud: Points, sketch: SketchPoints, start: Transport) -> float:
        kept, module._STEPS = module._STEPS, steps
        try:
            return module.lower_end(cloud, sketch, start)
        finally:
            module._STEPS = kept

    return bound


METHODS = {
    "triangle": triangle,
    **{name: climbing(steps) for name, steps in STEPS.items()},
    "Frank–Wolfe, 12": frank_wolfe,
}


def measure(name: str, clients: int, rows: int) -> None:
    """Print the lines of one data set."""
    data = fb.datasets.load(name).all()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(data))
    taken = min(2000, len(data) // 2)
    reference, rest = data.take(order[:taken]), order[taken:]
    schema = fb.fit_schema(reference)
    target = fb.embed(reference, schema)
    sketch = make_sketch(
        target.points, target.weights, class_codes(reference, target, schema), None, min_group=5, seed=0
    )
    clouds = []
    for client in range(clients):
        table = data.take(rng.choice(rest, min(rows, len(rest)), replace=False))
        if client % 3 == 0:
            labels = table.labels.copy()
            some = rng.random(len(labels)) < 0.3
            labels[some] = rng.permutation(labels[some])
            table = fb.Table(table.columns, labels)
        clouds.append(fb.embed(table, schema))
    starts = [solve(cloud.points, sketch.points, cloud.weights, sketch.weights) for cloud in clouds]
    highs = np.sqrt([start.cost + sketch.error**2 for start in starts])
    before = time.process_time()
    solve(clouds[0].points, sketch.points, clouds[0].weights, sketch.weights)
    alone = time.process_time() - before
    for method, bound in METHODS.items():
        before = time.process_time()
        lows = np.sqrt([bound(cloud, sketch, start) for cloud, start in zip(clouds, starts, strict=True)])
        seconds = (time.process_time() - before) / clients
        apart = sum(lows[i] > highs[j] or lows[j] > highs[i] for i, j in combinations(range(clients), 2))
        width = float(np.mean((highs - lows) / highs))
        pairs = clients * (clients - 1) // 2
        print(
            f"| {name} | {len(clouds[0].weights)} | {len(sketch.weights)} | {method} | {np.mean(lows):.3f} "
            f"| {width:.3f} | {seconds:.3f} | {seconds / alone:.1f} | {apart} of {pairs} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="digits only, three clients")
    options = parser.parse_args()
    print("| data | rows | groups | lower end | low | width | seconds | transports' time | pairs |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in ("digits",) if options.smoke else DATA:
        for rows in (200,) if options.smoke else (500, 2000):
            try:
                measure(name, 3 if options.smoke else 9, rows)
            except fb.FedbaryError as error:
                print(f"| {name} | {rows} | – | {error} |")


if __name__ == "__main__":
    main()
