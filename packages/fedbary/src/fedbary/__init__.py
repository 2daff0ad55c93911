"""FedBary: what each client's data is worth, before training and without anyone handing over data."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

# Public name → where it lives. Names are imported when they are first used, so that `import fedbary` (and with it
# `fedbary --help`) costs nothing. Some are of the package fedbary-lab.
_HOMES = {
    "Audit": "fedbary.auditing.result",
    "Boost": "fedbary_lab.boosting",
    "CNN": "fedbary_lab.training.models",
    "CardFile": "fedbary.engines.files.message_file",
    "Cards": "fedbary.protocols.cards",
    "Checkup": "fedbary.checkup.result",
    "ClientScores": "fedbary.valuation.clients",
    "Cloud": "fedbary.transport.cloud",
    "Comparison": "fedbary_lab.comparison",
    "DataError": "fedbary.errors",
    "DatasetUnavailable": "fedbary.errors",
    "FedAvg": "fedbary_lab.training.fedavg_settings",
    "FedbaryError": "fedbary.errors",
    "FilesEngine": "fedbary.engines.files.engine",
    "FlagFilter": "fedbary.estimators",
    "Interpolation": "fedbary.protocols.interpolation",
    "Ledger": "fedbary.guard.ledger",
    "LocalEngine": "fedbary.engines.local",
    "Logistic": "fedbary_lab.training.models",
    "MLP": "fedbary_lab.training.models",
    "Note": "fedbary.notes",
    "Outcome": "fedbary.valuation.outcome",
    "OwnerPolicy": "fedbary.guard.policy",
    "Points": "fedbary.space.points",
    "PrivacyError": "fedbary.errors",
    "ProtocolError": "fedbary.errors",
    "ReadOptions": "fedbary.data.options",
    "Reading": "fedbary.data.reading",
    "RowComparison": "fedbary_lab.comparison",
    "RowValues": "fedbary.estimators",
    "Schema": "fedbary.space.schema",
    "SchemaError": "fedbary.errors",
    "SettingsError": "fedbary.errors",
    "Sketch": "fedbary.protocols.sketch",
    "Space": "fedbary.space.options",
    "Status": "fedbary.valuation.outcome",
    "Table": "fedbary.data.table",
    "Target": "fedbary.transport.solve",
    "TrainingLog": "fedbary_lab.training.training_log",
    "TransportError": "fedbary.errors",
    "Triangle": "fedbary_lab.triangle",
    "Valuation": "fedbary.valuation.result",
    "Waiting": "fedbary.errors",
    "audit": "fedbary.auditing.auditor",
    "boost": "fedbary_lab.boosting",
    "card": "fedbary.api",
    "check": "fedbary.checkup.check",
    "clean": "fedbary.valuation.cleaning",
    "compare_clients": "fedbary_lab.comparison",
    "compare_rows": "fedbary_lab.comparison",
    "corruptions": "fedbary.data",
    "datasets": "fedbary.data",
    "embed": "fedbary.space.points",
    "fit_schema": "fedbary.space.fit",
    "moved": "fedbary.valuation.cleaning",
    "partitions": "fedbary.data",
    "plots": "fedbary.views",
    "public_schema": "fedbary.space.fit",
    "read": "fedbary.data.files",
    "read_clients": "fedbary.data.files",
    "solve": "fedbary.transport.solve",
    "value": "fedbary.api",
}

__all__ = [
    "CNN",
    "MLP",
    "Audit",
    "Boost",
    "CardFile",
    "Cards",
    "Checkup",
    "ClientScores",
    "Cloud",
    "Comparison",
    "DataError",
    "DatasetUnavailable",
    "FedAvg",
    "FedbaryError",
    "FilesEngine",
    "FlagFilter",
    "Interpolation",
    "Ledger",
    "LocalEngine",
    "Logistic",
    "Note",
    "Outcome",
    "OwnerPolicy",
    "Points",
    "PrivacyError",
    "ProtocolError",
    "ReadOptions",
    "Reading",
    "RowComparison",
    "RowValues",
    "Schema",
    "SchemaError",
    "SettingsError",
    "Sketch",
    "Space",
    "Status",
    "Table",
    "Target",
    "TrainingLog",
    "TransportError",
    "Triangle",
    "Valuation",
    "Waiting",
    "__version__",
    "audit",
    "boost",
    "card",
    "check",
    "clean",
    "compare_clients",
    "compare_rows",
    "corruptions",
    "datasets",
    "embed",
    "fit_schema",
    "moved",
    "partitions",
    "plots",
    "public_schema",
    "read",
    "read_clients",
    "solve",
    "value",
]

if not TYPE_CHECKING and find_spec("fedbary_lab") is None:  # `from fedbary import *` works without it
    __all__ = [name for name in __all__ if not _HOMES.get(name, "").startswith("fedbary_lab")]

if TYPE_CHECKING:
    from fedbary.api import card, value
    from fedbary.auditing.auditor import audit
    from fedbary.auditing.result import Audit
    from fedbary.checkup.check import check
    from fedbary.checkup.result import Checkup
    from fedbary.data import corruptions, datasets, partitions
    from fedbary.data.files import read, read_clients
    from fedbary.data.options import ReadOptions
    from fedbary.data.reading import Reading
    from fedbary.data.table import Table
    from fedbary.engines.files.engine import FilesEngine
    from fedbary.engines.files.message_file import CardFile
    from fedbary.engines.local import LocalEngine
    from fedbary.errors import (
        DataError,
        DatasetUnavailable,
        FedbaryError,
        PrivacyError,
        ProtocolError,
        SchemaError,
        SettingsError,
        TransportError,
        Waiting,
    )
    from fedbary.estimators import FlagFilter, RowValues
    from fedbary.guard.ledger import Ledger
    from fedbary.guard.policy import OwnerPolicy
    from fedbary.notes import Note
    from fedbary.protocols.cards import Cards
    from fedbary.protocols.interpolation import Interpolation
    from fedbary.protocols.sketch import Sketch
    from fedbary.space.fit import fit_schema, public_schema
    from fedbary.space.options import Space
    from fedbary.space.points import Points, embed
    from fedbary.space.schema import Schema
    from fedbary.transport.cloud import Cloud
    from fedbary.transport.solve import Target, solve
    from fedbary.valuation.cleaning import clean, moved
    from fedbary.valuation.clients import ClientScores
    from fedbary.valuation.outcome import Outcome, Status
    from fedbary.valuation.result import Valuation
    from fedbary.views import plots
    from fedbary_lab.boosting import Boost, boost
    from fedbary_lab.comparison import Comparison, RowComparison, compare_clients, compare_rows
    from fedbary_lab.training.fedavg_settings import FedAvg
    from fedbary_lab.training.models import CNN, MLP, Logistic
    from fedbary_lab.training.training_log import TrainingLog
    from fedbary_lab.triangle import Triangle


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fedbary' has no attribute {name!r}")
    if _HOMES[name].startswith("fedbary_lab"):
        from fedbary.satellites import is_missing, missing

        if is_missing("fedbary_lab"):
            raise missing("fedbary_lab", f"fedbary.{name}")
    home = import_module(_HOMES[name])
    if _HOMES[name] == f"fedbary.{name}":
        return home
    return getattr(home, name) if hasattr(home, name) else import_module(f"{_HOMES[name]}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
