"""The rows of `boost`: clients with spoilt rows, whose flags they are judged by, and what is left to train on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import fedbary as fb
from fedbary.space.labels import class_names
from fedbary.valuation.cleaning import acts_on
from fedbary_lab.boosting import trained_accuracy
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import Spoilt, split_dataset
from fedbary_lab.paper import published
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation
from fedbary_lab.training.models import Model

if TYPE_CHECKING:
    import pandas as pd

How = Literal["drop", "relabel"]


@dataclass(frozen=True)
class Flags:
    """A way to find rows to act on: the protocol, the rule by which it flags, and in words what that is."""

    protocol: Callable[[], Any]
    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    reference: bool = True


FLAGS = {
    "published": Flags(
        lambda: published(gradient="eta"),
        "positive calibrated gradient towards η_Q, as published",
        {"rule": "sign"},
    ),
    "sketch": Flags(fb.Sketch, "the sketch's flags, of which at most a tenth should be wrong"),
    "cards": Flags(fb.Cards, "suspects by the cards of all clients, without the reference", reference=False),
}


@dataclass(frozen=True, eq=False)
class Flagged:
    """Every client's rows as one way to find bad ones sees them; suspects count where nothing can be flagged."""

    rows: Mapping[str, pd.DataFrame]
    suspects: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class Draw:
    """The server's rows, the clients with their spoilt rows, and the same clients before that."""

    reference: fb.Table
    test: fb.Table
    spoilt: Mapping[str, Spoilt]
    clean: Mapping[str, fb.Table]
    seed: int

    @property
    def tables(self) -> dict[str, fb.Table]:
        """What the clients have."""
        return {name: client.table for name, client in self.spoilt.items()}

    def flagged(self, whose: str) -> Flagged:
        """Value the clients, and keep what is said about their rows."""
        way, started = FLAGS[whose], perf_counter()
        reference, engine = self.reference if way.reference else None, fb.LocalEngine(workers=1)
        result = fb.value(self.tables, reference, protocol=way.protocol(), seed=self.seed, engine=engine, **way.options)
        rows = {name: result.rows(name) for name in self.spoilt}
        return Flagged(rows, not way.reference, perf_counter() - started)

    def accuracy(self, model: Model, training: FedAvg, tables: Mapping[str, fb.Table]) -> float:
        """What a model reaches on the test rows after training on these tables."""
        federation = Federation.from_tables(tables, self.reference)
        judge = Federation.from_tables({"test": self.test}, self.reference).clients[0]
        return trained_accuracy(model, federation, judge, training, threads=1)


def draw_clients(dataset: str, kind: str, shares: Sequence[float], *, rows: int, server_rows: int, seed: int) -> Draw:
    """One client for each share of spoilt rows, and the server's reference and test rows."""
    data = split_dataset(dataset, 2 * server_rows, seed=seed)
    reference, test = fb.partitions.by_size(data.reference, [server_rows] * 2, seed=seed).clients.values()
    parts = np.split(data.rows(len(shares) * rows, np.inf, seed=seed), len(shares))
    names = [f"client_{i + 1}" for i in range(len(shares))]
    spoilt = {
        name: data.client(own, kind, share, seed=100 * seed + i)
        for i, (name, own, share) in enumerate(zip(names, parts, shares, strict=True))
    }
    clean = {name: data.pool.take(own) for name, own in zip(names, parts, strict=True)}
    return Draw(reference, test, spoilt, clean, seed)


def training_rows(draw: Draw, flags: Flagged, how: How) -> dict[str, fb.Table]:
    """What acting leaves of every client; a client of whom nothing is left does not train."""
    acted = {
        name: fb.clean(table, flags.rows[name], how, suspects=flags.suspects) for name, table in draw.tables.items()
    }
    return {name: table for name, table in acted.items() if len(table)}


def judged(spoilt: Mapping[str, Spoilt], flags: Flagged, how: How) -> Record:
    """How many rows are acted on, how right that is, and how right the labels are that replace theirs."""
    import pandas as pd

    rows = pd.concat([flags.rows[name] for name in spoilt], ignore_index=True)
    acts = acts_on(rows, how, suspects=flags.suspects)
    acted = ~acts.kept | acts.relabelled
    mask = np.concatenate([client.mask for client in spoilt.values()])
    record: Record = {"flagged": int(acted.sum()), "found": int(acted[mask].sum()), "seconds": flags.seconds}
    record["recall"] = float(acted[mask].mean())
    if acted.any():
        record["precision"] = float(mask[acted].mean())
    if acts.relabelled.any():
        truth = np.concatenate([class_names(client.truth) for client in spoilt.values()])
        suggested = rows["suggested_label"].to_numpy(dtype=str)
        record["mended"] = float((suggested == truth)[acts.relabelled].mean())
    return record
