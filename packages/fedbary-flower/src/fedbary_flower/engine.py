"""`FlowerEngine`: carries a protocol's messages over a Flower grid."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from flwr.app import Message as FlowerMessage
from flwr.serverapp import Grid

from fedbary.engines.networked import NetworkedEngine, OnAnswer
from fedbary.engines.nodes import Attendance
from fedbary.engines.packed import Packed
from fedbary.notes import Note
from fedbary.protocols.messages import Failure
from fedbary.valuation.outcome import Status
from fedbary_flower.codec import pack, unpack

MESSAGE_TYPE = "query.ask"
# Flower's error codes, and ours for them.
ERRORS = {
    1: Failure(Note("engines.app-not-loaded")),
    2: Failure(Note("engines.app-failed")),
    3: Failure(Note("engines.message-late"), Status.SILENT),
    4: Failure(Note("engines.answer-lost"), Status.SILENT),
    5: Failure(Note("engines.node-unreachable"), Status.SILENT),
    7: Failure(Note("engines.app-refused"), Status.REFUSED),
    8: Failure(Note("engines.app-crashed")),
}


class FlowerEngine(NetworkedEngine):
    """Runs a protocol with the nodes of a Flower federation.

    Parameters
    ----------
    grid : Grid
        Flower's, from the server app.
    attendance : Attendance
        For how many nodes to wait.
    **options
        As of `NetworkedEngine`.
    """

    name = "flower"

    def __init__(self, grid: Grid, attendance: Attendance, **options: Any) -> None:
        super().__init__(attendance, **options)
        self._grid = grid

    def online(self) -> Mapping[str, str]:
        """Flower fails a message at once whose node is not among these, also right after the server's restart."""
        return {str(node.node_id): node.name for node in self._grid.get_nodes()}

    def deliver(self, messages: Mapping[str, Packed], on_answer: OnAnswer) -> None:
        """Push the messages and look for replies until all are there."""
        ttl = self.patience.timeout + 5.0
        pushed = [
            FlowerMessage(pack(content), dst_node_id=int(node), message_type=MESSAGE_TYPE, ttl=ttl)
            for node, content in messages.items()
        ]
        # A reply of a dead node names the server as its source, so answers are known by what they reply to.
        waiting = dict(zip(self._grid.push_messages(pushed), messages, strict=True))
        end = time.monotonic() + self.patience.timeout
        while waiting and time.monotonic() < end:
            for reply in self._grid.pull_messages(list(waiting)):
                node = waiting.pop(reply.metadata.reply_to_message_id, None)
                if node is not None:
                    on_answer(node, _read(reply))
            if waiting:
                time.sleep(min(self.patience.poll, max(end - time.monotonic(), 0.0)))

    def address(self, node: str) -> int | str:
        """Flower's node id."""
        return int(node)

    def facts(self) -> dict[str, Any]:
        """And Flower's version."""
        return super().facts() | {"flwr": version("flwr")}


def _read(reply: FlowerMessage) -> Packed | Failure:
    if reply.has_error():
        code = int(reply.error.code)
        return ERRORS.get(code) or Failure(Note("engines.flower-error", {"number": code}))
    try:
        return unpack(reply.content)
    except Exception as error:  # whatever a node sends must not stop the others
        return Failure.of(error)
