"""The paper's Table 2: how long it takes to value 5 to 100 clients, as ratios to the paper's method, in one run.

Fashion-MNIST, 500 rows a client, 1000 reference rows, ten rounds, one thread, one process; once with logistic
regression, whose coalitions train as one batched matrix product, and for five and ten clients also with a small
convolutional network. Times are seconds of one core. A method is given some seconds; where they do not suffice, its
time is extrapolated from the time that an evaluation took and from the evaluations that it needs (all 2^N coalitions;
for sampled methods the permutations that they make at the least, without truncation, or what they have made if that is
more), and marked with ~. The training run that is logged is not counted, as in the paper; training coalitions is.

The appendix says that the paper's method takes the same time whatever the data, that truncation makes GTG and DataSV
vary, and that noisy gradients make MR slower: all methods in the paper's five cases, with five clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import fedbary as fb
from fedbary.data.table import Table
from fedbary_lab.baselines.clients import METHODS, prepare
from fedbary_lab.baselines.clients.retrained import MOST_CLIENTS
from fedbary_lab.experiments import five_cases
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import SplitDataset, split_dataset
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.experiments.tables import errors, markdown_table, mean_and_spread, number
from fedbary_lab.experiments.timed_methods import seconds_of, timed_method
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation
from fedbary_lab.training.models import CNN, Logistic, Model

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.protocols.messages import Settings
    from fedbary.views.plots import Display

BASE, WIDE = "interpolation, S = 100", "interpolation, S = 500"
OURS = (BASE, WIDE, "sketch", "cards")
TRAINED = ("exactfed", "gtg", "mr", "datasv")
MODELS: dict[str, Model] = {"logistic": Logistic(), "cnn": CNN()}
CASES = five_cases.CASES[:5]
NOISY_CASES = five_cases.CASES[3:5]
CLIENTS = (5, 10, 50, 100)
# Short names, as the paper's numbers and facts have them.
SHORT = {BASE: "s100", WIDE: "s500"}
METRICS = ("seconds", "evaluations", "ratio")
_PATIENCE = 15.0


@dataclass(frozen=True)
class Cell:
    """All methods on one federation, one after the other; where it is not ``whole`` the quick ones of ours only."""

    clients: int
    model: str = "logistic"
    case: str = ""
    seed: int = 0
    whole: bool = True
    dataset: str = "fashion-mnist"
    rows: int = 500
    reference_rows: int = 1000
    rounds: int = 10
    patience: float = _PATIENCE

    def __str__(self) -> str:
        case = f", case {self.case}" if self.case else ""
        return f"{self.dataset}, {self.model}, N = {self.clients}{case}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Numbers of clients and models, then cases; what takes minutes, or is extrapolated anyway, has one seed."""
    if smoke:
        few: dict[str, Any] = {"dataset": "digits", "rows": 40, "reference_rows": 100, "rounds": 2, "patience": 0.2}
        return [Cell(3, "cnn", **few), *(Cell(3, case=case, **few) for case in CASES[3:5])]
    return [
        *(Cell(clients, seed=seed, whole=seed == 0 or clients <= 10) for clients, seed in product(CLIENTS, range(3))),
        *(Cell(clients, "cnn") for clients in (5, 10)),
        *(Cell(5, case=case, seed=seed) for seed, case in product(range(3), CASES)),
    ]


def compute(cell: Cell) -> list[Record]:
    """Seconds of every method."""
    _warm_up()
    data = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed)
    tables, engine = _clients(cell, data), fb.LocalEngine(workers=1)
    records: list[Record] = []
    for name, protocol in _protocols(cell.rows).items():
        if name == WIDE and not cell.whole:
            continue
        target = None if name == "cards" else data.reference
        run = partial(fb.value, tables, target, protocol=protocol, seed=cell.seed, engine=engine)
        result, seconds = seconds_of(run, patience=cell.patience)
        if result.failed:
            raise fb.FedbaryError("research.clients-failed", method=name, why=next(iter(result.failed.values())))
        records.append({"method": name, "seconds": seconds, "estimated": False})
    if not cell.whole:
        return records
    prepared = prepare(
        Federation.from_tables(tables, data.reference),
        model=MODELS[cell.model],
        training=FedAvg(rounds=cell.rounds, seed=cell.seed),
        max_seconds=cell.patience,
        seed=cell.seed,
        threads=1,
    )
    names = METHODS.compared(TRAINED)
    return records + [timed_method(n, prepared.setting, rounds=cell.rounds, patience=cell.patience) for n in names]


def _protocols(rows: int) -> dict[str, Settings]:
    wide = fb.Interpolation(support=min(500, rows), allow_reconstruction=True)
    return dict(zip(OURS, (fb.Interpolation(support=100), wide, fb.Sketch(), fb.Cards()), strict=True))


@cache
def _warm_up() -> None:
    """Value a few digits first: imports and caches are nobody's time."""
    digits = fb.datasets.load("digits").train
    parts = {str(i): digits.take(np.arange(60 * i, 60 * i + 60)) for i in range(3)}
    for name, protocol in _protocols(60).items():
        target = None if name == "cards" else digits.take(np.arange(200, 300))
        fb.value(parts, target, protocol=protocol, seed=0)


