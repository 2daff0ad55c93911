"""Nodes that somebody means, by the name of their registration or by id, found among those of a grid."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flwr.serverapp import Grid

from fedbary.engines.nodes import registered_name
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.notes import Note
from fedbary.valuation.result import Valuation

if TYPE_CHECKING:
    from typing import Self

_POLL = 1.0


@dataclass(frozen=True)
class WantedNode:
    """A node by the name under which it was registered, by Flower's id, or by both.

    A node that was registered anew has another id and the same name, so the name counts where a grid knows names.

    Examples
    --------
    >>> WantedNode.of(17), str(WantedNode.of("north"))
    (WantedNode(name=None, id=17), "'north'")
    """

    name: str | None = None
    id: int | None = None

    @classmethod
    def of(cls, node: int | str | WantedNode) -> Self | WantedNode:
        """What stands for a node in a list of them."""
        if isinstance(node, WantedNode):
            return node
        return cls(name=node) if isinstance(node, str) else cls(id=int(node))

    def __str__(self) -> str:
        return f"node {self.id}" if self.name is None else repr(self.name)


def wanted_nodes(nodes: Valuation | Iterable[int | str | WantedNode], names: Iterable[str] = ()) -> list[WantedNode]:
    """The nodes of a list, or of those clients of a result that are named; without names, that its verdict includes."""
    if isinstance(nodes, Valuation):
        ids = nodes.settings.get("nodes", {})
        return [WantedNode(name, _flower_id(ids.get(name))) for name in names or nodes.select()]
    if isinstance(nodes, str):
        raise wrong_parameter("nodes", "SelectedNodes", "a Valuation, or a list of ids or names", nodes)
    return list(dict.fromkeys(WantedNode.of(node) for node in nodes))


def online(grid: Grid) -> dict[int, str]:
    """The ids of a grid's nodes with their registered names, empty where there is none."""
    if not hasattr(grid, "get_nodes"):  # older releases know ids alone
        return {int(node): "" for node in grid.get_node_ids()}
    return {int(node.node_id): registered_name(node.name) for node in grid.get_nodes()}


def found(wanted: Iterable[WantedNode], names: Mapping[int, str]) -> dict[WantedNode, int]:
    """The ids of the nodes that can be told by these names, or whose ids are known."""
    ids: dict[WantedNode, int] = {}
    for node in wanted:
        called = [at for at, name in names.items() if node.name and name == node.name]
        if node.id in called or not called:
            chosen = node.id
        elif len(called) == 1:
            chosen = called[0]
        else:
            raise SettingsError("engines.several-nodes-of-name", name=str(node.name), nodes=tuple(map(str, called)))
        if chosen is not None:
            ids[node] = chosen
    if len(set(ids.values())) < len(ids):
        raise SettingsError("engines.one-node-twice")
    return ids


def awaited(wanted: Iterable[WantedNode], grid: Grid, deadline: float) -> None:
    """Wait until all of these nodes are online; after the deadline refuse names that nobody has.

    A server app starts while nodes still join. A node whose id is known may come back later, so that it is only
    warned of; where none of them is there, a strategy would wait for ever.
    """
    nodes, end = list(wanted), time.monotonic() + deadline
    while True:
        names = online(grid)
        ids = found(nodes, names)
        if all(ids.get(node) in names for node in nodes):
            return
        if time.monotonic() >= end:
            break
        time.sleep(min(_POLL, max(end - time.monotonic(), 0.0)))
    unknown = tuple(str(node.name) for node in nodes if node not in ids)
    if unknown:
        raise SettingsError("engines.no-node-of-name", names=unknown, known=tuple(filter(None, names.values())))
    absent = tuple(str(node.name or node.id) for node in nodes if ids[node] not in names)
    if len(absent) == len(nodes):
        raise SettingsError("engines.no-chosen-node-online", names=absent)
    warnings.warn(str(Note("engines.chosen-nodes-offline", {"names": absent})), stacklevel=3)


def _flower_id(node: object) -> int | None:
    """An id of Flower's; a site of another network has a name."""
    return node if isinstance(node, int) else None
