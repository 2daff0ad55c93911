"""Point removal (the paper's Figure 4 b and d): accuracy as the rows that a method likes least, or most, are left out.

One client of 300 rows, a fifth of them spoilt, and a server with 300 reference rows. Every method values the rows; then
a logistic regression is fitted to what is left after every further 5 % of the rows, up to one half, and judged by 1000
test rows that no method has seen. *random* is what any order gives; *oracle* knows which rows were spoilt, and nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary.research.baselines.classifiers import class_schema, fitted
from fedbary.research.baselines.pydvl_values import ame_values, banzhaf_values, beta_shapley_values, tmc_values
from fedbary.research.baselines.row_methods import ROW_METHODS
from fedbary.research.comparison.measures import auroc
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.federations import Spoilt, split_dataset
from fedbary.research.experiments.open_methods import OpenMethods
from fedbary.research.experiments.tables import errors, markdown_table, mean_and_spread, number
from fedbary.space.labels import class_names
from fedbary.space.points import features

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Order = NDArray[np.intp]
Rows = Sequence[Mapping[Hashable, Any]]
Values = Callable[[Spoilt, fb.Table, int], Floats]

DATASETS = ("cifar10-embeddings", "fashion-mnist")
KINDS = {"labels": "20 % of the labels wrong", "features": "20 % of the rows with noise of 1 σ"}
SPOILT = 0.2
# Percent of the rows left out.
STEPS = tuple(range(0, 51, 5))
SHOWN = (0, 10, 20, 30, 50)
# Of the judge alone. Cross-validation on the spoilt rows chooses this in eight of the twelve draws, 0.1 in four.
STRENGTH = 0.01
METRICS = (
    "worst_first", "above_random", "best_first", "gap", "auroc", "seconds",
    *(f"{side}_{step}" for side in ("worst", "best") for step in STEPS),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One method on one spoilt client."""

    dataset: str
    kind: str
    seed: int
    method: str
    rows: int = 300
    reference_rows: int = 300
    test_rows: int = 1000

    def __str__(self) -> str:
        return f"{self.dataset}, {self.kind}, seed {self.seed}, {self.method}"


def cells(smoke: bool) -> list[Cell]:
    """All cells, those that refit thousands of models last; for a smoke test two methods on wrong digits."""
    if smoke:
        return [Cell("digits", "labels", 0, method, 100, 150, 300) for method in ("oracle", "knn-shapley")]
    quick = [name for name in METHODS if name not in LEAN]
    return [
        Cell(dataset, kind, seed, method)
        for methods, seeds in ((quick, 3), (tuple(LEAN), 2))
        for seed, dataset, kind, method in product(range(seeds), DATASETS, KINDS, methods)
    ]


def compute(cell: Cell) -> list[Record]:
    """Both curves, the areas under them, and how well the values tell spoilt rows from others."""
    data = split_dataset(cell.dataset, cell.reference_rows + cell.test_rows, seed=cell.seed)
    sizes = [cell.reference_rows, cell.test_rows]
    reference, test = fb.partitions.by_size(data.reference, sizes, seed=cell.seed).clients.values()
    rows = data.rows(cell.rows, np.inf, seed=cell.seed)
    client = data.client(rows, cell.kind, SPOILT, seed=cell.seed)
    started = perf_counter()
    values = METHODS[cell.method](client, reference, cell.seed)
    seconds = perf_counter() - started
    if not np.isfinite(values).all():
        raise fb.FedbaryError("research.rows-without-value", rows=int(np.sum(~np.isfinite(values))))
    order = removal_order(values, seed=cell.seed)
    judge = Judge(client.table, reference, test)
    worst, best = removal_curve(order, judge.accuracy), removal_curve(order[::-1], judge.accuracy)
    record: Record = {"worst_first": area(worst), "best_first": area(best), "gap": area(worst) - area(best)}
    record |= {"auroc": auroc(values, client.mask), "seconds": seconds}
    record |= {f"worst_{step}": reached for step, reached in zip(STEPS, worst, strict=True)}
    return [record | {f"best_{step}": reached for step, reached in zip(STEPS, best, strict=True)}]


