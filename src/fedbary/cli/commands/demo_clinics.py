"""The clinics of `fedbary demo`: handwritten digits, and which rows of whom were spoilt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbary.data.corruptions import Mask
    from fedbary.data.table import Table

ROWS = 200
_CLIENTS = ("clinic_a", "clinic_b", "clinic_c", "clinic_d", "clinic_e")
_SPOILT, _SIGMA = 0.3, 1.5


@dataclass(frozen=True)
class Clinics:
    """The demo's parties, and the truth about which rows were spoilt."""

    clients: dict[str, Table]
    reference: Table
    spoilt: dict[str, Mask]
    right_labels: Any


def demo_clinics(seed: int) -> Clinics:
    """Five clinics of 200 digits each, two of them with spoilt rows; the other digits are the reference."""
    import numpy as np

    from fedbary.data import add_noise, datasets, flip_labels

    digits = datasets.load("digits").all()
    order = np.random.default_rng(seed).permutation(len(digits))
    parts = np.split(order, ROWS * np.arange(1, len(_CLIENTS) + 1))
    *own, reference = (digits.take(np.sort(part)) for part in parts)
    clients = {name: table.replace(origin=name) for name, table in zip(_CLIENTS, own, strict=True)}
    spoilt = {}
    right_labels = clients["clinic_d"].labels
    clients["clinic_d"], spoilt["clinic_d"] = flip_labels(clients["clinic_d"], _SPOILT, seed=seed)
    clients["clinic_e"], spoilt["clinic_e"] = add_noise(clients["clinic_e"], _SPOILT, sigma=_SIGMA, seed=seed)
    return Clinics(clients, reference, spoilt, right_labels)


def write_clinics(clinics: Clinics, folder: Path) -> dict[str, Path]:
    """The parties' tables as files, so that the other commands can be tried on them; returns the clients'."""
    from fedbary.data import write

    folder.mkdir(parents=True, exist_ok=True)
    write(clinics.reference, folder / "reference.parquet")
    return {name: write(table, folder / f"{name}.parquet") for name, table in clinics.clients.items()}
