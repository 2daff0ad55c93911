"""What a few dishonest clients do to the others: AUROC of wrong labels with and without robust weights.

Ten clients have 300 rows each, every tenth with a wrong label. Some of them lie: their labels are random, their
features shifted or noisy, or their card is forged. The honest clients' rows are then judged by models of all cards,
weighted or not, and by models of the honest cards alone, which nobody could make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.data.table import Table
from fedbary.protocols.cards.client import card_of, card_reply
from fedbary.protocols.messages import Reply
from fedbary.space.fit import public_schema
from fedbary.valuation.rows import RowRules
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import SKEWS, Spoilt, split_dataset
from fedbary_lab.experiments.spoilt_federations import auroc
from fedbary_lab.experiments.tables import errors, markdown_table, mean_and_spread, number

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("fashion-mnist", "cifar10-embeddings", "dry-bean")
LIES = ("random labels", "shifted features", "noisy features", "forged card")
CLIENTS, WRONG, SEEDS = 10, 0.1, 3
# Rows of the public schema, where cards are private.
PUBLIC_ROWS, COORDINATES = 300, 24
# How far below leaving the liars out robust weights may fall.
MARGIN = 0.005
METRICS = ("robust", "plain", "honest_alone", "lost", "lost_plain")


@dataclass(frozen=True)
class Cell:
    """One federation in which some clients lie; ε of 0: exact cards."""

    dataset: str
    lie: str
    liars: int
    epsilon: float
    alpha: str
    seed: int
    rows: int = 300

    def __str__(self) -> str:
        private = f", ε = {self.epsilon:g}" if self.epsilon else ""
        return f"{self.dataset}, {self.liars} × {self.lie}, α = {self.alpha}{private}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × lies × number of liars × privacy × seeds; the smoke test has one federation of few digits."""
    if smoke:
        return [Cell("digits", "random labels", 3, 0.0, "1", 0, rows=60)]
    rows = {0.0: 300, 8.0: 800}
    return [
        Cell(dataset, lie, liars, epsilon, alpha, seed, rows[epsilon])
        for dataset, seed, epsilon, alpha in product(DATASETS, range(SEEDS), (0.0, 8.0), ("1", "∞"))
        for lie, liars in [(LIES[0], 0), *product(LIES, (1, 2, 3, 4))]
    ]


