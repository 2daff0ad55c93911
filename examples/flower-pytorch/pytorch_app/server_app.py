"""The server of the app."""

import json
from functools import partial
from pathlib import Path

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAdam, FedAvg, FedProx

from fedbary.flower import SelectedNodes, value_nodes  # fedbary
from pytorch_app.task import Net, load_server_data, test

app = ServerApp()

STRATEGIES = {
    "FedAvg": FedAvg,
    "FedProx": partial(FedProx, proximal_mu=0.1),
    "FedAdam": partial(FedAdam, eta=0.1, tau=0.001),
}


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train with the nodes, and test the model on the server's rows."""
    seed, rounds = context.run_config["seed"], context.run_config["num-server-rounds"]
    validloader, testloader = load_server_data(seed)

    def global_evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord:  # noqa: ARG001
        model = Net()
        model.load_state_dict(arrays.to_torch_state_dict())
        return MetricRecord({"accuracy": test(model, testloader)})

    torch.manual_seed(seed)
    initial = ArrayRecord(Net().state_dict())
    strategy = STRATEGIES[context.run_config["strategy"]]()
    valued = value_nodes(grid, validloader, seed=seed)  # fedbary
    strategy = SelectedNodes(strategy, valued)  # fedbary
    result = strategy.start(
        grid,
        initial,
        num_rounds=rounds,
        train_config=ConfigRecord({"lr": context.run_config["learning-rate"]}),
        evaluate_fn=global_evaluate,
    )

    output = Path(context.run_config["output"])
    torch.save(result.arrays.to_torch_state_dict(), output / "final_model.pt")
    accuracy = result.evaluate_metrics_serverapp[rounds]["accuracy"]
    (output / "accuracy.json").write_text(json.dumps({"accuracy": accuracy}))
    print(f"accuracy on the server's test rows: {accuracy:.3f}")
