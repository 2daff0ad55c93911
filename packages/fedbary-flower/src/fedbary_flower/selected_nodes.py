"""A strategy of Flower's that asks chosen nodes only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from fedbary.errors import SettingsError
from fedbary.valuation.result import Valuation
from fedbary_flower.strategy_wrapper import Wrapper
from fedbary_flower.wanted_nodes import WantedNode, awaited, found, online, wanted_nodes

_LEAST = ("min_train_nodes", "min_evaluate_nodes", "min_available_nodes")


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
