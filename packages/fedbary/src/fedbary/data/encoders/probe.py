"""Public images and texts that tell one function from another: what an encoder makes of them is its fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.data.encoders.encoder import CellKind, digest_of

_TEXTS = (
    "The patient was admitted with fever and a dry cough.",
    "Delivered on time, but the box was damaged.",
    "no",
    "Der Zug nach Norden fährt heute von Gleis 3.",
    "payment overdue: 1,250.00 (second reminder)",
    "I would buy this again, and I told all my friends about it, although the colour is not the one in the picture.",
)
_PROJECTIONS = 6


def probe(kind: CellKind) -> list[Any]:
    """A few images, in colours and gray, or texts; the same everywhere."""
    if kind == "text":
        return list(_TEXTS)
    from PIL import Image

    down, right = np.mgrid[0:48, 0:64]
    slope = np.stack([4 * right, 5 * down, 255 - 4 * right], axis=2)
    checks = np.repeat((((down // 8 + right // 8) % 2) * 255)[:, :, None], 3, axis=2)
    rings = (128 + 127 * np.sin(np.hypot(down - 24, right - 32) / 3)).round()
    grain = (np.arange(48 * 64 * 3, dtype=np.uint64) * 2654435761 % 4294967291 % 256).reshape(48, 64, 3)
    return [Image.fromarray(one.astype(np.uint8)) for one in (slope, checks, rings, grain)]


def fingerprint(rows: npt.NDArray[Any], digits: int = 2) -> str:
    """A digest that survives the last digits in which two machines differ: a few projections, to so many digits."""
    flat = np.asarray(rows, dtype=np.float64).reshape(-1)
    places = np.arange(flat.size)
    scale = float(np.abs(flat).max()) or 1.0
    # Waves of different lengths: fixed, spread over all numbers, and the same with every NumPy.
    waves = np.cos(np.outer(np.arange(1, _PROJECTIONS + 1) * np.sqrt(2), places + 1.0))
    # Where a number is zero, as many are, a quarter of the last digit keeps rounding away from its sign.
    projected = waves @ (flat / scale) / np.sqrt(flat.size)
    return digest_of(
        "function", list(rows.shape), [f"{number:.{digits}f}" for number in projected + 0.25 * 10.0**-digits]
    )


def alike(rows: Sequence[Any] | npt.NDArray[Any], others: npt.NDArray[Any], tolerance: float) -> bool:
    """Whether two encodings differ by no more than rounding."""
    one, other = np.asarray(rows, dtype=np.float64), np.asarray(others, dtype=np.float64)
    return bool(np.abs(one - other).max() <= tolerance * max(1e-30, float(np.abs(other).max())))
