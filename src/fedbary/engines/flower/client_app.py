"""The Flower app of a data owner's node."""

from __future__ import annotations

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from fedbary.engines.flower.codec import pack_reply, unpack_message
from fedbary.guard.envelope import Envelope
from fedbary.guard.node import answer
from fedbary.guard.node_config import NodeConfig
from fedbary.protocols.messages import Failure

app = ClientApp()


@app.query("ask")
def ask(message: Message, context: Context) -> Message:
    """Answer one of the server's questions; nothing but the answer leaves, whatever happens."""
    try:
        question, envelope = unpack_message(message.content)
        config = NodeConfig.of(context.node_config, context.node_id)
        partition = context.node_config.get("partition-id")
        reply, own = answer(question, envelope, config, None if partition is None else int(partition))
    except Exception as error:  # Flower would send its text, with local paths, to the server
        reply, own = Failure.of(error).redacted(), Envelope("")
    return Message(pack_reply(reply, own), reply_to=message)