def _clients(cell: Cell, data: SplitDataset) -> Mapping[str, Table]:
    if cell.case:
        like = five_cases.Cell(cell.dataset, cell.clients, cell.case, cell.seed, cell.rows)
        return five_cases.clients_of(data.pool, like)
    # The data set has 20,000 rows or so: a hundred clients draw theirs with repetition.
    rng = np.random.default_rng(cell.seed)
    rows = [rng.choice(len(data.pool), cell.rows, replace=False) for _ in range(cell.clients)]
    return {f"client_{i}": data.pool.take(chosen) for i, chosen in enumerate(rows)}


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Seconds of each method, their ratio to the paper's method in the same cell, and the paper's own ratio."""
    keys = ["dataset", "model", "clients", "case", "seed"]
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, *METRICS[:2], "method", "estimated"])])
    base = records.loc[records["method"] == BASE, [*keys, "seconds"]].rename(columns={"seconds": "base"})
    joined = records.merge(base, on=keys, how="left")
    final = mean_and_spread(
        joined.assign(ratio=joined["seconds"] / joined["base"]),
        ["dataset", "model", "clients", "case", "method", "estimated"],
        METRICS,
    )
    pairs = zip(final["method"], final["clients"], strict=True)
    return final.assign(paper_ratio=[paper_ratio(str(method), int(clients)) for method, clients in pairs])


def paper_ratio(method: str, clients: int) -> float:
    """The paper's minutes of a method divided by those of its own with S = 100; NaN where it says nothing.

    Examples
    --------
    >>> paper_ratio("exactfed", 5), paper_ratio("interpolation, S = 500", 10), paper_ratio("mr", 50)
    (31.0, 2.0, nan)
    """
    said, base = (SAYS.get(f"minutes_{_short(name)}_{clients}", np.nan) for name in (method, BASE))
    return said / base


def exponent(clients: ArrayLike, seconds: ArrayLike) -> float:
    """The power of N by which times grow, fitted to logarithms: 1 is linear; NaN for fewer than two N.

    Examples
    --------
    >>> exponent([5, 10, 100], [1.0, 2.0, 20.0])
    1.0
    """
    x, y = np.log(np.asarray(clients, dtype=float)), np.log(np.asarray(seconds, dtype=float))
    if len(np.unique(x)) < 2:
        return float("nan")
    return round(float(np.polyfit(x, y, 1)[0]), 9)


def paper_exponent(method: str) -> float:
    """The exponent of the paper's own minutes."""
    said = {n: SAYS[f"minutes_{_short(method)}_{n}"] for n in CLIENTS if f"minutes_{_short(method)}_{n}" in SAYS}
    return exponent(list(said), list(said.values()))


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Ratios, exponents, and what the five cases do to each method's time and evaluations."""
    found: dict[str, float] = {}
    sizes, cases = _parts(final)
    for row in sizes.to_dict("records"):
        short = f"{_short(row['method'])}_{row['model']}_{row['clients']}"
        found |= {f"ratio_{short}": row["ratio"], f"seconds_{short}": row["seconds"]}
        if np.isfinite(row["paper_ratio"]):
            found[f"paper_ratio_{_short(row['method'])}_{row['clients']}"] = row["paper_ratio"]
    for method, (model, power) in _exponents(sizes).items():
        found |= {
            f"exponent_{_short(method)}_{model}": power,
            f"paper_exponent_{_short(method)}": paper_exponent(method),
        }
    for name, group in cases.groupby("method", sort=False):
        short = _short(str(name))
        for column in ("seconds", "evaluations"):
            numbers = group[column].to_numpy(dtype=float)
            if len(numbers) > 1 and np.isfinite(numbers).all():
                found[f"cases_{column}_most_by_least_{short}"] = most_by_least(numbers)
                found[f"cases_{column}_variation_{short}"] = variation(numbers)
        noisy = group["case"].isin(NOISY_CASES)
        if noisy.any() and not noisy.all():
            means = [float(group.loc[mask, "seconds"].mean()) for mask in (noisy, ~noisy)]
            found[f"cases_noisy_by_clean_{short}"] = means[0] / means[1]
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}


def most_by_least(numbers: ArrayLike) -> float:
    """The largest by the smallest.

    Examples
    --------
    >>> most_by_least([2.0, 1.0, 4.0])
    4.0
    """
    known = np.asarray(numbers, dtype=float)
    return float(known.max() / max(float(known.min()), 1e-12))


def variation(numbers: ArrayLike) -> float:
    """The standard deviation as a part of the mean.

    Examples
    --------
    >>> variation([1.0, 3.0])
    0.5
    """
    known = np.asarray(numbers, dtype=float)
    return float(known.std() / max(float(known.mean()), 1e-12))


