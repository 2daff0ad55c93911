"""An owner's part in a training, where the owner allows one: a linear classifier a few steps nearer to its rows.

What a model learned of few rows can tell a server those rows, and no policy of valuation bounds that. So a node trains
only if its owner's config says ``train``, and never where the owner's policy lets nothing leave without ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import DataError, FedbaryError, PrivacyError, ProtocolError
from fedbary.guard.guarded_client import as_error, failure, refusal
from fedbary.guard.ledger import FAILURE, REFUSAL, REPLY, Entry
from fedbary.guard.node import own_table, owners_policy, simulated_table
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_files import log_error, owner_log
from fedbary.protocols.messages import Failure, Message
from fedbary.space.encode import features
from fedbary.space.labels import class_names, class_positions
from fedbary.space.schema import Schema

if TYPE_CHECKING:
    from fedbary.data.table import Table

Floats = NDArray[np.float64]
TRAIN = "train"
_LOCAL_STEPS, _PENALTY = 20, 1e-3


def trained(model: Floats, schema_text: str, simulation: Mapping[str, Any], config: NodeConfig) -> tuple[Floats, int]:
    """The model after a few steps on an owner's rows, and of how many rows; a line of the ledger before it leaves.

    Raises
    ------
    FedbaryError
        That may be shown to the server: it tells nothing of the rows.
    """
    message = Message(TRAIN, 0, {"schema": schema_text}, {"model": model})
    with config.locked(), owner_log(config.home, config.log_level):
        try:
            _admit(config)
            schema = Schema.from_json(schema_text)
            _check_shape(model, schema)
        except Exception as error:
            log_error(error, "refused")
            _record(config, message, REFUSAL, note=str(refusal(error).note))
            raise as_error(refusal(error)) from None
        try:
            found, rows = _fitted(model, _table(schema, simulation, config), schema)
        except Exception as error:
            log_error(error, "failed")
            why = failure(Failure.of(error))
            _record(config, message, FAILURE, note=str(why.note), bytes=len(str(why.note).encode()))
            raise as_error(why) from None
        _record(config, message, REPLY, bytes=found.nbytes, arrays={"model": found.shape}, scalars=("rows",))
        return found, rows


def model_shape(schema: Schema, width: int) -> tuple[int, int]:
    """One row of weights for each class, and a constant."""
    return len(schema.label.classes), width + 1


def accuracy(model: Floats, table: Table, schema: Schema) -> float:
    """The share of a table's rows whose class a model finds."""
    X, y = _rows(table, schema)
    return float(np.mean(np.argmax(X @ model.T, axis=1) == y))


def _admit(config: NodeConfig) -> None:
    if config.partition is not None:
        return
    if not config.train:
        raise PrivacyError("guard.training-not-allowed")
    if owners_policy(config).needs_epsilon:
        raise PrivacyError("guard.training-without-epsilon")


def _check_shape(model: Floats, schema: Schema) -> None:
    if schema.label.kind != "classes":
        raise ProtocolError("guard.training-needs-classes")
    if model.ndim != 2 or len(model) != len(schema.label.classes) or not np.isfinite(model).all():
        raise ProtocolError("guard.training-model")


def _table(schema: Schema, simulation: Mapping[str, Any], config: NodeConfig) -> Table:
    if config.partition is not None:
        return simulated_table(config, simulation, schema.whole_reading, private=False)
    return own_table(config, schema.whole_reading, private=False)


def _fitted(model: Floats, table: Table, schema: Schema) -> tuple[Floats, int]:
    """Gradient descent on the penalised logistic loss, with the step that its curvature allows."""
    X, y = _rows(table, schema)
    known = y >= 0
    X, y = X[known], y[known]
    if not len(y) or X.shape[1] != model.shape[1]:
        raise DataError("data.no-rows")
    step = 1.0 / (0.5 * np.linalg.norm(X, 2) ** 2 / len(y) + _PENALTY)
    wanted = np.eye(len(model))[y]
    weights = model.astype(float)
    for _ in range(_LOCAL_STEPS):
        scores = X @ weights.T
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        weights = weights - step * ((chances - wanted).T @ X / len(y) + _PENALTY * weights)
    return weights, len(y)


def _rows(table: Table, schema: Schema) -> tuple[Floats, NDArray[np.int64]]:
    X = features(table, schema)
    return np.hstack([X, np.ones((len(X), 1))]), class_positions(class_names(table.labels), schema.label.classes)


def _record(config: NodeConfig, message: Message, what: str, **facts: Any) -> None:
    if config.partition is not None:
        return
    entry = replace(Entry(what, protocol="training", kind=TRAIN, message=message.digest), **facts)
    try:
        config.ledger.record(entry)
    except FedbaryError as error:
        log_error(error, "not recorded")
        if what != REFUSAL:  # what left of the rows must stand in the ledger
            raise as_error(refusal(error)) from None
