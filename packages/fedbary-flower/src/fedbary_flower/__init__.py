"""FedBary over Flower: an engine, strategies that act on a result, and deployments with TLS."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbary_flower.apps import value_nodes
    from fedbary_flower.choosing import from_result, weighted
    from fedbary_flower.client_app import answers
    from fedbary_flower.recording import Recording
    from fedbary_flower.selected_nodes import SelectedNodes

__all__ = ["Recording", "SelectedNodes", "answers", "from_result", "value_nodes", "weighted"]

_HOMES = {
    "Recording": "fedbary_flower.recording",
    "SelectedNodes": "fedbary_flower.selected_nodes",
    "answers": "fedbary_flower.client_app",
    "from_result": "fedbary_flower.choosing",
    "value_nodes": "fedbary_flower.apps",
    "weighted": "fedbary_flower.choosing",
}


def __getattr__(name: str) -> Any:
    # Imported when first used: Flower's and FLARE's own programs import modules of this package one by one.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
