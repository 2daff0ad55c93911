"""A valuation put to work in Flower training: only the chosen nodes train, and each counts as much as it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from flwr.serverapp.strategy import Strategy

from fedbary.errors import SettingsError
from fedbary.valuation.result import Valuation
from fedbary_flower.selected_nodes import SelectedNodes
from fedbary_flower.wanted_nodes import WantedNode, wanted_nodes
from fedbary_flower.weighted_nodes import Weighted, refuse_without_weights


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
        refuse_without_weights(strategy)
        return from_result(weights).apply(strategy)
    return Weighted(strategy, {WantedNode.of(node): weight for node, weight in weights.items()}, otherwise)
