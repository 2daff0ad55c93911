"""Reconstruction from averages: with as many points as rows every average is a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.averages import blind, read_averages
from fedbary.auditing.finding import RECONSTRUCTION, Finding, measured
from fedbary.auditing.intervals import Rate
from fedbary.auditing.promises import Promises
from fedbary.auditing.scene import Scene
from fedbary.notes import Note

Floats = NDArray[np.float64]

_HALF_WAY = 0.5
# In standard deviations: averages are read to ten digits, and so close by chance is nobody.
_CLOSE = 1e-6


def known_t(scene: Scene) -> Finding:
    """Share of rows that a server reads that has fixed t for everybody."""
    fixed = scene.asking(t=_HALF_WAY, support=len(scene.table))
    return _finding("reconstruction, t fixed by the server", fixed, _HALF_WAY)


def unknown_t(scene: Scene) -> Finding:
    """Share of rows that a server reads from answers alone, t being the owner's secret."""
    return _finding("reconstruction, t secret", scene.asking(support=len(scene.table)), None)


def rows_among(claims: Floats, rows: Floats, close: float) -> int:
    """How many rows agree with one of these claims in every coordinate."""
    if not len(claims):
        return 0
    found = 0
    for row in rows:
        found += bool((np.abs(claims - row).max(axis=1) < close).any())
    return found


def _finding(attack: str, scene: Scene, t: float | None) -> Finding:
    schema, _ = blind(scene.schema)
    width = schema.feature_width
    with scene.defence.owner(scene.table, scene.rng(attack)) as owner:
        found = read_averages(owner, scene, t=t)
    claims = np.vstack([np.empty((0, schema.point_width)), *(one.averages for one in found)])
    truth = scene.placed(scene.table, schema)
    hits = rows_among(claims[:, :width], truth[:, :width], _CLOSE)
    return measured(
        attack,
        RECONSTRUCTION,
        Note("audit.averages", {"rows": len(truth), "points": len(claims)}),
        Rate.of(hits, len(truth)),
        Promises.of(scene.defence).averages,
    )
