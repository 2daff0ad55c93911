"""`RowRules`: how rows are to be flagged."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

from fedbary.errors import wrong_parameter


@dataclass(frozen=True)
class RowRules:
    """Settings of row flags.

    Parameters
    ----------
    fdr : float
        Share of flagged rows that may be clean, on average: the false-discovery rate.
    rule : {"bh", "sign"}
        How rows are flagged, bh (false-discovery rate) or sign (the paper's, a positive gradient): ``bh`` by
        p-values and Benjamini–Hochberg at rate ``fdr``, ``sign`` by calibrated gradients.
    """

    fdr: float = 0.1
    rule: Literal["bh", "sign"] = "bh"

    def __post_init__(self) -> None:
        if not (isinstance(self.fdr, Real) and 0.0 < self.fdr < 1.0):
            raise wrong_parameter("fdr", "value", "between 0 and 1", self.fdr)
        if self.rule not in ("bh", "sign"):
            raise wrong_parameter("rule", "value", "'bh' or 'sign'", self.rule)
