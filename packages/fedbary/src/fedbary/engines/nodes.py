"""Who takes part in a networked run, and what nodes are called: what one calls itself is a claim."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fedbary.checks import number, whole
from fedbary.errors import ProtocolError
from fedbary.notes import Note
from fedbary.wording import on_one_line


@dataclass(frozen=True)
class Attending:
    """Who is there at some moment: ids with the names of their registration.

    Parameters
    ----------
    nodes : mapping
        Those that take part.
    left_out : mapping
        Those that are online and are not asked.
    absent : tuple of str or int
        Those that were expected and are not there: their names, or how many where nobody gave names.
    """

    nodes: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] | int = ()

    @property
    def absent_count(self) -> int:
        """How many are absent, by name or not."""
        return self.absent if isinstance(self.absent, int) else len(self.absent)


@dataclass(frozen=True)
class Attendance:
    """For whom to wait, and how long.

    Parameters
    ----------
    wanted : int, optional
        How many nodes take part: the first ones that come, and others are left out. Left out, everybody does.
    least : int, optional
        How many will do when the deadline has passed: all that are wanted or, where everybody takes part, one.
    deadline : float
        Seconds to wait for them.
    expected : tuple of str
        Names of registration; nobody else is asked. Without names everybody who is online is.
    settle : float
        Seconds without a new node, after which everybody is there; not needed where names or numbers say it.
    """

    wanted: int | None = None
    least: int | None = None
    deadline: float = 120.0
    expected: tuple[str, ...] = ()
    settle: float = 3.0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in ("wanted", "least"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, owner, least=1)
        for name in ("deadline", "settle"):
            number(getattr(self, name), name, owner, zero=True)

    def attending(self, online: Mapping[str, str]) -> Attending:
        """Who takes part, of those that are online."""
        asked = [node for node, name in online.items() if not self.expected or self._expects(node, name)]
        # The order of ids is the same for whoever looks, as a network's is not.
        first = sorted(asked, key=lambda node: (len(node), node))[: self.wanted]
        absent: tuple[str, ...] | int = tuple(
            name for name in self.expected if not any(name in _calls(*node) for node in online.items())
        )
        if self.wanted is not None and not self.expected:
            absent = max(self.wanted - len(first), 0) or ()
        left_out = {node: name for node, name in online.items() if node not in first}
        return Attending({node: online[node] for node in first}, left_out, absent)

    def is_complete(self, found: Attending, unchanged: float) -> bool:
        """Whether nobody more is waited for; ``unchanged`` seconds ago the last new node came."""
        if self.wanted is not None:
            return len(found.nodes) >= self.wanted
        if self.expected:
            return not found.absent
        return len(found.nodes) >= self._fewest and unchanged >= self.settle

    def check(self, found: Attending) -> None:
        """Refuse to begin with too few."""
        came, wanted = len(found.nodes), self.wanted or len(self.expected) or self._fewest
        if came >= self._fewest:
            return
        if not came and not (self.wanted or self.expected or self.least):
            raise ProtocolError("engines.nobody-came", deadline=self.deadline)
        raise ProtocolError(
            "engines.too-few-nodes",
            came=came,
            wanted=wanted,
            deadline=self.deadline,
            absent=found.absent if isinstance(found.absent, tuple) and found.absent else None,
            fewer=came or None,
        )

    @property
    def _fewest(self) -> int:
        return self.least or self.wanted or 1

    def _expects(self, node: str, name: str) -> bool:
        return any(called in self.expected for called in _calls(node, name))


def _calls(node: str, name: str) -> tuple[str, ...]:
    """What a node answers to: its name or, as one without a name is shown, its id."""
    return tuple(filter(None, (name, node, f"node-{node}")))


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
            self._labels = distinct_names({node: self._wish(node) for node in self._registered})
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


def distinct_names(wishes: Mapping[str, str]) -> dict[str, str]:
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
