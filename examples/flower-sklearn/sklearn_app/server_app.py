"""The server of the app."""

import json
from functools import partial
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAdam, FedAvg, FedProx

from fedbary.flower import SelectedNodes, value_nodes  # fedbary
from sklearn_app.task import get_arrays, get_model, load_server_data, set_arrays, test

app = ServerApp()

STRATEGIES = {
    "FedAvg": FedAvg,
    "FedProx": partial(FedProx, proximal_mu=0.1),  # this model has no proximal term, so that it is trained as by FedAvg
    "FedAdam": partial(FedAdam, eta=0.3, tau=0.01),
}


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train with the nodes, and test the model on the server's rows."""
    seed, rounds = context.run_config["seed"], context.run_config["num-server-rounds"]
    X_valid, X_test, y_valid, y_test = load_server_data(seed)

    def global_evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord:  # noqa: ARG001
        model = get_model()
        set_arrays(model, arrays.to_numpy_ndarrays())
        return MetricRecord({"accuracy": test(model, X_test, y_test)})

    strategy = STRATEGIES[context.run_config["strategy"]]()
    valued = value_nodes(grid, (X_valid, y_valid), seed=seed)  # fedbary
    strategy = SelectedNodes(strategy, valued)  # fedbary
    initial = ArrayRecord(get_arrays(get_model()))
    result = strategy.start(grid, initial, num_rounds=rounds, evaluate_fn=global_evaluate)

    output = Path(context.run_config["output"])
    np.savez(output / "final_model.npz", *result.arrays.to_numpy_ndarrays())
    accuracy = result.evaluate_metrics_serverapp[rounds]["accuracy"]
    (output / "accuracy.json").write_text(json.dumps({"accuracy": accuracy}))
    print(f"accuracy on the server's test rows: {accuracy:.3f}")
