"""`Estimate`: a share of rows with its interval, and the numbers that are said of a client's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """A share of a table's rows, and between what it lies with a probability of 90 %."""

    share: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """For a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Estimate:
        """What `to_json` gave."""
        return cls(float(content["share"]), float(content["low"]), float(content["high"]))

    def columns(self, name: str) -> dict[str, float]:
        """As columns of ``result.clients``: the share under this name, its ends with ``_low`` and ``_high``."""
        return {name: self.share, f"{name}_low": self.low, f"{name}_high": self.high}
