"""The data owner's half: an interpolation that stops after its first half step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.interpolation.client import InterpolationClient, sent_array
from fedbary.protocols.messages import Message, Reply
from fedbary.transport import interpolate
from fedbary.valuation.rows import RowRules
from fedbary_lab.triangle import Triangle

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.released_table import Release


class TriangleClient(InterpolationClient):
    """An interpolation client that stops after its first half step: guards, states and row values are the same."""

    def __init__(
        self, settings: Triangle, table: Table, *, rules: RowRules, seed: int, release: Release | None
    ) -> None:
        policy = Interpolation(
            support=settings.support,
            t=1.0 - settings.t,  # Interpolation counts from γ, Triangle from the rows
            p=settings.p,
            min_group=settings.min_group,
            allow_reconstruction=settings.allow_reconstruction,
        )
        super().__init__(policy, table, rules=rules, seed=seed, release=release)

    def answer(self, message: Message) -> Reply:
        """Answer the only message there is, with η_P; η_Q is kept to score rows with.

        A second γ would group the rows in a second way, and enough of those give the rows away: it is refused.
        """
        if message.kind != "start":
            raise ProtocolError("protocols.unknown-message", protocol="triangle", kind=message.kind)
        reply = super().answer(message)
        self._begin(self._allowed)
        eta_q = sent_array(message, "eta_q", (None, self._gamma.shape[1]))
        self._measures = {"eta_q": eta_q, "eta_q_weights": np.full(len(eta_q), 1.0 / len(eta_q))}
        cloud = self._ready()
        eta_p, _ = interpolate(self._towards_rows(cloud), self._gamma, cloud.points, float(self._settings.t or 0.0))
        return Reply(0, {"rows": reply.scalars["rows"]}, {"eta_p": eta_p}, reply.notes)