def compute(cell: Cell) -> list[Record]:
    """The mean AUROC of the honest clients, in three federations."""
    clients, public = _drawn(cell)
    liars = list(clients)[: cell.liars]
    honest = {name: client for name, client in clients.items() if name not in liars}
    with TemporaryDirectory() as folder:
        settings = fb.Cards()
        if cell.epsilon:
            schema = public_schema(public, coordinates=COORDINATES, seed=cell.seed)
            path = Path(folder) / "schema.json"
            path.write_text(schema.to_json(), encoding="utf-8")
            settings = fb.Cards(epsilon=cell.epsilon, schema=str(path))
        forgers = set(liars) if cell.lie == "forged card" else set()
        sent = _sent(clients, settings, forgers)  # once, so that all three look at the same noise
        robust = _found(list(clients), sent, settings, honest)
        plain = _found(list(clients), sent, replace(settings, robust=False), honest)
        alone = _found(list(honest), sent, replace(settings, robust=False), honest)
    found = {"robust": robust, "plain": plain, "honest_alone": alone}
    return [{**found, "lost": alone - robust, "lost_plain": alone - plain}]


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds; cells in which more was lost than the margin are marked."""
    final = mean_and_spread(records, ["dataset", "epsilon", "alpha", "lie", "liars"], METRICS)
    return final.assign(robust_missed=final["lost"] > MARGIN)


def markdown(final: pd.DataFrame) -> str:
    """The worst of every lie first, then all cells."""
    named = final.assign(
        lie=[lie if liars else "nobody lies" for lie, liars in zip(final["lie"], final["liars"], strict=True)],
        federation=[
            f"{data}, α = {alpha}" + (f", ε = {epsilon:g}" if epsilon else "")
            for data, alpha, epsilon in zip(final["dataset"], final["alpha"], final["epsilon"], strict=True)
        ],
    )
    header = ("cards", "lie", "cells", "lost at most, robust", "lost at most, plain", f"robust, lost over {MARGIN:g}")
    rows = [
        [
            f"ε = {epsilon:g}" if epsilon else "exact",
            str(lie),
            str(len(part)),
            number(part["lost"].max()),
            number(part["lost_plain"].max()),
            str(int(part["robust_missed"].sum())),
        ]
        for (epsilon, lie), part in named.groupby(["epsilon", "lie"], sort=False)
    ]
    parts = [
        "# Robustness\n",
        "Ten clients of 300 rows (800 with ε, in 24 public coordinates), every tenth with a wrong label; up to four of "
        "them lie. Mean AUROC of the honest clients' wrong labels by `label_score`. *Lost* is what is missing to a "
        "federation without the liars, mean over seeds; the lie is in the client's rows, or in its card: the means of "
        "other classes, ten times the rows, a tenth of the scatter.\n",
        markdown_table(header, rows) + "\n",
    ]
    columns = ("lie", "liars", "robust weights", "plain sums", "the honest alone")
    for federation, part in named.groupby("federation", sort=False):
        lines = [
            [str(line["lie"]), str(line["liars"]), *(number(float(line[name])) for name in METRICS[:3])]
            for line in part.to_dict("records")
        ]
        parts.append(f"## {federation}\n\n{markdown_table(columns, lines)}\n")
    return "\n".join([*parts, *errors(final, ["dataset", "lie"])]).rstrip() + "\n"


def facts(final: pd.DataFrame) -> dict[str, float]:
    """The most that liars cost with robust weights, and with plain sums of ``exact`` cards and of those with ε."""
    lying, forged = final[final["liars"] > 0], final["lie"] == "forged card"
    return {
        "settings": len(lying),
        "lost_most": lying["lost"].max(),
        "nobody_lost_most": final.loc[final["liars"] == 0, "lost"].max(),
        "missed": final["robust_missed"].sum(),
        "plain_forged_exact": final.loc[forged & (final["epsilon"] == 0), "lost_plain"].max(),
        "plain_forged_eps": final.loc[forged & (final["epsilon"] > 0), "lost_plain"].max(),
    }


def _drawn(cell: Cell) -> tuple[dict[str, Spoilt], Table]:
    """The clients, of whom the first lie, and public rows."""
    data = split_dataset(cell.dataset, PUBLIC_ROWS, seed=cell.seed)
    seed = 100_000 * (cell.seed + 1)
    rows = data.disjoint_rows([cell.rows] * CLIENTS, SKEWS[cell.alpha], seed=seed)
    clients = {}
    for place, mine in enumerate(rows):
        client = data.client(mine, "labels", WRONG, seed=seed + place)
        if place < cell.liars:
            client = replace(client, table=_lying(client.table, cell.lie, data.reference, seed=seed + place))
        clients[f"client_{place + 1}"] = client
    return clients, data.reference


def _lying(table: Table, lie: str, public: Table, *, seed: int) -> Table:
    """The rows of a liar; a forger's are those of an honest client."""
    rng = np.random.default_rng([seed, 3])
    if lie == "random labels":
        return table.replace(labels=rng.permutation(table.labels))
    if lie == "forged card":
        return table
    columns = {}
    for name, values in table.columns.items():
        spread = np.asarray(public.columns[name], dtype=float).std(axis=0)
        shape = np.shape(values) if lie == "noisy features" else np.shape(values)[1:]
        columns[name] = np.asarray(values, dtype=float) + 3.0 * spread * rng.standard_normal(shape)
    return table.replace(columns=columns)


def _sent(clients: Mapping[str, Spoilt], settings: fb.Cards, forgers: set[str]) -> dict[str, Reply]:
    """Everybody's card, as it is sent."""
    names = list(clients)
    question = settings.server(names, None, settings.space(None), rules=RowRules(), seed=0).tasks()
    replies = {
        name: settings.client(client.table, rules=RowRules(), seed=0).answer(question[name])
        for name, client in clients.items()
    }
    return {name: _forged(reply) if name in forgers else reply for name, reply in replies.items()}


def _found(names: list[str], sent: Mapping[str, Reply], settings: fb.Cards, honest: Mapping[str, Spoilt]) -> float:
    """The mean AUROC of the honest clients, in a federation of these; only they answer the model."""
    halves = {name: settings.client(client.table, rules=RowRules(), seed=0) for name, client in honest.items()}
    server = settings.server(names, None, settings.space(None), rules=RowRules(), seed=0)
    while tasks := server.tasks():
        server.absorb(
            {
                name: sent[name] if message.kind == "card" else halves[name].answer(message)
                for name, message in tasks.items()
                if message.kind == "card" or name in halves
            }
        )
    rows = {name: half.row_values().frame for name, half in halves.items()}
    return float(np.mean([auroc(client.mask, rows[name]["label_score"]) for name, client in honest.items()]))


def _forged(reply: Reply) -> Reply:
    """A card with the means of other classes, ten times the rows, and a tenth of the scatter."""
    card = card_of(reply)
    within = card.second - _between(card.counts, card.sums)
    counts, means = 10.0 * card.counts, card.sums / np.maximum(card.counts, 1.0)[:, None]
    sums = counts[:, None] * np.roll(means, 1, axis=0)
    second = within + _between(counts, sums)
    return card_reply(replace(card, rows=10 * card.rows, counts=counts, sums=sums, second=second))


def _between(counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
    scaled = sums / np.sqrt(np.maximum(counts, 1.0))[:, None]
    return np.asarray(scaled.T @ scaled)
