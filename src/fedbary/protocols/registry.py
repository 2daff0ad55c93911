"""All protocols by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fedbary.protocols.coalition import Coalition
from fedbary.protocols.consensus import Consensus
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.sketch import Sketch
from fedbary.protocols.triangle import Triangle

if TYPE_CHECKING:
    from fedbary.protocols.messages import Settings

PROTOCOLS: dict[str, Callable[..., Settings]] = {
    "sketch": Sketch,
    "consensus": Consensus,
    "coalition": Coalition,
    "interpolation": Interpolation,
    "triangle": Triangle,
}
