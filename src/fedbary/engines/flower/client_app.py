"""The Flower app of a data owner's node."""

from __future__ import annotations

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from fedbary.engines.flower.codec import pack_reply, unpack_message
from fedbary.guard.envelope import Envelope
from fedbary.guard.node import answer, refuse
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.what_leaves import refusal
from fedbary.protocols.messages import Failure, Reply

app = ClientApp()


@app.query("ask")
def ask(message: Message, context: Context) -> Message:
    """Answer one of the server's questions; nothing but the answer leaves, whatever happens."""
    try:
        reply, own = _answered(message, NodeConfig.of(context.node_config, context.node_id))
    except Exception as error:  # Flower would send its text, with local paths, to the server
        reply, own = refusal(error), Envelope("")
    return Message(pack_reply(reply, own), reply_to=message)


def _answered(message: Message, config: NodeConfig) -> tuple[Reply | Failure, Envelope]:
    try:
        question, envelope = unpack_message(message.content)
    except Exception as error:
        return refuse(error, config), Envelope("")
    return answer(question, envelope, config)
