"""The paper's "Boost FL Model": how good a federated model becomes once flagged rows are dropped or relabelled.

5000 training rows for five clients, 1000 validation and 1000 test rows at the server. First the paper's setting: 500
noisy rows of CIFAR-10 and 1000 of Fashion-MNIST, spread over all clients, with noise N(0, 1) on their numbers or with
wrong labels; a CNN on images, and logistic regression on embeddings and pixels. Then harder ones: noise
of one standard deviation, and half of a single client's rows. *oracle* leaves out exactly the spoilt rows, as perfect
flags would; *clean* trains on the same rows before they were spoilt: what there is to win. The federation of
`boost_clients` comes along: there whole clients are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fedbary_lab.experiments import boost_clients
from fedbary_lab.experiments.boost_clients import Chosen
from fedbary_lab.experiments.boost_rows import FLAGS, Draw, How, draw_clients, judged, training_rows
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.models import CNN, Logistic, Model

if TYPE_CHECKING:
    import pandas as pd

PAPER, HARDER = "paper", "harder"
EVERYWHERE, IN_ONE = "in all clients", "in one client"
# As tables print it → as `SplitDataset.client` calls it.
NOISES = {"features N(0, 1)": "standard", "labels": "labels", "features 1 σ": "features"}
# Chosen on clean rows alone: the CNN's step and momentum are the best of four on the CIFAR-10 images of the first draw,
# where twice the rounds would gain 0.016 more; the regression's step is the best of 0.1, 0.03 and 0.01.
MODELS: dict[str, tuple[Model, FedAvg]] = {
    "cnn": (CNN(), FedAvg(rounds=6, local_epochs=2, batch_size=32, learning_rate=0.01, momentum=0.9)),
    "logistic": (Logistic(), FedAvg(rounds=50, learning_rate=0.03)),
}
# Data set → models, and how many of the 5000 rows are noisy in the paper.
OF_THE_PAPER = {
    "cifar10-images": (("cnn",), 500),
    "cifar10-embeddings": (("logistic",), 500),
    "fashion-mnist": (("cnn", "logistic"), 1000),
}
PAPERS = {"cifar10": "CIFAR-10", "fashion": "Fashion-MNIST"}
# Wrong labels in all clients are in the paper's setting already.
HARD = (("features 1 σ", EVERYWHERE), ("labels", IN_ONE), ("features 1 σ", IN_ONE))
# Column of the table → whose flags, and what is done about them.
WAYS: dict[str, tuple[str, How]] = {
    "drop, published": ("published", "drop"),
    "drop": ("sketch", "drop"),
    "relabel": ("sketch", "relabel"),
    "drop, cards": ("cards", "drop"),
}
JUDGED = ("flagged", "found", "recall", "precision", "mended", "seconds")
METRICS = ("accuracy", "gain", *JUDGED, *boost_clients.CHOICE)
KEYS = ["setting", "dataset", "noise", "spread"]


@dataclass(frozen=True)
class Cell:
    """Every way of acting, with every model of its data set, on one draw of spoilt clients."""

    setting: str
    dataset: str
    noise: str
    spread: str
    seed: int
    noisy: int = 500
    models: tuple[str, ...] = ("logistic",)
    clients: int = 5
    rows: int = 1000
    server_rows: int = 1000
    rounds: int | None = None

    def __str__(self) -> str:
        return f"{self.setting}, {self.dataset}, {self.noise} {self.spread}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell | Chosen]:
    """All cells; for a smoke test two noises of digits with two clients, and one choice of clients."""
    if smoke:
        small = partial(Cell, models=("cnn",), clients=2, rows=60, server_rows=150, rounds=1)
        return [
            *(small(PAPER, "digits", noise, EVERYWHERE, 0, 20) for noise in tuple(NOISES)[:2]),
            *boost_clients.cells(smoke),
        ]
    return [
        *(
            Cell(PAPER, dataset, noise, EVERYWHERE, seed, noisy, models)
            for (dataset, (models, noisy)), noise, seed in product(OF_THE_PAPER.items(), tuple(NOISES)[:2], range(4))
        ),
        *(
            Cell(HARDER, dataset, noise, spread, seed)
            for dataset, (noise, spread), seed in product(("cifar10-embeddings", "fashion-mnist"), HARD, range(3))
        ),
        *boost_clients.cells(smoke),
    ]


def compute(cell: Cell | Chosen) -> list[Record]:
    """Accuracy of each model after each way of acting, and how right the flags or the choice were."""
    if isinstance(cell, Chosen):
        return boost_clients.compute(cell)
    draw = drawn(cell)
    flags = {whose: draw.flagged(whose) for whose in dict.fromkeys(whose for whose, _ in WAYS.values())}
    rows = {
        "none": draw.tables,
        **{way: training_rows(draw, flags[whose], how) for way, (whose, how) in WAYS.items()},
        "oracle": {name: client.table.take(~client.mask) for name, client in draw.spoilt.items()},
        "clean": draw.clean,
    }
    flagged = {way: judged(draw.spoilt, flags[whose], how) for way, (whose, how) in WAYS.items()}
    records = []
    for name in cell.models:
        model, training = MODELS[name]
        training = replace(training, seed=cell.seed, rounds=cell.rounds or training.rounds)
        found = {way: draw.accuracy(model, training, tables) for way, tables in rows.items()}
        for way, reached in found.items():
            record: Record = {"model": name, "how": way, "accuracy": reached, **flagged.get(way, {})}
            records.append(record | ({"gain": reached - found["none"]} if way != "none" else {}))
    return records


def drawn(cell: Cell) -> Draw:
    """Draw the rows of a cell."""
    wrong = [cell.noisy / cell.clients] * cell.clients
    if cell.spread == IN_ONE:
        wrong = [float(cell.noisy)] + [0.0] * (cell.clients - 1)
    shares = [count / cell.rows for count in wrong]
    return draw_clients(
        cell.dataset, NOISES[cell.noise], shares, rows=cell.rows, server_rows=cell.server_rows, seed=cell.seed
    )


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds."""
    return mean_and_spread(records, [*KEYS, "model", "how"], METRICS)


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Accuracies, gains and flags by data set, noise, model and way of acting; of harder settings also by spread.

    Such as ``cifar10_images_features_cnn_drop_gain`` and ``harder_fashion_mnist_labels_one_drop_recall``.
    """
    known = {f"paper_gain_{data}": SAYS[f"boost_{data}_after"] - SAYS[f"boost_{data}_before"] for data in PAPERS}
    reached = final.dropna(subset=["accuracy"])  # cells with an error have no model
    for row in reached[reached["setting"] != boost_clients.SETTING].to_dict("records"):
        parts = [row["dataset"], str(row["noise"]).split()[0]]
        if row["setting"] == HARDER:
            parts = [HARDER, *parts, "all" if row["spread"] == EVERYWHERE else "one"]
        place = _snake(*parts)
        known |= {f"{_snake(place, row['model'], row['how'])}_{m}": row[m] for m in ("accuracy", "gain", "gain_sd")}
        if row["how"] in WAYS:
            known |= {f"{_snake(place, row['how'])}_{m}": row[m] for m in JUDGED}
    known |= boost_clients.facts(final[final["setting"] == boost_clients.SETTING])
    return {name: float(value) for name, value in known.items() if np.isfinite(value)}


def _snake(*parts: str) -> str:
    return "_".join(parts).replace(", ", "_").replace("-", "_").replace("/", "_").replace(" ", "_")


def markdown(final: pd.DataFrame) -> str:
    """Accuracy and gain of every way of acting, and what the flags were like."""
    titles = {
        "accuracy": "accuracy on test rows that neither valued nor trained anything",
        "gain": "gain over training on all rows, with the same seed",
    }
    rest, choice = (final[(final["setting"] == boost_clients.SETTING) == chosen] for chosen in (False, True))
    parts = [
        "# Acting on flags before training\n",
        "Five clients of 1000 rows, 1000 validation and 1000 test rows. `published` is the paper's rule: a row with a "
        "positive calibrated gradient goes, with as many points as rows and the numbers as they are. *drop* and "
        "*relabel* act on the flags of the sketch; *drop, cards* on the suspects that the clients' cards find without "
        "any reference. *oracle* leaves out exactly the spoilt rows; *clean* trains on the same rows before they were "
        "spoilt: what there is to win. Steps and momentum of a training are those that did best on clean rows. "
        "Mean ± standard deviation over seeds. The standard error of one accuracy on 1000 test rows is about 0.013 to "
        "0.016.\n",
    ]
    for setting, title in ((PAPER, "The paper's setting"), (HARDER, "Harder settings")):
        mine = rest[rest["setting"] == setting]
        if not len(mine):
            continue
        parts.append(f"## {title}\n")
        if setting == PAPER:
            parts.append(f"{_papers_numbers()}\n")
        down = ["noise", "model"] if setting == PAPER else ["noise", "spread", "model"]
        text = pivots(mine, by="dataset", down=down, across="how", titles=titles)
        parts += [text.replace("## ", "### "), _flags(mine)]
    return "\n".join([*parts, boost_clients.markdown(choice)])


def _papers_numbers() -> str:
    """What the paper prints, beside which the tables are to be read."""
    header = ["the paper's Table 4", "noisy rows", "rows removed", "accuracy before", "accuracy after"]
    rows = [
        [
            title,
            *(f"{SAYS[f'boost_{name}_{column}']:.0f}" for column in ("noisy", "removed")),
            *(f"{SAYS[f'boost_{name}_{column}']:.2f}" for column in ("before", "after")),
        ]
        for name, title in PAPERS.items()
    ]
    return markdown_table(header, rows)


def _flags(final: pd.DataFrame) -> str:
    """Each way's flags once: they do not depend on the model."""
    columns = {"rows flagged": ("flagged", 0), "of them spoilt": ("found", 0)}
    columns |= {"recall of spoilt rows": ("recall", 2), "precision": ("precision", 2)}
    columns |= {"right among new labels": ("mended", 2), "seconds": ("seconds", 1)}
    keys = ["dataset", "noise", "spread", "how"]
    mine = final[final["how"].isin([way for way in WAYS if way != "drop"])].drop_duplicates(keys).to_dict("records")
    rows = [
        [
            *(str(row[key]) for key in keys[:3]),
            WAYS[str(row["how"])][0],
            *(number(row[m], row[f"{m}_sd"], d) for m, d in columns.values()),
        ]
        for row in mine
    ]
    explained = "\n".join(f"- {whose}: {flag.words}" for whose, flag in FLAGS.items())
    return f"### Flags\n\n{explained}\n\n{markdown_table([*keys[:3], 'flags', *columns], rows)}\n"
