"""A node of the app."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from fedbary.flower import answers  # fedbary
from pytorch_app.task import Net, load_data
from pytorch_app.task import test as test_fn
from pytorch_app.task import train as train_fn

app = ClientApp()
answers(app, lambda context: _data(context)[0])  # fedbary: the training rows


@app.train()
def train(msg: Message, context: Context) -> Message:
    """Train the model on the node's rows."""
    model = Net()
    model.load_state_dict(msg.content["arrays"].to_torch_state_dict())
    trainloader, _ = _data(context)
    config = msg.content["config"]
    train_fn(model, trainloader, context.run_config["local-epochs"], config["lr"], config.get("proximal-mu", 0.0))
    metrics = MetricRecord({"num-examples": len(trainloader.dataset)})
    return Message(RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics}), reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context) -> Message:
    """Test the model on the node's rows."""
    model = Net()
    model.load_state_dict(msg.content["arrays"].to_torch_state_dict())
    _, testloader = _data(context)
    metrics = MetricRecord({"test-accuracy": test_fn(model, testloader), "num-examples": len(testloader.dataset)})
    return Message(RecordDict({"metrics": metrics}), reply_to=msg)


def _data(context):
    part, parts = context.node_config["partition-id"], context.node_config["num-partitions"]
    return load_data(part, parts, context.run_config["batch-size"], context.run_config["seed"])
