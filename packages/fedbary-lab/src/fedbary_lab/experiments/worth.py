"""How much of the worth is left when cards are guarded, narrow or private: the frontier that its default is chosen by.

The federations and the truths are those of `fidelity`. Cards are made as owners would make them, and only the game is
played, without rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.exact_card import card_of_rows, exact_card
from fedbary.protocols.cards.placing import agreed_schema, placed
from fedbary.protocols.cards.private_card import private_card
from fedbary.protocols.cards.worth import Judge, play_worth, public_directions, reference_judge
from fedbary.protocols.released_table import ReleasedTable, guarded_card
from fedbary.space.encode import encode, place
from fedbary.space.fit import public_schema
from fedbary.space.labels import class_names, label_kind
from fedbary.space.row_identity import RARE
from fedbary.space.schema import Schema
from fedbary.valuation.clients import ClientScores
from fedbary_lab.comparison import agreement
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.tables import mean_and_spread, pivots
from fedbary_lab.experiments.trained import draw_seed
from fedbary_lab.experiments.truths import Cell, cells, draw, truths

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["VARIANTS", "Variant", "cells", "compute", "markdown", "played", "table"]

METRICS = ("spearman", "pooled_spearman", "share_error", "pooled_share_error", "seconds", "products")


@dataclass(frozen=True)
class Variant:
    """How cards are made, and in how many coordinates the game is played.

    ``projected``: the owners' rows are first placed in so many public coordinates, the reference's.
    """

    coordinates: int | None = None
    guarded: bool = False
    trust_server: bool = False
    projected: int | None = None
    epsilon: float | None = None


VARIANTS = {
    "exact": Variant(),
    **{f"exact, {count} coordinates": Variant(count) for count in (16, 32, 64, 96)},
    "guarded": Variant(guarded=True),
    "guarded, trust_server": Variant(guarded=True, trust_server=True),
    **{f"guarded, {count} public coordinates": Variant(guarded=True, projected=count) for count in (24, 48)},
    **{
        f"ε = {epsilon}, {count} public coordinates": Variant(projected=count, epsilon=epsilon)
        for epsilon in (8, 2)
        for count in (24, 48)
    },
}


def compute(cell: Cell) -> list[Record]:
    """Agreement of every variant with both truths."""
    drawn = draw(cell)
    true = truths(drawn.trained(cell))
    records = []
    for name, variant in VARIANTS.items():
        scores, products = played(variant, drawn.clients, drawn.test, seed=draw_seed(cell))
        pooled = agreement(scores, true["pooled"])
        records.append(
            {
                "variant": name,
                **agreement(scores, true["exactfed"]),
                **{f"pooled_{key}": number for key, number in pooled.items()},
                "seconds": scores.seconds,
                "products": products,
            }
        )
    return records


def played(variant: Variant, clients: Mapping[str, Table], test: Table, *, seed: int) -> tuple[ClientScores, float]:
    """The game on cards that are made so, and the share of cards that tell products of coordinates."""
    settings = Cards(worth=True, coordinates=variant.coordinates)
    if variant.epsilon is not None:
        schema = public_schema(test, coordinates=variant.projected or "auto", seed=seed)
        cards = {
            name: private_card(rows, schema, epsilon=variant.epsilon, delta=settings.delta)
            for name, rows in clients.items()
        }
    else:
        if variant.projected is not None:
            directions = _directions(test, variant.projected)
            clients = {name: _projected(rows, directions) for name, rows in clients.items()}
            test = _projected(test, directions)
        made = {name: _card(variant, rows, settings.min_group) for name, rows in clients.items()}
        cards = {name: card for name, card in made.items() if card is not None}
        schema, _ = agreed_schema(cards, settings.space(None), reference=exact_card(test))
    parts = {name: placed(card, schema) for name, card in cards.items()}
    scores = play_worth(parts, _judge(test, schema, seed=seed), settings, seed=seed).among(tuple(clients))
    full = sum(card.full for card in cards.values()) / len(clients)
    return replace(scores, values=np.nan_to_num(scores.values)), full


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds; the case ``mean`` is over all cases as well."""
    import pandas as pd

    keys = ["dataset", "clients", "case", "variant"]
    parts = [mean_and_spread(records.assign(case="mean"), keys, METRICS), mean_and_spread(records, keys, METRICS)]
    return pd.concat(parts, ignore_index=True)


def markdown(final: pd.DataFrame) -> str:
    """The means over all cases first, then case by case."""
    named = final.assign(
        federation=[f"{data}, N = {n}" for data, n in zip(final["dataset"], final["clients"], strict=True)]
    )
    overall = named[named["case"] == "mean"].assign(
        **{f"{metric}_sd": np.nan for metric in METRICS}, everything="All cases: means"
    )
    titles = {
        "pooled_spearman": "Spearman with pooled regression",
        "spearman": "Spearman with exactFed",
        "pooled_share_error": "mean absolute difference of shares, pooled regression",
    }
    digits = dict.fromkeys(METRICS, 2) | {"share_error": 3, "pooled_share_error": 3, "seconds": 3}
    more = {"products": "share of cards with products of coordinates", "seconds": "seconds of the game"}
    return "\n".join(
        [
            "# Worth on guarded and private cards\n",
            "Cards made as owners would make them, and the game alone, against the truths of "
            "[fidelity](fidelity.md). *Exact*: in one process, 56 coordinates unless said otherwise. *Guarded*: "
            "products of coordinates only with five rows a coordinate, unless owners trust the server; a card without "
            "them plays with the reference's covariance. *Public coordinates*: rows are placed in so many directions "
            "of the reference before the card is made. δ is 10⁻⁶.\n",
            pivots(
                overall, by="everything", down=["variant"], across="federation", titles=titles | more, digits=digits
            ),
            pivots(
                named[named["case"] != "mean"],
                by="federation",
                down=["variant"],
                across="case",
                titles=titles,
                digits=digits,
            ),
        ]
    )


def _card(variant: Variant, rows: Table, min_group: int) -> Card | None:
    """None for a client that has too few rows of any class to send a guarded card: it adds nothing."""
    if not variant.guarded:
        return exact_card(rows)
    try:
        released = ReleasedTable.guarded(rows, label_kind(rows.labels), min_group)
    except DataError:
        return None
    card = guarded_card(released)
    if not variant.trust_server:
        return card
    told = card_of_rows(released.as_a_card(released.rows), released.kind, unnamed=RARE)
    return replace(card, second=told.second)


def _judge(test: Table, schema: Schema, *, seed: int) -> Judge:
    judge = reference_judge(place(encode(test, schema), schema), class_names(test.labels), schema, seed=seed)
    assert judge is not None
    return judge


def _directions(test: Table, count: int) -> np.ndarray:
    codes = np.unique(test.labels, return_inverse=True)[1]
    return public_directions(Judge(_numbers(test), codes), count)


def _projected(rows: Table, directions: np.ndarray) -> Table:
    return rows.replace(columns={"public": _numbers(rows) @ directions})


def _numbers(rows: Table) -> np.ndarray:
    return np.hstack([np.asarray(values, dtype=float).reshape(len(rows), -1) for values in rows.columns.values()])
