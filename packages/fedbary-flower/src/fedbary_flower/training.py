"""Value, leave out, train: a linear classifier by FedAvg, with all nodes and with those that the verdict includes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from fedbary.data.atomic import read_npy, write_atomically
from fedbary.engines.coordinator import reference_of
from fedbary.errors import FedbaryError, SettingsError, as_note
from fedbary.guard.guarded_client import refusal
from fedbary.guard.node import reference_table
from fedbary.guard.node_config import NodeConfig
from fedbary.space.encode import features
from fedbary_flower.local_training import accuracy, model_shape, trained
from fedbary_flower.selected_nodes import SelectedNodes

if TYPE_CHECKING:
    from fedbary.engines.coordinator import RunConfig
    from fedbary.valuation.result import Valuation

NAME = "training.json"
_MODEL, _SCHEMA, _SIMULATION = "model", "schema", "simulation"
_REFUSED = 7  # Flower's code for an app that refuses


def trains(app: ClientApp) -> ClientApp:
    """Let an app's nodes train, if their owners allow it."""

    @app.train()
    def train(message: Message, context: Context) -> Message:
        """A step of the training; nothing but the model leaves, or a code why there is none."""
        try:
            asked = message.content.config_records["config"]
            found, rows = trained(
                read_npy(message.content.array_records["arrays"][_MODEL].data),
                str(asked[_SCHEMA]),
                json.loads(str(asked[_SIMULATION])),
                NodeConfig.of(context.node_config, context.node_id),
            )
        except Exception as error:  # Flower would send its text, with local paths, to the server
            return Message(Error(_REFUSED, str(refusal(error).note)), reply_to=message)
        metrics = MetricRecord({"num-examples": rows})
        return Message(RecordDict({"arrays": _record(found), "metrics": metrics}), reply_to=message)

    return app


def train_and_compare(grid: Grid, result: Valuation, run: RunConfig) -> None:
    """Train with all nodes and with the included ones; what each model is worth is in ``training.json``."""
    try:
        found: dict[str, Any] = {"rounds": run.train_rounds, **_compared(grid, result, run)}
        everybody, included = found["all"], found["included"]
        text = f"accuracy on the reference: {everybody:.3f} with all nodes, {included:.3f} with those to include"
    except FedbaryError as error:
        text = str(as_note(error))
        found = {"rounds": run.train_rounds, "code": error.code}
    content = json.dumps(found | {"text": text}, indent=2)
    write_atomically(run.output / NAME, lambda draft: draft.write_text(content + "\n", encoding="utf-8"))
    sys.stdout.write(f"{text}\n")


def _compared(grid: Grid, result: Valuation, run: RunConfig) -> dict[str, float]:
    reference, schema = reference_of(run), result.schema
    if reference is None and run.simulation:  # cards were valued without it
        reference = reference_table(run.simulation)
    if reference is None or schema is None or schema.label.kind != "classes":
        raise SettingsError("engines.training-needs-reference")
    everybody = [result.settings["nodes"][name] for name, outcome in result.outcomes.items() if outcome.ok]
    chosen = {"all": everybody, "included": result.nodes()}
    if not chosen["included"]:
        raise SettingsError("engines.nobody-chosen")
    asked = ConfigRecord({_SCHEMA: schema.to_json(), _SIMULATION: json.dumps(dict(run.simulation))})
    initial = _record(np.zeros(model_shape(schema, features(reference.take([0]), schema).shape[1])))
    found = {}
    for name, nodes in chosen.items():
        average = FedAvg(fraction_evaluate=0.0, min_train_nodes=1, min_evaluate_nodes=0, min_available_nodes=1)
        done = SelectedNodes(average, nodes).start(grid, initial, num_rounds=run.train_rounds, train_config=asked)
        if not done.train_metrics_clientapp:
            raise SettingsError("engines.nobody-trains")
        found[name] = accuracy(read_npy(done.arrays[_MODEL].data), reference, schema)
    return found


def _record(model: np.ndarray) -> ArrayRecord:
    return ArrayRecord({_MODEL: Array(np.ascontiguousarray(model))})
