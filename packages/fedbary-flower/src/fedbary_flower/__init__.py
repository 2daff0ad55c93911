"""FedBary over Flower: an engine, strategies that act on a result, and deployments with TLS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.satellites import names_of

if TYPE_CHECKING:
    from fedbary_flower.apps import value_nodes
    from fedbary_flower.choosing import from_result, weighted
    from fedbary_flower.client_app import answers
    from fedbary_flower.recording import Recording
    from fedbary_flower.selected_nodes import SelectedNodes

__all__ = ["Recording", "SelectedNodes", "answers", "from_result", "value_nodes", "weighted"]

# Imported when first used: the network's own programs import modules of this package one by one.
_HOMES = {
    "Recording": "fedbary_flower.recording",
    "SelectedNodes": "fedbary_flower.selected_nodes",
    "answers": "fedbary_flower.client_app",
    "from_result": "fedbary_flower.choosing",
    "value_nodes": "fedbary_flower.apps",
    "weighted": "fedbary_flower.choosing",
}
__getattr__ = names_of(__name__, _HOMES)
