"""A node of the app."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from fedbary.flower import answers  # fedbary
from sklearn_app.task import get_arrays, get_model, load_data, set_arrays
from sklearn_app.task import test as test_fn
from sklearn_app.task import train as train_fn

app = ClientApp()
answers(app, lambda context: _data(context)[::2])  # fedbary: the training rows, X and y


@app.train()
def train(msg: Message, context: Context) -> Message:
    """Train the model on the node's rows."""
    model = get_model()
    set_arrays(model, msg.content["arrays"].to_numpy_ndarrays())
    X_train, _, y_train, _ = _data(context)
    train_fn(model, X_train, y_train, context.run_config["local-epochs"])
    metrics = MetricRecord({"num-examples": len(y_train)})
    return Message(RecordDict({"arrays": ArrayRecord(get_arrays(model)), "metrics": metrics}), reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context) -> Message:
    """Test the model on the node's rows."""
    model = get_model()
    set_arrays(model, msg.content["arrays"].to_numpy_ndarrays())
    _, X_test, _, y_test = _data(context)
    metrics = MetricRecord({"test-accuracy": test_fn(model, X_test, y_test), "num-examples": len(y_test)})
    return Message(RecordDict({"metrics": metrics}), reply_to=msg)


def _data(context):
    part, parts = context.node_config["partition-id"], context.node_config["num-partitions"]
    return load_data(part, parts, context.run_config["seed"])
