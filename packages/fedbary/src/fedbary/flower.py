"""FedBary in Flower apps: the public names of the package fedbary-flower (``pip install 'fedbary[flower]'``)."""

from fedbary.satellites import names_of

__all__ = ["Recording", "SelectedNodes", "answers", "from_result", "value_nodes", "weighted"]  # noqa: F822
__getattr__ = names_of(__name__, dict.fromkeys(__all__, "fedbary_flower"))
