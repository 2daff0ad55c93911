"""A grid in this process: the real apps, no network, and nodes that misbehave on purpose."""

import uuid
from types import SimpleNamespace

from flwr.app import Context, Error, RecordDict
from flwr.app import Message as FlowerMessage
from flwr.serverapp import Grid


def be_a_task():
    """Messages are made by whoever says which task of Flower's it is: the one private thing that is needed here."""
    try:
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:  # before 1.41 nobody was asked
        return
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1


class InProcessGrid(Grid):
    """Calls the client app for every message; ``faults`` maps a node to a function of (message, honest reply).

    ``registered`` are the names of ``flwr supernode register --name``; left out, nodes call themselves as they were.
    """

    def __init__(self, app, configs, faults=None, registered=None, run_config=None):
        self._app, self._configs, self._faults = app, configs, faults or {}
        own = {node: config["name"] for node, config in configs.items() if "name" in config}
        self._registered = own if registered is None else registered
        self._run_config = run_config or {}
        self._sent = {}
        self.received = []  # every reply the server got
        be_a_task()

    def set_run(self, run):
        self._run = run

    @property
    def run(self):
        return self._run

    def create_message(self, content, message_type, dst_node_id, group_id, ttl=None):
        return FlowerMessage(content, dst_node_id=dst_node_id, message_type=message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self):
        return list(self._configs)

    def get_nodes(self):
        return [SimpleNamespace(node_id=node, name=self._registered.get(node, "")) for node in self.get_node_ids()]

    def push_messages(self, messages):
        ids = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = name = uuid.uuid4().hex
            self._sent[name] = message
            ids.append(name)
        return ids

    def pull_messages(self, message_ids):
        replies = []
        for name in message_ids:
            if (message := self._sent.pop(name, None)) is not None:
                reply = self._answer(message)
                if reply is not None:
                    self.received.append(reply)
                    replies.append(reply)
        return replies

    def send_and_receive(self, messages, *, timeout=None):
        return self.pull_messages(self.push_messages(messages))

    def _answer(self, message):
        node = message.metadata.dst_node_id
        context = Context(1, node, self._configs[node], RecordDict(), self._run_config)
        fault = self._faults.get(node)
        if fault is None:
            return self._app(message, context)
        return fault(message, lambda: self._app(message, context))


def raised(message, honest):
    """What Flower sends when an app raises: code 2 and the text of the exception."""
    return FlowerMessage(Error(2, "Traceback: /home/ann/secret.parquet"), reply_to=message)


def silent(message, honest):
    return None
