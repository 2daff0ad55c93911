"""All protocols by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedbary.protocols.cards import Cards
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.sketch import Sketch
from fedbary.protocols.triangle import Triangle

if TYPE_CHECKING:
    from fedbary.protocols.forms import Exchange
    from fedbary.protocols.messages import Settings

PROTOCOLS: dict[str, Callable[..., Settings]] = {
    "sketch": Sketch,
    "cards": Cards,
    "interpolation": Interpolation,
    "triangle": Triangle,
}


def exchanges_of(protocol: str) -> Mapping[str, Exchange]:
    """The forms of a protocol's messages and replies, by the kind of the message.

    Examples
    --------
    >>> sorted(exchanges_of("triangle")["start"].reply.scalars)
    ['rows']
    """
    found: Mapping[str, Exchange] = _forms(protocol).EXCHANGES
    return found


def claims_of(protocol: str) -> tuple[str, ...]:
    """What a client of a protocol says of itself, and nobody else can check.

    Examples
    --------
    >>> claims_of("triangle")
    ('rows', 'measures')
    """
    found: tuple[str, ...] = _forms(protocol).CLAIMS
    return found


def _forms(protocol: str) -> Any:
    return import_module(f"fedbary.protocols.{protocol}.forms")
