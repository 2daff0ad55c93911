"""`RowRules`: how rows are to be flagged."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

from fedbary.errors import SettingsError

Adapt = Literal["both", "labels", "none"]


@dataclass(frozen=True)
class RowRules:
    """Settings of row flags.

    Parameters
    ----------
    fdr : float
        Share of flagged rows that may be clean, on average: the false-discovery rate.
    rule : {"bh", "sign"}
        How rows are flagged, bh (false-discovery rate) or sign (the paper's, a positive gradient): ``bh`` by conformal
        p-values and Benjamini–Hochberg at rate ``fdr``, ``sign`` by calibrated gradients.
    calibration : {"split", "crossfit"}
        How the reference calibrates flags, split (a guarantee) or crossfit (more power, no proof): ``split`` keeps half
        of it for calibration; ``crossfit`` uses all rows twice, out of fold.
    """

    fdr: float = 0.1
    rule: Literal["bh", "sign"] = "bh"
    calibration: Literal["split", "crossfit"] = "split"

    def __post_init__(self) -> None:
        if not (isinstance(self.fdr, Real) and 0.0 < self.fdr < 1.0):
            raise SettingsError(f"The 'fdr' parameter must lie between 0 and 1. Got {self.fdr!r} instead.")
        if self.rule not in ("bh", "sign"):
            raise SettingsError(f"The 'rule' parameter must be 'bh' or 'sign'. Got {self.rule!r} instead.")
        if self.calibration not in ("split", "crossfit"):
            raise SettingsError(
                f"The 'calibration' parameter must be 'split' or 'crossfit'. Got {self.calibration!r} instead."
            )
