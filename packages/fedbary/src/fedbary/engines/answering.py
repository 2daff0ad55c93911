"""What a node of any network sends back for a message: the answer, or a code; never an exception or its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fedbary.engines.packed import Packed, packed_reply, unpacked_message
from fedbary.guard.envelope import Envelope
from fedbary.guard.node import answer, refuse
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.what_leaves import refusal
from fedbary.protocols.messages import Failure, Reply


def answered(received: Callable[[], Packed], config: Callable[[], NodeConfig]) -> Packed:
    """Answer one of the server's messages; nothing but the answer leaves, whatever happens.

    Parameters
    ----------
    received : callable
        Unpacks the message; what it raises is refused, and stands in the owner's ledger.
    config : callable
        The owner's config, which may be unusable, too.
    """
    reply: Reply | Failure
    own = Envelope("")
    try:
        try:
            asked, envelope = unpacked_message(received())
        except Exception as error:
            reply = refuse(error, config())
        else:
            own = replace(envelope, settings="")
            reply, own = answer(asked, envelope, config())
    except Exception as error:  # a network would send its text, with local paths, to the server
        reply = refusal(error)
    return packed_reply(reply, own)
