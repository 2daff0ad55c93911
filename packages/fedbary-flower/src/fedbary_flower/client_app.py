"""The Flower app of a data owner's node, and the same answers for apps that also train."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from fedbary.engines.packed import answered
from fedbary.guard.node_config import NodeConfig, TableSource
from fedbary_flower.codec import pack, unpack
from fedbary_flower.simulation import is_simulated_node
from fedbary_flower.training import trains

LoadTable = Callable[[Context], Any]


def answers(app: ClientApp, load_table: LoadTable | None = None, *, label: str | None = None) -> ClientApp:
    """Let an app answer the questions of a valuation, behind its owner's policy and ledger.

    Parameters
    ----------
    app : ClientApp
        Any app; what it does for training stays as it is.
    load_table : callable, optional
        Given Flower's ``Context``, the node's rows: a `Table`, a pair ``(X, y)``, a frame, a data set of torch or of
        Hugging Face, or a path. Called when the owner's policy allows the question. Default: the file that
        ``data-path`` in the node config names.
    label : str, optional
        The label column of a frame or a file, where the node config names none.

    Returns
    -------
    ClientApp
        The same app.

    Notes
    -----
    In a deployment the owner's policy holds, the default one where the node config names none, and questions are
    counted: under ``table`` in the node config, else under its ``data-path``, else under its ``partition-id``, else for
    all that apps load on this machine. In Flower's simulation there is one owner, who needs neither.

    Examples
    --------
    In ``client_app.py`` of a Flower app::

        app = ClientApp()
        answers(app, lambda context: load_data(context.node_config["partition-id"])[0])
    """

    @app.query("ask")
    def ask(message: Message, context: Context) -> Message:
        """Answer one of the server's messages; nothing but the answer leaves, whatever happens."""
        found = answered(lambda: unpack(message.content), lambda: _config(context, load_table, label))
        return Message(pack(found), reply_to=message)

    return app


def _config(context: Context, load_table: LoadTable | None, label: str | None) -> NodeConfig:
    if load_table is None:
        return NodeConfig.of(context.node_config, context.node_id)
    simulated = is_simulated_node()

    def load() -> Any:
        try:
            return load_table(context)
        except Exception:
            if simulated:  # one party is all: whoever wrote the function wants to see what is wrong with it
                traceback.print_exc(file=sys.stderr)
            raise

    return NodeConfig.of(context.node_config, context.node_id, TableSource(load, label, simulated=simulated))


app = trains(answers(ClientApp()))
