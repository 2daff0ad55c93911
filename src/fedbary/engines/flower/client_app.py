"""The Flower app of a data owner's node."""

from __future__ import annotations

from dataclasses import replace

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
    """Answer one of the server's messages; nothing but the answer leaves, whatever happens."""
    reply: Reply | Failure
    own = Envelope("")
    try:
        try:
            asked, envelope = unpack_message(message.content)
        except Exception as error:
            reply = refuse(error, NodeConfig.of(context.node_config, context.node_id))
        else:
            own = replace(envelope, settings="")
            reply, own = answer(asked, envelope, NodeConfig.of(context.node_config, context.node_id))
    except Exception as error:  # Flower would send its text, with local paths, to the server
        reply = refusal(error)
    return Message(pack_reply(reply, own), reply_to=message)
