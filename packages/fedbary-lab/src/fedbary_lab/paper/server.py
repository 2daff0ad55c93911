"""The server of Algorithm 1 that shows the reference, or scores support points, where a comparison asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from fedbary.errors import ProtocolError
from fedbary.forms import Record
from fedbary.notes import Note
from fedbary.protocols.forms import fitting_replies
from fedbary.protocols.interpolation.server import ClientTrack, InterpolationServer
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary_lab.paper import PaperInterpolation
from fedbary_lab.paper.potentials import source_potential


class PaperServer(InterpolationServer):
    """The core's server, one stage longer where row values need what it has."""

    _settings: PaperInterpolation

    def tasks(self) -> Mapping[str, Message]:
        """Messages for the clients that are still in; empty when done."""
        if self._stage != "scores":
            return super().tasks()
        messages = {}
        for track in self._active():
            try:
                messages[track.name] = self._score_message(track)
            except Exception as error:
                track.fail(Failure.of(error))
        return messages

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers to `tasks`; a bad answer takes its client out and nobody else."""
        if self._stage != "scores":
            super().absorb(replies)
            return
        asked = [track.name for track in self._active()]
        for name, reply in fitting_replies(asked, replies, Record(), number=self._round).items():
            if isinstance(reply, Failure):
                self._tracks[name].fail(reply)
        self._stage = "done"

    def _score_message(self, track: ClientTrack) -> Message:
        target = self._target, self._target_weights
        if self._settings.gradient == "access":
            arrays = dict(zip(("reference", "reference_weights"), target, strict=True))
            return Message("scores", self._round, {}, arrays)
        eta_p, eta_q = (track.eta_p, track.eta_p_weights), (track.sent_eta_q, track.sent_eta_q_weights)
        scored, towards = {
            "server-eta": (eta_p, target), "server-gamma": (eta_p, eta_q), "server-target": (eta_q, target)
        }[self._settings.gradient]  # fmt: skip
        scores = source_potential(self._settings, *scored, *towards)
        return Message("scores", self._round, {}, {"scores": scores})

    def _sizes(self, allowed: Mapping[str, int]) -> Mapping[str, int]:
        return allowed if self._settings.point_per_row else super()._sizes(allowed)

    def _few_points(self) -> tuple[Note, ...]:
        return () if self._settings.point_per_row else super()._few_points()

    def _advance(self, moving: list[ClientTrack]) -> None:
        super()._advance(moving)
        if self._stage == "done" and self._settings.gradient not in ("eta", "gamma") and self._active():
            self._stage = "scores"

    def _take(self, track: ClientTrack, reply: Reply) -> None:
        points = len(reply.arrays["gamma"])
        if self._settings.gradient.startswith("server") and points != track.rows:
            facts = {"gradient": self._settings.gradient, "rows": int(track.rows), "points": points}
            raise ProtocolError("research.gradient-needs-all-rows", **facts)
        super()._take(track, reply)
