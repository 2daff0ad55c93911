"""A valuation put to work in Flower training: only the chosen nodes train, and each counts as much as it is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from fedbary.engines.flower.wanted_nodes import WantedNode, awaited, found, online, wanted_nodes
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.valuation.result import Valuation

_LEAST = ("min_train_nodes", "min_evaluate_nodes", "min_available_nodes")
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


@dataclass(frozen=True)
class Choice:
    """Which nodes should train, and how much each should count.

    Attributes
    ----------
    weights : dict of WantedNode to float
        The chosen nodes, best first, with their weights, which add up to one.
    """

    weights: dict[WantedNode, float]

    @property
    def nodes(self) -> tuple[WantedNode, ...]:
        """The chosen nodes, best first."""
        return tuple(self.weights)

    def apply(self, strategy: Strategy) -> Weighted:
        """The strategy, asking the chosen nodes only and averaging them by these weights."""
        return Weighted(SelectedNodes(strategy, self.nodes), self.weights)


def from_result(
    result: Valuation,
    node_of_client: Mapping[str, int] | None = None,
    *,
    k: int | None = None,
    share: float | None = None,
    quality: float | None = None,
    by: Literal["quality", "share", "rows", "both"] = "quality",
) -> Choice:
    """Nodes and weights from a valuation.

    Parameters
    ----------
    result : Valuation
        What a run on Flower returned, or one elsewhere (by files, in one process) whose clients are called as nodes
        were registered.
    node_of_client : mapping of str to int, optional
        Flower's node id of each client's name, where neither is so.
    k, share, quality : at most one
        As in `Valuation.select`: without any, the clients that the verdict includes; one that it leaves out is never
        chosen.
    by : {"quality", "share", "rows", "both"}
        As in `Valuation.weights`; the weights of the chosen clients are scaled to add up to one.

    Examples
    --------
    In a ``ServerApp`` whose training should use the three best clients::

        from_result(result, k=3).apply(FedAvg()).start(grid, initial_arrays)
    """
    names = result.select(k=k, share=share, quality=quality)
    if not names:
        raise SettingsError("engines.nobody-chosen")
    if node_of_client is None:
        nodes = wanted_nodes(result, names)
    else:
        absent = [name for name in names if name not in node_of_client]
        if absent:
            raise SettingsError("engines.no-node-of-client", client=absent[0])
        nodes = [WantedNode(id=int(node_of_client[name])) for name in names]
    if len(set(nodes)) < len(nodes):
        raise SettingsError("engines.one-node-twice")
    worth = result.weights(by)
    total = sum(worth[name] for name in names)
    if not total > 0:
        raise SettingsError("engines.no-weight", by=by)
    return Choice({node: worth[name] / total for node, name in zip(nodes, names, strict=True)})


def weighted(
    strategy: Strategy, weights: Valuation | Mapping[int, float] | Mapping[str, float], *, otherwise: float = 0.0
) -> Weighted:
    """The strategy, averaging the replies of training by given weights instead of ``num-examples``.

    Parameters
    ----------
    strategy : Strategy
        `FedAvg` or another strategy that averages by its ``weighted_by_key``. Those that do not, such as `FedMedian`
        or `Krum`, are refused.
    weights : Valuation or mapping
        A result, for ``from_result(result).apply(strategy)``: the nodes that its verdict includes train, and count by
        their good rows. Or the weight of each node, by id or registered name, 0 or more; only their ratios matter.
    otherwise : float
        Weight of a node that a mapping does not name.

    Notes
    -----
    The value under ``weighted_by_key`` in the replies is replaced while the strategy aggregates, and put back. So the
    clients need not change, metrics of training are averaged by the same weights, and those of evaluation still by
    the clients' own numbers.
    """
    if isinstance(weights, Valuation):
        _refuse_without_weights(strategy)
        return from_result(weights).apply(strategy)
    return Weighted(strategy, {WantedNode.of(node): weight for node, weight in weights.items()}, otherwise)


class Wrapper(Strategy):
    """A strategy around another one, which it passes everything to; what it has not, the inner one answers.

    Parameters
    ----------
    strategy : Strategy
        The strategy that does the work.
    """

    def __init__(self, strategy: Strategy) -> None:
        if not isinstance(strategy, Strategy):
            raise wrong_parameter(
                "strategy", type(self).__name__, "a Strategy of flwr.serverapp.strategy", type(strategy)
            )
        self.strategy = strategy

    def __getattr__(self, name: str) -> Any:
        if name == "strategy":  # not yet set: an object that is being copied
            raise AttributeError(name)
        return getattr(self.strategy, name)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Pass on."""
        return self.strategy.configure_train(server_round, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Pass on."""
        return self.strategy.aggregate_train(server_round, replies)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Pass on."""
        return self.strategy.configure_evaluate(server_round, arrays, config, grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Pass on."""
        return self.strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        """Pass on."""
        self.strategy.summary()

    def start(self, *args: Any, **kwargs: Any) -> Result:
        """Run the rounds as the innermost strategy does, with every step going through this wrapper."""
        # Custom strategies often bring a `start` of their own; called on the inner object it would pass us by.
        run: Callable[..., Result] = type(_innermost(self.strategy)).start
        return run(self, *args, **kwargs)


class SelectedNodes(Wrapper):
    """A strategy that trains and evaluates on these nodes only.

    A chosen node that goes offline has no part in a round until it is back, and nobody takes its place. If fewer are
    online than the strategy's ``min_available_nodes``, it waits, as it always does.

    Parameters
    ----------
    strategy : Strategy
        Its sampling (``fraction_train`` and so on) then draws among the chosen nodes.
    nodes : Valuation or iterable of int or str
        A result, for the nodes of the clients that its verdict includes; or Flower's node ids or registered names.
    deadline : float
        Seconds to wait, before the first round, until all of them are online.

    Raises
    ------
    SettingsError
        If the strategy would wait for more nodes than are chosen, which would never end; and before the first round,
        if names are no node's.
    """

    def __init__(
        self, strategy: Strategy, nodes: Valuation | Iterable[int | str | WantedNode], *, deadline: float = 60.0
    ) -> None:
        super().__init__(strategy)
        self.nodes = tuple(wanted_nodes(nodes))
        if not self.nodes:
            raise SettingsError("engines.nobody-chosen" if isinstance(nodes, Valuation) else "engines.no-node-chosen")
        for name in _LEAST:
            least = getattr(strategy, name, 0)
            if isinstance(least, int) and least > len(self.nodes):
                raise SettingsError("engines.strategy-waits-for-ever", name=name, least=least, chosen=len(self.nodes))
        self.deadline: float | None = deadline

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask chosen nodes only."""
        part = self._part(grid)
        return part.messages(self.strategy.configure_train(server_round, arrays, config, part))

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask chosen nodes only."""
        part = self._part(grid)
        return part.messages(self.strategy.configure_evaluate(server_round, arrays, config, part))

    def _part(self, grid: Grid) -> _Part:
        if self.deadline is not None:
            awaited(self.nodes, grid, self.deadline)
            self.deadline = None
        return _Part(grid, self.nodes)


class Weighted(Wrapper):
    """What `weighted` returns."""

    def __init__(self, strategy: Strategy, weights: Mapping[WantedNode, float], otherwise: float = 0.0) -> None:
        super().__init__(strategy)
        _refuse_without_weights(strategy)
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


def _innermost(strategy: Strategy) -> Strategy:
    while isinstance(strategy, Wrapper):
        strategy = strategy.strategy
    return strategy


def _refuse_without_weights(strategy: Strategy) -> None:
    """Refuse a strategy of whose model the weights are no part, also one that is derived from such a one."""
    inner = _innermost(strategy)
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


class _Part(Grid):
    """A grid on which only some nodes can be seen."""

    def __init__(self, grid: Grid, nodes: Iterable[WantedNode]) -> None:
        self.grid, self.nodes = grid, frozenset(found(nodes, online(grid)).values())

    def messages(self, messages: Iterable[Message]) -> list[Message]:
        """Those to these nodes, also where a strategy did not ask the grid whom to write to."""
        return [message for message in messages if message.metadata.dst_node_id in self.nodes]

    def set_run(self, run: Any) -> None:
        self.grid.set_run(run)

    @property
    def run(self) -> Any:
        return self.grid.run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return self.grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def get_node_ids(self) -> Iterable[int]:
        return [node for node in self.grid.get_node_ids() if node in self.nodes]

    def get_nodes(self) -> Iterable[Any]:
        return [node for node in self.grid.get_nodes() if node.node_id in self.nodes]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return self.grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return self.grid.pull_messages(message_ids)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return self.grid.send_and_receive(messages, timeout=timeout)