def removal_order(values: Floats, *, seed: int) -> Order:
    """Rows from the worst to the best; among equals chance decides, so that no method gains from their order.

    Examples
    --------
    >>> removal_order(np.array([0.3, -1.0, 2.0]), seed=0)
    array([1, 0, 2])
    """
    return np.lexsort([np.random.default_rng([seed, 3]).random(len(values)), values])


def removal_curve(order: Order, accuracy: Callable[[Order], float]) -> list[float]:
    """What is reached without the first 0, 5, …, 50 % of an order."""
    return [accuracy(np.sort(order[round(step / 100 * len(order)) :])) for step in STEPS]


def area(curve: list[float]) -> float:
    """Mean accuracy over all steps.

    Examples
    --------
    >>> area([0.75] * 11)
    0.75
    """
    return float(np.mean(curve))


class Judge:
    """A logistic regression with the same C for everybody, fitted to some of the rows and asked about the test rows."""

    def __init__(self, table: fb.Table, reference: fb.Table, test: fb.Table) -> None:
        schema = class_schema(reference, None)
        self._rows, self._test = features(table, schema), features(test, schema)
        self._labels, self._truth = class_names(table.labels), class_names(test.labels)

    def accuracy(self, rows: Order) -> float:
        """Accuracy on the test rows after a fit to the rows at these positions."""
        from sklearn.linear_model import LogisticRegression

        model = fitted(LogisticRegression(C=STRENGTH, max_iter=1000), self._rows[rows], self._labels[rows])
        return float((model.predict(self._test) == self._truth).mean())


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds."""
    return mean_and_spread(above_random(records), ["dataset", "kind", "method"], METRICS)


def above_random(records: pd.DataFrame) -> pd.DataFrame:
    """Add how much larger the area of worst first is than that of a random order of the same rows."""
    draw = ["dataset", "kind", "seed"]
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, "worst_first"])])
    chance = records.loc[records["method"] == "random", [*draw, "worst_first"]]
    joined = records.merge(chance.rename(columns={"worst_first": "chance"}), on=draw, how="left")
    return joined.assign(above_random=joined["worst_first"] - joined["chance"]).drop(columns="chance")


def markdown(final: pd.DataFrame) -> str:
    """Areas and curves of every method, the best at leaving out the worst at the top."""
    parts = [
        "# Point removal\n",
        "One client's rows are left out in steps of 5 %, from 0 to 50 %, *worst first* (the lowest values first) and "
        "*best first*; after every step a logistic regression is fitted to the rest. The methods that use a reference "
        "judge rows by the server's 300 reference rows; accuracy is measured on 1000 other rows, which no method has "
        f"seen. The regression has C = {STRENGTH} for everybody and the features as the reference scales them. An area "
        "is the mean accuracy over all steps: high is good for worst first, low is good for best first, so the gap "
        "between both should be large. A gap alone can mislead: leaving out what is unusual harms in either order, and "
        "whoever wants to clean rows needs the first area. *oracle* leaves out the rows that were spoilt, then any; "
        "*random* any. Rows with equal values are in random order. AUROC is that of spoilt rows by value.\n",
        "`sketch` and `interpolation` are our protocols and do not hand over rows (`sketch-split` is the sketch "
        "with half of the reference for fitting and half for calibration); all other methods have both tables in one "
        "place. "
        f"{', '.join(f'`{name}`' for name in LEAN)} refit thousands of models: here with {PERMUTATIONS} permutations, "
        f"{SAMPLES} samples and {UPDATES} updates per row (by default 30, 1500 and 16), on {FEW.projection} principal "
        "directions of the features and a residual, with which the regression is 0.005 less accurate on average than "
        "with all, and for the first two seeds. Everybody else has default settings.\n",
        "Mean ± standard deviation over seeds, ordered by how far the area of worst first is above that of *random* "
        "with the same rows, which makes up for different numbers of seeds. The standard error of one accuracy on 1000 "
        "rows is about 0.015, but all methods of a seed share the test rows, and so their errors; the gap of *random* "
        "is 0 but for chance.\n",
    ]
    for (dataset, kind), group in final.groupby(["dataset", "kind"], sort=False):
        ordered = group.sort_values(["above_random", "worst_first"], ascending=False).to_dict("records")
        areas, curves = _areas(ordered), _curves(ordered)
        parts += [
            f"## {dataset}, {KINDS[str(kind)]}\n",
            areas,
            "\n**Accuracy after so many rows were left out**\n",
            curves,
            "",
        ]
    parts += errors(final, ["dataset", "kind", "method"])
    return "\n".join(parts).rstrip() + "\n"


def _areas(rows: Rows) -> str:
    header = ["method", "area, worst first", "above random", "area, best first", "gap", "AUROC", "seconds", "seeds"]
    metrics = {"worst_first": 3, "above_random": 3, "best_first": 3, "gap": 3, "auroc": 2}
    return markdown_table(
        header,
        [
            [
                row["method"],
                *(number(row[m], row[f"{m}_sd"], d) for m, d in metrics.items()),
                _seconds(row),
                str(row["seeds"]),
            ]
            for row in rows
        ],
    )


def _seconds(row: Mapping[Hashable, Any]) -> str:
    return "–" if row["method"] in ("random", "oracle") else number(row["seconds"], digits=1)


def _curves(rows: Rows) -> str:
    columns = {f"worst first, {step} %": f"worst_{step}" for step in SHOWN}
    columns |= {f"best first, {step} %": f"best_{step}" for step in SHOWN if step}
    lines = [[row["method"], *(number(row[key]) for key in columns.values())] for row in rows]
    return markdown_table(["method", *columns], lines)


def _protocol(name: str, **options: Any) -> Values:
    def values(client: Spoilt, reference: fb.Table, seed: int) -> Floats:
        engine = fb.LocalEngine(workers=1)
        result = fb.value({"client": client.table}, reference, protocol=name, seed=seed, engine=engine, **options)
        return result.rows("client")["value"].to_numpy(dtype=float)

    return values


def _baseline(compute: Callable[..., pd.DataFrame], **options: Any) -> Values:
    def values(client: Spoilt, reference: fb.Table, seed: int) -> Floats:
        return compute(client.table, reference, seed=seed, **options)["value"].to_numpy(dtype=float)

    return values


# With the defaults one of these cells takes up to ten minutes.
PERMUTATIONS, SAMPLES, UPDATES, FEW = 10, 500, 4, fb.Space(projection=32)
LEAN: dict[str, Values] = {
    "banzhaf": _baseline(banzhaf_values, samples=SAMPLES, space=FEW),
    "tmc": _baseline(tmc_values, permutations=PERMUTATIONS, space=FEW),
    "ame": _baseline(ame_values, updates=UPDATES, space=FEW),
    "beta-shapley": _baseline(beta_shapley_values, permutations=PERMUTATIONS, space=FEW),
}
_COMPARED: dict[str, Values] = {
    "random": lambda client, _, __: np.zeros(len(client.mask)),
    "oracle": lambda client, _, __: -client.mask.astype(float),
    "sketch": _protocol("sketch"),
    "sketch-split": _protocol("sketch", calibration="split"),
    "interpolation": _protocol("interpolation"),
    **{name: _baseline(method.compute) for name, method in ROW_METHODS.items() if name not in LEAN},
    **LEAN,
}
METHODS = OpenMethods(_COMPARED, lambda name: _baseline(ROW_METHODS[name].compute))
