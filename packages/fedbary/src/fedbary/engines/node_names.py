"""What nodes are called: by the name of their registration. What a node calls itself is a claim."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any

from fedbary.notes import Note
from fedbary.wording import on_one_line

_LONGEST = 60


class NodeNames:
    """The nodes' labels, all different, and what they claim to be called.

    Parameters
    ----------
    simulated : bool
        Whether one party is all nodes: nobody registered them by name, and what they call themselves is as good.
    """

    def __init__(self, *, simulated: bool) -> None:
        self._simulated = simulated
        self._registered: dict[str, str] = {}
        self._claimed: dict[str, str] = {}
        self._labels: dict[str, str] = {}

    def register(self, names: Mapping[str, str]) -> None:
        """Take the names under which nodes, by their ids, were registered; empty where nobody gave one."""
        self._registered |= {node: registered_name(name) for node, name in names.items()}
        self._labels = {}

    def claim(self, node: str, name: str) -> None:
        """Note what a node calls itself."""
        own = on_one_line(name, _LONGEST)
        if own and own != self._claimed.get(node):
            self._claimed[node] = own
            self._labels = {} if self._simulated else self._labels

    def label(self, node: str) -> str:
        """What people call a node."""
        if not self._labels:
            self._labels = distinct({node: self._wish(node) for node in self._registered})
        return self._labels[node]

    def is_final(self, node: str) -> bool:
        """Whether the label will stay: a simulated node says its name with its first answer."""
        return not self._simulated or node in self._claimed

    def claim_notes(self, node: str) -> tuple[Note, ...]:
        """That a node calls itself something else than people do, where it does."""
        claimed = self._claimed.get(node)
        if claimed in (None, self.label(node), self._registered[node]):
            return ()
        return (Note("engines.claims-name", {"name": claimed}),)

    def to_json(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"registered": list(self._registered.items()), "claimed": list(self._claimed.items())}

    def restore(self, content: Mapping[str, Any]) -> None:
        """What `to_json` gave."""
        self._registered, self._claimed = dict(content["registered"]), dict(content["claimed"])
        self._labels = {}

    def _wish(self, node: str) -> str:
        claimed = self._claimed.get(node, "") if self._simulated else ""
        return self._registered[node] or claimed or _numbered(node)


def registered_name(name: str) -> str:
    """A name of registration as results have it."""
    return on_one_line(name, _LONGEST)


def distinct(wishes: Mapping[str, str]) -> dict[str, str]:
    """The wished-for names, with the ids of those nodes that would look the same: none of them is the first."""
    labels = dict(wishes)
    while True:
        seen = Counter(_looks(label) for label in labels.values())
        alike = [node for node, label in labels.items() if seen[_looks(label)] > 1]
        if not alike:
            return labels
        labels |= {node: f"{labels[node]} ({_numbered(node)})" for node in alike}


def _looks(label: str) -> str:
    return unicodedata.normalize("NFKC", label).casefold()


def _numbered(node: str) -> str:
    return f"node-{node}"
