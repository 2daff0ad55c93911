"""The Flower app of a data owner's node."""

from __future__ import annotations

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from fedbary.engines.answering import answered
from fedbary.engines.flower.codec import pack, unpack
from fedbary.guard.node_config import NodeConfig

app = ClientApp()


@app.query("ask")
def ask(message: Message, context: Context) -> Message:
    """Answer one of the server's messages; nothing but the answer leaves, whatever happens."""
    found = answered(lambda: unpack(message.content), lambda: NodeConfig.of(context.node_config, context.node_id))
    return Message(pack(found), reply_to=message)
