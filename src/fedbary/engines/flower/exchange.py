"""Questions to nodes and their answers, with deadlines, retries, and errors as values."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flwr.app import Message as FlowerMessage
from flwr.app import RecordDict
from flwr.serverapp import Grid

from fedbary.engines.flower.codec import unpack_reply
from fedbary.guard.envelope import Envelope
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Reply
from fedbary.valuation.outcome import Status

MESSAGE_TYPE = "query.ask"
# Messages on their way at a time: large ones for many clients would fill the memory.
_WAVE = 200
# Flower's error codes, and ours for them.
_ERRORS = {
    1: Failure(Note("engines.app-not-loaded")),
    2: Failure(Note("engines.app-failed")),
    3: Failure(Note("engines.message-late"), Status.SILENT),
    4: Failure(Note("engines.answer-lost"), Status.SILENT),
    5: Failure(Note("engines.node-unreachable"), Status.SILENT),
    7: Failure(Note("engines.app-refused"), Status.REFUSED),
    8: Failure(Note("engines.app-crashed")),
}
OnAnswer = Callable[[int, Reply | Failure, Envelope], None]


@dataclass(frozen=True)
class Patience:
    """How long to wait: for an answer, between looks, and how often to ask again a node that said nothing."""

    timeout: float = 600.0
    poll: float = 0.2
    retries: int = 1


def exchange(
    grid: Grid, packed: Mapping[int, tuple[RecordDict, Envelope]], patience: Patience, *, on_answer: OnAnswer
) -> dict[int, Reply | Failure]:
    """Ask nodes and wait for their answers; what is missing or makes no sense is a `Failure`.

    A message may be repeated, because a node answers the same one with the same answer. ``on_answer`` is called with
    every answer as it comes.
    """
    answers: dict[int, Reply | Failure] = {}
    nodes = list(packed)
    for first in range(0, len(nodes), _WAVE):
        silent: Sequence[int] = nodes[first : first + _WAVE]
        for _ in range(patience.retries + 1):
            answers |= _asked_once(grid, {node: packed[node] for node in silent}, patience, on_answer)
            silent = [node for node in silent if node not in answers]
            if not silent:
                break
        for node in silent:
            answers[node] = Failure(Note("engines.no-answer", {"seconds": patience.timeout}), Status.SILENT)
            on_answer(node, answers[node], packed[node][1])
    return answers


def _asked_once(
    grid: Grid, packed: Mapping[int, tuple[RecordDict, Envelope]], patience: Patience, on_answer: OnAnswer
) -> dict[int, Reply | Failure]:
    messages = [
        FlowerMessage(content, dst_node_id=node, message_type=MESSAGE_TYPE, ttl=patience.timeout + 5.0)
        for node, (content, _) in packed.items()
    ]
    # A reply of a dead node names the server as its source, so answers are known by what they reply to.
    waiting = dict(zip(grid.push_messages(messages), packed, strict=True))
    answers: dict[int, Reply | Failure] = {}
    end = time.monotonic() + patience.timeout
    while waiting and time.monotonic() < end:
        for reply in grid.pull_messages(list(waiting)):
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is not None:
                answers[node], envelope = _read(reply, packed[node][1])
                on_answer(node, answers[node], envelope)
        if waiting:
            time.sleep(min(patience.poll, max(end - time.monotonic(), 0.0)))
    return answers


def _read(reply: FlowerMessage, asked: Envelope) -> tuple[Reply | Failure, Envelope]:
    if reply.has_error():
        code = int(reply.error.code)
        return _ERRORS.get(code) or Failure(Note("engines.flower-error", {"number": code})), asked
    try:
        return unpack_reply(reply.content, asked)
    except Exception as error:  # whatever a node sends must not stop the others
        return Failure.of(error), asked
