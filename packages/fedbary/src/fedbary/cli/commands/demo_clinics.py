"""The clinics of `fedbary demo`, and what was spoilt in whose rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.commands.demo_patients import LABORATORY, patients

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from fedbary.data.corruptions import Mask
    from fedbary.data.table import Table

LABEL, ROW_ID = "diagnosis", "patient"
ROWS, REFERENCE_ROWS = 400, 1200
CLEAN, OTHER_UNIT, WRONG_LABELS, MISSING = ("clinic_a", "clinic_b"), "clinic_c", "clinic_d", "clinic_e"
UNIT_COLUMN = "glucose"
_MILLIGRAMS = 18.0  # in a decilitre, for a millimole of glucose in a litre
_IN_OTHER_UNIT, _WITH_WRONG_LABEL, _LABORATORY_MISSING = 0.25, 0.25, 0.4


@dataclass(frozen=True)
class Clinics:
    """The demo's parties, which rows were spoilt, and the right labels of the clinic with wrong ones."""

    clients: dict[str, Table]
    reference: Table
    spoilt: dict[str, Mask]
    right_labels: Any


def demo_clinics(seed: int) -> Clinics:
    """Five clinics of 400 patients, three of them with a fault of its own kind, and 1200 patients as the reference."""
    import numpy as np

    from fedbary.data import Table, flip_labels

    rng = np.random.default_rng(seed)
    names = (*CLEAN, OTHER_UNIT, WRONG_LABELS, MISSING)
    frames = {name: patients(ROWS, name[-1].upper(), rng) for name in names}
    reference = patients(REFERENCE_ROWS, "R", rng)
    spoilt = {OTHER_UNIT: _change_unit(frames[OTHER_UNIT], rng)}
    _blank(frames[MISSING], rng)
    clients = {name: Table.from_frame(frame, LABEL, id=ROW_ID, origin=name) for name, frame in frames.items()}
    right_labels = clients[WRONG_LABELS].labels
    clients[WRONG_LABELS], spoilt[WRONG_LABELS] = flip_labels(clients[WRONG_LABELS], _WITH_WRONG_LABEL, seed=rng)
    return Clinics(clients, Table.from_frame(reference, LABEL, id=ROW_ID, origin="reference"), spoilt, right_labels)


def _change_unit(frame: pd.DataFrame, rng: np.random.Generator) -> Mask:
    """Give some of the rows their glucose in mg/dl, as a second laboratory might; returns which."""
    import numpy as np

    other = np.zeros(len(frame), dtype=bool)
    other[rng.permutation(len(frame))[: round(_IN_OTHER_UNIT * len(frame))]] = True
    frame.loc[other, UNIT_COLUMN] = (frame.loc[other, UNIT_COLUMN] * _MILLIGRAMS).round()
    return other


def _blank(frame: pd.DataFrame, rng: np.random.Generator) -> None:
    """Lose many of the laboratory's values."""
    for name in LABORATORY:
        frame.loc[rng.random(len(frame)) < _LABORATORY_MISSING, name] = float("nan")


def write_clinics(clinics: Clinics, folder: Path) -> dict[str, Path]:
    """The parties' tables as files, so that the other commands can be tried on them; returns the clients'."""
    from fedbary.data import write

    folder.mkdir(parents=True, exist_ok=True)
    write(clinics.reference, folder / "reference.parquet")
    return {name: write(table, folder / f"{name}.parquet") for name, table in clinics.clients.items()}
