"""A valuation put to work in Flower training: only the chosen nodes train, and each counts as much as it is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from fedbary.errors import SettingsError, wrong_parameter

if TYPE_CHECKING:
    from flwr.proto.node_pb2 import NodeInfo

    from fedbary.valuation.result import Valuation

_LEAST = ("min_train_nodes", "min_evaluate_nodes", "min_available_nodes")


@dataclass(frozen=True)
class Choice:
    """Which nodes should train, and how much each should count.

    Attributes
    ----------
    nodes : tuple of int
        Flower's ids of the chosen nodes, best first.
    weights : dict of int to float
        Their weights, which add up to one.
    """

    nodes: tuple[int, ...]
    weights: dict[int, float]

    def apply(self, strategy: Strategy) -> Weighted:
        """The strategy, asking the chosen nodes only and averaging them by these weights."""
        return weighted(SelectedNodes(strategy, self.nodes), self.weights)


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
        What `fedbary.value` or a run on Flower returned.
    node_of_client : mapping of str to int, optional
        Flower's node id of each client's name. Default: the nodes of the run on Flower that ``result`` comes from.
    k, share, quality : at most one
        As in `Valuation.select`: without any, the clients that the verdict includes; one that it leaves out is never
        chosen.
    by : {"quality", "share", "rows", "both"}
        As in `Valuation.weights`; the weights of the chosen clients are scaled to add up to one.

    Examples
    --------
    In a ``ServerApp`` whose training should use the clients that the verdict includes::

        choice = from_result(result)
        choice.apply(FedAvg()).start(grid, initial_arrays)
    """
    names = result.select(k=k, share=share, quality=quality)
    if not names:
        raise SettingsError("engines.nobody-chosen")
    node_of = result.settings.get("nodes", {}) if node_of_client is None else node_of_client
    absent = [name for name in names if name not in node_of]
    if absent:
        raise SettingsError("engines.no-node-of-client", client=absent[0])
    nodes = tuple(int(node_of[name]) for name in names)
    if len(set(nodes)) < len(nodes):
        raise SettingsError("engines.one-node-twice")
    worth = result.weights(by)
    total = sum(worth[name] for name in names)
    if not total > 0:
        raise SettingsError("engines.no-weight", by=by)
    return Choice(nodes, {node: worth[name] / total for node, name in zip(nodes, names, strict=True)})


def weighted(strategy: Strategy, weights: Mapping[int, float], *, otherwise: float = 0.0) -> Weighted:
    """The strategy, averaging the replies of training by given weights instead of ``num-examples``.

    Parameters
    ----------
    strategy : Strategy
        `FedAvg` or another strategy that averages by its ``weighted_by_key``. Those that average in another way, such
        as `FedMedian` or `Krum`, never look at weights.
    weights : mapping of int to float
        Weight of each node, 0 or more; only their ratios matter.
    otherwise : float
        Weight of a node that is not named.

    Notes
    -----
    The value under ``weighted_by_key`` in the replies is replaced while the strategy aggregates, and put back. So the
    clients need not change, metrics of training are averaged by the same weights, and those of evaluation still by
    the clients' own numbers.
    """
    return Weighted(strategy, weights, otherwise)


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
        innermost = self.strategy
        while isinstance(innermost, Wrapper):
            innermost = innermost.strategy
        # Custom strategies often bring a `start` of their own; called on the inner object it would pass us by.
        run: Callable[..., Result] = type(innermost).start
        return run(self, *args, **kwargs)


class SelectedNodes(Wrapper):
    """A strategy that trains and evaluates on these nodes only.

    Parameters
    ----------
    strategy : Strategy
        Its sampling (``fraction_train`` and so on) then draws among the chosen nodes.
    nodes : iterable of int
        Flower's node ids, as `from_result` finds them.

    Raises
    ------
    SettingsError
        If the strategy would wait for more nodes than are chosen, which would never end.
    """

    def __init__(self, strategy: Strategy, nodes: Iterable[int]) -> None:
        super().__init__(strategy)
        self.nodes = tuple(dict.fromkeys(int(node) for node in nodes))
        if not self.nodes:
            raise SettingsError("engines.no-node-chosen")
        for name in _LEAST:
            least = getattr(strategy, name, 0)
            if isinstance(least, int) and least > len(self.nodes):
                raise SettingsError("engines.strategy-waits-for-ever", name=name, least=least, chosen=len(self.nodes))

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask chosen nodes only."""
        return self._chosen(self.strategy.configure_train(server_round, arrays, config, _Part(grid, self.nodes)))

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask chosen nodes only."""
        return self._chosen(self.strategy.configure_evaluate(server_round, arrays, config, _Part(grid, self.nodes)))

    def _chosen(self, messages: Iterable[Message]) -> list[Message]:
        """Also where a strategy did not ask the grid whom to write to."""
        return [message for message in messages if message.metadata.dst_node_id in self.nodes]


class Weighted(Wrapper):
    """What `weighted` returns."""

    def __init__(self, strategy: Strategy, weights: Mapping[int, float], otherwise: float = 0.0) -> None:
        super().__init__(strategy)
        key = getattr(strategy, "weighted_by_key", None)
        if not isinstance(key, str):
            raise SettingsError("engines.strategy-without-weights", strategy=type(strategy).__name__)
        self.key = key
        self.weights = {int(node): float(weight) for node, weight in weights.items()}
        self.otherwise = float(otherwise)
        for weight in (*self.weights.values(), self.otherwise):
            if not (math.isfinite(weight) and weight >= 0):
                raise wrong_parameter("weights", "weighted", "finite numbers of at least 0", weight)
        if not any((*self.weights.values(), self.otherwise)):
            raise SettingsError("engines.all-weights-zero")

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Aggregate with the weights in place of the clients' own numbers."""
        messages = list(replies)
        original = [(message, message.content) for message in messages if message.has_content()]
        weights = [self.weights.get(message.metadata.src_node_id, self.otherwise) for message, _ in original]
        if original and not any(weights):
            raise SettingsError("engines.only-weightless-nodes", round=server_round)
        try:
            for (message, content), weight in zip(original, weights, strict=True):
                message.content = _with_weight(content, self.key, weight)
            return self.strategy.aggregate_train(server_round, messages)
        finally:
            for message, content in original:
                message.content = content


def _with_weight(content: RecordDict, key: str, weight: float) -> RecordDict:
    """The same records, but for the weight; a reply without it stays as it is, for the strategy to refuse."""
    changed = RecordDict(dict(content.items()))
    for name, metrics in content.metric_records.items():
        if key in metrics:
            changed[name] = MetricRecord({**metrics, key: weight})
    return changed


class _Part(Grid):
    """A grid on which only some nodes can be seen."""

    def __init__(self, grid: Grid, nodes: Iterable[int]) -> None:
        self.grid, self.nodes = grid, frozenset(nodes)

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

    def get_nodes(self) -> Iterable[NodeInfo]:
        return [node for node in self.grid.get_nodes() if node.node_id in self.nodes]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return self.grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return self.grid.pull_messages(message_ids)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return self.grid.send_and_receive(messages, timeout=timeout)
