"""A Flower training in this process: real client app, real strategies, real messages, no network."""

import os
import tempfile

os.environ.update(
    FLWR_TELEMETRY_ENABLED="0",
    FLWR_DISABLE_UPDATE_CHECK="1",
    RAY_USAGE_STATS_ENABLED="0",
    FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION="1",
)
os.environ.setdefault("FLWR_HOME", tempfile.mkdtemp(prefix="flwr-"))

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from inprocess import InProcessGrid

# Like Flower's own, beyond what a signed 64-bit number holds.
NODES = {"ann": 17, "bob": 2**63 + 5, "cyd": 999, "noise": 4}
ROWS = {"ann": 120, "bob": 80, "cyd": 100, "noise": 100}
_TRUTH = np.array([2.0, -1.0, 1.0])


def rows_of(name, count, seed=0):
    rng = np.random.default_rng([seed, *name.encode()])
    x = rng.normal(size=(count, 3))
    y = rng.integers(0, 2, count) if name == "noise" else (x @ _TRUTH + 0.3 * rng.normal(size=count) > 0).astype(int)
    return x, y


def initial_model():
    return ArrayRecord(
        {
            "weight": Array(np.zeros((1, 3), dtype=np.float32)),
            "steps": Array(np.array(0, dtype=np.int64)),  # as batch normalisation's num_batches_tracked
            "bias": Array(np.zeros(1, dtype=np.float32)),
        }
    )


def accuracy(arrays):
    x, y = rows_of("test", 400, seed=1)
    scores = x @ arrays["weight"].numpy()[0] + arrays["bias"].numpy()[0]
    return float(((scores > 0) == y).mean())


def client_app(says_name=False, fails=()):
    """Logistic regression; ``fails`` holds pairs of node and round in which the client raises."""
    names = {node: name for name, node in NODES.items()}
    app = ClientApp()

    @app.train()
    def train(message, context):
        name = names[context.node_id]
        turn = int(message.content["config"]["server-round"])
        if (name, turn) in fails:
            raise RuntimeError("no")
        x, y = rows_of(name, ROWS[name])
        arrays = message.content["arrays"]
        w, b = arrays["weight"].numpy()[0].astype(float), float(arrays["bias"].numpy()[0])
        for _ in range(20):
            error = 1 / (1 + np.exp(-(x @ w + b))) - y
            w, b = w - 0.3 * x.T @ error / len(y), b - 0.3 * error.mean()
        model = ArrayRecord(
            {
                "bias": Array(np.array([b], dtype=np.float32)),  # another order than the server's
                "weight": Array(w[None].astype(np.float32)),
                "steps": Array(np.array(20 * turn, dtype=np.int64)),
            }
        )
        content = RecordDict({"arrays": model, "metrics": MetricRecord({"num-examples": len(y), "turn": turn})})
        if says_name:
            content["about"] = ConfigRecord({"client-name": name})
        return Message(content, reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        name = names[context.node_id]
        metrics = MetricRecord({"num-examples": ROWS[name], "is-ann": float(name == "ann")})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    return app


class InProcess(InProcessGrid):
    """The nodes of this training; keeps who was asked what, and turns a raising client into Flower's error."""

    def __init__(self, app, registered=None):
        super().__init__(app, {node: {} for node in NODES.values()}, registered=registered)
        self.asked = []

    def _answer(self, message):
        self.asked.append((message.metadata.message_type, message.metadata.dst_node_id))
        try:
            return super()._answer(message)
        except RuntimeError as error:
            return Message(Error(2, str(error)), reply_to=message)
