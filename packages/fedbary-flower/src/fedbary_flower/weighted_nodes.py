"""A strategy of Flower's in which every node counts by a given weight."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from fedbary.errors import SettingsError, wrong_parameter
from fedbary_flower.strategy_wrapper import Wrapper, innermost
from fedbary_flower.wanted_nodes import WantedNode, found, online

# Strategies of Flower's that make a model in which the weights of nodes have no part, or that fail where one is 0.
_WITHOUT_WEIGHTS = {
    "Bulyan": "averages the values nearest to the median",
    "FedMedian": "takes the median",
    "FedTrimmedAvg": "averages what is left between the extremes",
    "FedXgbBagging": "takes the trees of all nodes",
    "FedXgbCyclic": "goes from node to node",
    "Krum": "takes the model of one node",
    "MultiKrum": "chooses nodes by itself, perhaps those of weight 0 alone",
    "QFedAvg": "weighs nodes by their loss",
    "DifferentialPrivacyClientSideAdaptiveClipping": "adds noise that is meant for equal weights",
    "DifferentialPrivacyClientSideFixedClipping": "adds noise that is meant for equal weights",
    "DifferentialPrivacyServerSideAdaptiveClipping": "adds noise that is meant for equal weights",
    "DifferentialPrivacyServerSideFixedClipping": "adds noise that is meant for equal weights",
}


class Weighted(Wrapper):
    """What `weighted` returns."""

    def __init__(self, strategy: Strategy, weights: Mapping[WantedNode, float], otherwise: float = 0.0) -> None:
        super().__init__(strategy)
        refuse_without_weights(strategy)
        self.key = str(strategy.weighted_by_key)  # type: ignore[attr-defined]
        self.weights = {node: float(weight) for node, weight in weights.items()}
        self.otherwise = float(otherwise)
        self._of_node: dict[int, float] = {}
        for weight in (*self.weights.values(), self.otherwise):
            if not (math.isfinite(weight) and weight >= 0):
                raise wrong_parameter("weights", "weighted", "finite numbers of at least 0", weight)
        if not any((*self.weights.values(), self.otherwise)):
            raise SettingsError("engines.all-weights-zero")

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Pass on, and find the nodes that have weights."""
        messages = super().configure_train(server_round, arrays, config, grid)
        ids = found(self.weights, online(grid))
        unknown = tuple(str(node.name) for node in self.weights if node not in ids)
        if unknown:
            raise SettingsError(
                "engines.no-node-of-name", names=unknown, known=tuple(filter(None, online(grid).values()))
            )
        self._of_node |= {ids[node]: weight for node, weight in self.weights.items()}
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Aggregate with the weights in place of the clients' own numbers."""
        messages = list(replies)
        original = [(message, message.content) for message in messages if message.has_content()]
        weights = [self._of_node.get(message.metadata.src_node_id, self.otherwise) for message, _ in original]
        if original and not any(weights):
            raise SettingsError("engines.only-weightless-nodes", round=server_round)
        try:
            for (message, content), weight in zip(original, weights, strict=True):
                message.content = _with_weight(content, self.key, weight)
            return self.strategy.aggregate_train(server_round, messages)
        finally:
            for message, content in original:
                message.content = content


def refuse_without_weights(strategy: Strategy) -> None:
    """Refuse a strategy of whose model the weights are no part, also one that is derived from such a one."""
    inner = innermost(strategy)
    if not isinstance(inner, Strategy):
        raise wrong_parameter("strategy", "weighted", "a Strategy of flwr.serverapp.strategy", type(inner))
    own = type(inner).__name__
    for kind in type(inner).__mro__:
        if kind.__name__ in _WITHOUT_WEIGHTS and kind.__module__.startswith("flwr."):
            raise SettingsError("engines.strategy-ignores-weights", strategy=own, why=_WITHOUT_WEIGHTS[kind.__name__])
    if not isinstance(getattr(strategy, "weighted_by_key", None), str):
        raise SettingsError("engines.strategy-without-weights", strategy=own)


def _with_weight(content: RecordDict, key: str, weight: float) -> RecordDict:
    """The same records, but for the weight; a reply without it stays as it is, for the strategy to refuse."""
    changed = RecordDict(dict(content.items()))
    for name, metrics in content.metric_records.items():
        if key in metrics:
            changed[name] = MetricRecord({**metrics, key: weight})
    return changed