def markdown(final: pd.DataFrame) -> str:
    """What holds, then ratios to the paper's method beside the paper's own, then the five cases."""
    sizes, cases = _parts(final)
    parts = [
        "# Time to value N clients\n",
        f"Time of {BASE} (the paper's method) in seconds of one core, and of everything as a ratio to it, means over "
        "seeds; ~ marks what was extrapolated from the time of an evaluation. exactFed is refused for more than "
        f"{MOST_CLIENTS} clients. Below each line stand the ratios of the paper's Table 2, of a network on another "
        "machine. Protocols are timed with all they do, valuing every row included.\n",
        "\n".join(f"- {line}" for line in claims(final)) + "\n",
        _ratios(sizes),
    ]
    if len(cases):
        parts += ["\n## The five cases\n", _over_cases(cases)]
    return "\n".join([*parts, "", *errors(final, ["model", "clients", "case"])]).rstrip() + "\n"


def claims(final: pd.DataFrame) -> Iterator[str]:
    """What the paper says of time, and what was measured, in a line each."""
    sizes, _ = _parts(final)
    known = facts(final)
    for method, (model, power) in _exponents(sizes).items():
        said = paper_exponent(method)
        beside = f"; the paper's own minutes: {said:.2f}" if np.isfinite(said) else ""
        yield f"{method} grows like N to the {power:.2f} ({model}, N from 5 to 100){beside}."
    for method in dict.fromkeys(final["method"].dropna()):
        short = _short(method)
        if (ratio := known.get(f"cases_seconds_most_by_least_{short}")) is not None:
            played = known.get(f"cases_evaluations_most_by_least_{short}")
            noisy = known.get(f"cases_noisy_by_clean_{short}")
            yield (
                f"{method}: the slowest of the five cases takes {ratio:.2f} times the quickest"
                + (f", with {played:.2f} times the evaluations" if played is not None else "")
                + (f"; cases with noise {noisy:.2f} times the others." if noisy is not None else ".")
            )


def pictures(final: pd.DataFrame) -> list[Display]:
    """Seconds against the number of clients, measured ones only."""
    from fedbary_lab.plots import curves

    sizes, _ = _parts(final)
    measured = sizes[~sizes["estimated"].astype(bool)]
    return [
        curves(
            measured[["model", "clients", "method", "seconds"]].reset_index(drop=True),
            x="clients",
            y="seconds",
            by="method",
            panel="model",
            title="Seconds of one core to value N clients; what was extrapolated is left out.",
            labels={"clients": "clients N"},
            logarithmic=("x", "y"),
        )
    ]


def _parts(final: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows by number of clients, and rows by case, without errors."""
    known = final[final["seconds"].notna()]
    # An empty text in a table that was stored is read as nothing.
    case = known["case"].fillna("") != ""
    return known[~case], known[case]


def _exponents(sizes: pd.DataFrame) -> dict[str, tuple[str, float]]:
    """Of every method that was measured, not extrapolated, for several N: the model, and the power of N."""
    found = {}
    for (method, model), group in sizes[~sizes["estimated"].astype(bool)].groupby(["method", "model"], sort=False):
        if group["clients"].nunique() > 2:
            found[str(method)] = (str(model), exponent(group["clients"], group["seconds"]))
    return found


def _ratios(sizes: pd.DataFrame) -> str:
    methods = list(dict.fromkeys([*OURS, *TRAINED, *sizes["method"]]))
    rows = []
    for (dataset, model, clients), group in sizes.groupby(["dataset", "model", "clients"], sort=False):
        found = {str(row["method"]): row for row in group.to_dict("records")}
        base = f"{found[BASE]['seconds']:.1f} s" if BASE in found else "–"
        shown = [_ratio(found[m]["ratio"], bool(found[m]["estimated"])) if m in found else "–" for m in methods]
        rows.append([f"{dataset}, {model}", str(clients), base, *shown])
        said = [paper_ratio(method, int(str(clients))) for method in methods]
        if np.isfinite(said).any():
            minutes = SAYS[f"minutes_{_short(BASE)}_{clients}"]
            rows.append(["*the paper*", str(clients), f"{minutes:g} min", *(_ratio(ratio) for ratio in said)])
    return markdown_table(["data and model", "N", "time", *methods], rows)


def _over_cases(cases: pd.DataFrame) -> str:
    rows = []
    for method, group in cases.groupby("method", sort=False):
        lines = {str(row["case"]): row for row in group.to_dict("records")}
        cells = [number(lines[c]["seconds"], lines[c]["seconds_sd"], 2) if c in lines else "–" for c in CASES]
        spread = [call(group["seconds"].to_numpy(dtype=float)) for call in _SPREADS]
        rows.append([str(method), *cells, *(number(value, digits=2) for value in spread)])
    said = "Seconds of one core with five clients, mean ± standard deviation over seeds.\n\n"
    return said + markdown_table(["method", *CASES, "slowest by quickest", "coefficient of variation"], rows)


_SPREADS: tuple[Callable[[ArrayLike], float], ...] = (most_by_least, variation)


def _short(method: str) -> str:
    """A method's name in facts and among the paper's numbers."""
    return SHORT.get(method) or "".join(c if c.isalnum() else "_" for c in method)


def _ratio(value: float, estimated: bool = False) -> str:
    if not np.isfinite(value):
        return "–"
    return ("~ " if estimated else "") + (f"{value:.2g}" if 0.01 <= value < 1000 else f"{value:.0e}")
