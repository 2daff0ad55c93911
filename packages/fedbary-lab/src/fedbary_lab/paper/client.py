"""A client of Algorithm 1 whose rows are scored by the reference, or by the server, where a comparison asks for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.protocols.interpolation.client import InterpolationClient, sent_array
from fedbary.protocols.messages import Message, Reply
from fedbary.space.points import Points
from fedbary.transport import solve
from fedbary_lab.paper import PaperInterpolation
from fedbary_lab.paper.potentials import source_potential

Floats = NDArray[np.float64]


class PaperClient(InterpolationClient):
    """The core's client, one message longer where row values need what the server has."""

    _settings: PaperInterpolation

    def answer(self, message: Message) -> Reply:
        """Answer one message; the last may be the reference, or the server's scores of the support points."""
        if message.kind != "scores":
            return super().answer(message)
        self._first.check(message)
        self._ready()
        if self._settings.gradient == "access":
            reference = sent_array(message, "reference", (None, self._gamma.shape[1]))
            weights = sent_array(message, "reference_weights", (len(reference),))
            self._measures |= {"reference": reference, "reference_weights": weights}
        else:
            self._measures["scores"] = sent_array(message, "scores", (len(self._measures.get("eta_p", ())),))
        return Reply(message.round)

    def _allowed_points(self, asked: int, cloud: Points, least: int) -> int:
        return len(self._table) if self._settings.point_per_row else super()._allowed_points(asked, cloud, least)

    def _potentials(self, cloud: Points) -> Floats:
        variant, measures = self._settings.gradient, self._measures
        if variant in ("eta", "gamma") and self._settings.potentials == "exact":
            return super()._potentials(cloud)
        name = {"eta": "eta_q", "gamma": "eta_q", "access": "reference"}.get(variant, "scores")
        if not self._gamma.size or name not in measures:
            raise ProtocolError("protocols.rows-before-round")
        if name == "scores":
            return self._scores_of_rows(cloud)
        target, mass = measures[name], measures[f"{name}_weights"]
        if variant == "gamma":
            target, mass = self._gamma, self._gamma_weights
        return source_potential(self._settings, cloud.points, cloud.weights, target, mass)

    def _scores_of_rows(self, cloud: Points) -> Floats:
        """Of each row the mean of the server's scores of its points.

        The j-th points of η_P and η_Q both come from γ's j-th, so that a row's share in the one is its share in the
        other.
        """
        eta_p, weights = self._measures["eta_p"], self._measures["eta_p_weights"]
        plan = solve(cloud.points, eta_p, cloud.weights, weights, p=self._settings.p)
        sums = np.zeros(cloud.distinct)
        np.add.at(sums, plan.source, plan.mass * self._measures["scores"][plan.target])
        return np.asarray(sums / cloud.weights)
