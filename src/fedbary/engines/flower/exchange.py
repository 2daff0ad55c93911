"""Questions to nodes and their answers, with deadlines, retries and errors that are turned into reasons."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flwr.app import Message as FlowerMessage
from flwr.app import RecordDict
from flwr.serverapp import Grid

from fedbary.engines.flower.codec import unpack_reply
from fedbary.errors import FedbaryError
from fedbary.guard.envelope import Envelope
from fedbary.protocols.messages import Failure, Reply

MESSAGE_TYPE = "query.ask"
# Messages on their way at a time: large ones for many clients would fill the memory.
_WAVE = 200
_REASONS = {
    1: "the node cannot load the app: check that fedbary is installed there",
    2: "the app failed on the node: look at the node's log",
    3: "the question did not reach the node in time",
    4: "the node's answer was lost",
    5: "the node cannot be reached",
    7: "the node refused the app",
    8: "the app crashed on the node: look at the node's log",
}


@dataclass(frozen=True)
class Patience:
    """How long to wait: for an answer, between looks, and how often to ask again a node that said nothing."""

    timeout: float = 600.0
    poll: float = 0.2
    retries: int = 1


def exchange(
    grid: Grid,
    questions: Mapping[int, tuple[RecordDict, Envelope]],
    patience: Patience,
    *,
    told: Callable[[int, Reply | Failure, Envelope], None] = lambda *_: None,
) -> dict[int, tuple[Reply | Failure, Envelope]]:
    """Ask nodes and wait for their answers; what is missing or makes no sense is a `Failure` with a reason.

    A question may be repeated, because a node answers the same one with the same answer. ``told`` hears of every
    answer as it comes.
    """
    answers: dict[int, tuple[Reply | Failure, Envelope]] = {}
    nodes = list(questions)
    for first in range(0, len(nodes), _WAVE):
        open_nodes: Sequence[int] = nodes[first : first + _WAVE]
        for attempt in range(patience.retries + 1):
            found = _asked_once(grid, {node: questions[node] for node in open_nodes}, patience, told)
            answers |= found
            open_nodes = [node for node in open_nodes if node not in found]
            if not open_nodes or attempt == patience.retries:
                break
        for node in open_nodes:
            silence = Failure(f"no answer within {patience.timeout:g} s")
            answers[node] = silence, questions[node][1]
            told(node, *answers[node])
    return answers


def _asked_once(
    grid: Grid,
    questions: Mapping[int, tuple[RecordDict, Envelope]],
    patience: Patience,
    told: Callable[[int, Reply | Failure, Envelope], None],
) -> dict[int, tuple[Reply | Failure, Envelope]]:
    messages = [
        FlowerMessage(content, dst_node_id=node, message_type=MESSAGE_TYPE, ttl=patience.timeout + 5.0)
        for node, (content, _) in questions.items()
    ]
    # A reply of a dead node names the server as its source, so answers are known by what they reply to.
    waiting = dict(zip(grid.push_messages(messages), questions, strict=True))
    answers: dict[int, tuple[Reply | Failure, Envelope]] = {}
    end = time.monotonic() + patience.timeout
    while waiting and time.monotonic() < end:
        for reply in grid.pull_messages(list(waiting)):
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is not None:
                answers[node] = _read(reply, questions[node][1])
                told(node, *answers[node])
        if waiting:
            time.sleep(min(patience.poll, max(end - time.monotonic(), 0.0)))
    return answers


def _read(reply: FlowerMessage, asked: Envelope) -> tuple[Reply | Failure, Envelope]:
    if reply.has_error():
        code = reply.error.code
        return Failure(_REASONS.get(code, f"Flower reports error {code}")), asked
    try:
        return unpack_reply(reply.content, asked)
    except FedbaryError as error:
        return Failure(str(error)), asked
    except Exception as error:  # whatever a node sends must not stop the others
        return Failure(f"the reply cannot be read ({type(error).__name__})"), asked
