"""Our own protocols as methods that value clients."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fedbary.api import value
from fedbary.data.table import Table
from fedbary.engines.local import LocalEngine
from fedbary.errors import FedbaryError
from fedbary.notes import Note
from fedbary.protocols.cards import Cards
from fedbary.protocols.messages import Settings
from fedbary.protocols.registry import PROTOCOLS
from fedbary.valuation.clients import ClientScores
from fedbary_lab.paper import published
from fedbary_lab.triangle import Triangle


@dataclass(frozen=True)
class ProtocolMethod:
    """A protocol's settings, whether it looks at the reference, and what its value is in a line."""

    protocol: Settings
    does: str
    uses_reference: bool = True


# Whose row values are compared, too.
ROW_PROTOCOLS = {**PROTOCOLS, Triangle.name: Triangle}
_DISTANCE = "1 / distance of fedbary's protocol; no training at all"

PROTOCOL_METHODS: dict[str, ProtocolMethod] = {
    name: ProtocolMethod(make(), _DISTANCE, name != Cards.name) for name, make in ROW_PROTOCOLS.items()
} | {
    "worth": ProtocolMethod(Cards(worth=True), "Shapley value of a game on cards; no training on anybody's rows"),
    "published": ProtocolMethod(
        published(), "1 / distance by interpolation as the paper's code has it; shows every row"
    ),
    "worth-alone": ProtocolMethod(Cards(worth=True), "worth without looking at the reference", False),
}


def protocol_scores(
    name: str,
    tables: Mapping[str, Table | FedbaryError],
    target: Table,
    *,
    seed: int,
    engine: LocalEngine | None = None,
) -> ClientScores:
    """The protocol's own scores, or 1/distance, which the paper's shares are proportional to.

    NaN for a client that failed; the time is that of the whole run, row values included.
    """
    method = PROTOCOL_METHODS[name]
    started = time.perf_counter()
    reference = target if method.uses_reference else None
    result = value(tables, reference, protocol=method.protocol, seed=seed, engine=engine)
    elapsed = time.perf_counter() - started
    notes = tuple(
        Note("research.client-failed", {"client": name, "why": outcome.notes[0]})
        for name, outcome in result.outcomes.items()
        if not outcome.ok
    )
    if result.scores is not None:
        return replace(result.scores, method=name, seconds=elapsed, notes=(*result.scores.notes, *notes))
    distance = result.clients.set_index("client")["distance"].reindex(list(tables)).to_numpy(dtype=float)
    floor = max(1e-9 * float(np.nanmax(distance, initial=0.0)), 1e-300)
    unknown = np.full(len(tables), np.nan)
    return ClientScores(name, tuple(tables), 1.0 / np.maximum(distance, floor), unknown, seconds=elapsed, notes=notes)
