"""`ScoredRows`: the values of an owner's rows, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

# Codes of what flags promise, in `fedbary.sentences.valuation`.
PROVED, MEASURED = "valuation.flags-proved", "valuation.flags-measured"


@dataclass(frozen=True)
class RowFacts:
    """What flags promise and what was found besides.

    Attributes
    ----------
    guarantee : Note
        What flags promise: ``valuation.flags-proved``, ``valuation.flags-measured``, or why nothing.
    noise_share : float or None
        The share of labels that is estimated to be wrong.
    smallest_q : float or None
        The false-discovery rate at which the first row would be flagged.
    untested : int
        Rows of classes that the reference hardly has: ranked, never flagged.
    table : str
        Digest of the valued rows in their order, so that a report refuses other rows.
    """

    guarantee: Note = field(default_factory=lambda: Note("valuation.flags-none"))
    noise_share: float | None = None
    smallest_q: float | None = None
    untested: int = 0
    table: str = ""

    def to_json(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self) | {"guarantee": self.guarantee.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RowFacts:
        """What `to_json` gave.

        Examples
        --------
        >>> facts = RowFacts(noise_share=0.1)
        >>> RowFacts.from_json(facts.to_json()) == facts
        True
        """
        return cls(**{**content, "guarantee": Note.from_json(content["guarantee"])})


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Row values with their facts; they stay with the owner of the rows."""

    frame: pd.DataFrame
    facts: RowFacts = field(default_factory=RowFacts)
