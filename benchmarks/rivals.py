"""What a user would run instead, beside one whole valuation, in one run: processor seconds as ratios.

Five clients of equal size with 10 % wrong labels and as many reference rows as all clients have together. Ours is
``fb.value(clients, reference, protocol="sketch")`` from tables in memory to row values, and ``fb.value(clients)``
(cards, no reference).
Instead of it, on the pooled rows that a federation does not have:

- *exact transport*: POT's network simplex between all rows and the reference, costs included: one number, no rows;
- *geomloss*: Sinkhorn divergence of the same, blur 0.1 · √(mean cost), potentials: what LAVA's published code calls;
  where it is installed (``pip install geomloss``; POT imports it, and with it PyTorch, so it is in no extra);
- *KNN-Shapley*: pyDVL, ten neighbours; *cleanlab*: five folds of logistic regressions, self-confidence;
- *exactFed*, *GTG*: training logistic regressions on coalitions (N = 5), the logged run not counted.

``python benchmarks/rivals.py`` (``--write``: into docs/performance.md; ``--smoke``; ``--rows 2000 5000``). Data: Dry
Bean, CIFAR-10 embeddings, Fashion-MNIST where they are on this machine, else digits; seed 0; one thread.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")

import numpy as np

import fedbary as fb
from fedbary.data.table import concat
from fedbary.engines.local import one_thread
from fedbary_lab.baselines.clients import METHODS, prepare
from fedbary_lab.baselines.row_methods import ROW_METHODS
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation
from fedbary_lab.training.models import Logistic
from performance_page import place

CLIENTS = 5
DATA = ("dry-bean", "cifar10-embeddings", "fashion-mnist")
# More rows than these take a rival longer than anybody waits here.
MOST = {"geomloss": 5000, "KNN-Shapley": 5000, "cleanlab": 5000, "exactFed": 2000, "GTG": 2000}


def federation(name: str, rows: int) -> tuple[dict[str, fb.Table], fb.Table]:
    """Five clients and a reference, drawn with repetition where a data set is too small."""
    data = fb.datasets.load(name)
    rng = np.random.default_rng(0)
    pick = lambda table, size: table.take(rng.choice(len(table), size, replace=size > len(table)))  # noqa: E731
    clients = {f"client_{i}": pick(data.train, rows // CLIENTS) for i in range(CLIENTS)}
    spoilt = {n: fb.corruptions.flip_labels(table, 0.1, seed=i)[0] for i, (n, table) in enumerate(clients.items())}
    return spoilt, pick(data.test, rows)


def work(clients: dict[str, fb.Table], reference: fb.Table, rows: int) -> dict[str, Callable[[], object]]:
    """What is measured, by name; ours first."""
    pooled = concat(clients.values())
    both = [scaled(pooled, reference), scaled(reference, reference)]
    one = fb.LocalEngine(workers=1)
    found: dict[str, Callable[[], object]] = {
        "sketch": lambda: fb.value(clients, reference, protocol="sketch", seed=0, engine=one),
        "cards": lambda: fb.value(clients, seed=0, engine=one),
        "exact transport": lambda: exact(*both),
        **({"geomloss": lambda: geomloss(*both)} if find_spec("geomloss") else {}),
        "KNN-Shapley": lambda: knn_shapley(both[0], pooled.labels, both[1], reference.labels),
        "cleanlab": lambda: ROW_METHODS["cleanlab"].compute(pooled, reference, seed=0),
    }
    if rows <= MOST["exactFed"]:
        setting = prepare(
            Federation.from_tables(clients, reference), model=Logistic(), training=FedAvg(rounds=10, seed=0), threads=1
        ).setting
        found |= {
            "exactFed": lambda: METHODS["exactfed"].compute(setting),
            "GTG": lambda: METHODS["gtg"].compute(setting),
        }
    return {name: run for name, run in found.items() if rows <= MOST.get(name, rows)}


def scaled(table: fb.Table, like: fb.Table) -> np.ndarray:
    """All numbers of the rows in units of the reference's spread."""
    first, base = (np.column_stack([*one.columns.values()]).astype(float) for one in (table, like))
    spread = base.std(axis=0)
    return np.asarray((first - base.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def exact(X: np.ndarray, Y: np.ndarray) -> float:
    """Squared Wasserstein distance of two clouds."""
    import ot

    costs = ot.dist(X, Y)
    even = [np.full(len(side), 1.0 / len(side)) for side in (X, Y)]
    return float(ot.emd2(*even, costs / costs.max(), numItermax=10_000_000))


def geomloss(X: np.ndarray, Y: np.ndarray) -> object:
    """Potentials of the Sinkhorn divergence, in single precision as the published code of LAVA has them."""
    import torch
    from geomloss import SamplesLoss

    torch.set_num_threads(1)
    some = np.random.default_rng(0).integers(len(Y), size=200)
    blur = 0.1 * float(np.sqrt(((X[some % len(X)] - Y[some]) ** 2).sum(axis=1).mean()))
    loss = SamplesLoss("sinkhorn", p=2, blur=blur, potentials=True, backend="tensorized")
    return loss(torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32))


def knn_shapley(X: np.ndarray, y: np.ndarray, V: np.ndarray, truth: np.ndarray) -> object:
    """PyDVL's."""
    from pydvl.valuation.dataset import Dataset
    from pydvl.valuation.methods.knn_shapley import KNNShapleyValuation
    from sklearn.neighbors import KNeighborsClassifier

    names, codes = np.unique(np.concatenate([y, truth]), return_inverse=True)
    data, test = Dataset(X, codes[: len(y)]), Dataset(V, codes[len(y) :])
    return KNNShapleyValuation(KNeighborsClassifier(10), test, progress=False).fit(data), names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[2000, 5000, 10000], help="rows of all clients together")
    parser.add_argument("--smoke", action="store_true", help="digits, 250 rows")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    names = [name for name in DATA if not options.smoke and available(name)] or ["digits"]
    order = ["sketch", "cards", "exact transport", "geomloss", "KNN-Shapley", "cleanlab", "exactFed", "GTG"]
    lines = [f"| data | rows | {' | '.join(order)} |", f"| --- | --- |{' --- |' * len(order)}"]
    print("\n".join(lines), flush=True)
    warnings.simplefilter("ignore")
    with one_thread():
        for name in names:
            for position, rows in enumerate([250] if options.smoke else options.rows):
                if position == 0:  # imports and caches are nobody's time
                    for run in work(*federation(name, 250), 250).values():
                        run()
                seconds = {key: taken(run) for key, run in work(*federation(name, rows), rows).items()}
                ratios = [f"{seconds[key] / seconds['sketch']:.2g}" if key in seconds else "—" for key in order[1:]]
                lines.append(f"| {name} | {rows:,} | 1 ({seconds['sketch']:.1f} s) | {' | '.join(ratios)} |")
                print(lines[-1], flush=True)
    if options.write:
        place("rivals", "\n".join(lines))


def available(name: str) -> bool:
    try:
        fb.datasets.load(name)
    except fb.FedbaryError:
        return False
    return True


def taken(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


if __name__ == "__main__":
    main()
