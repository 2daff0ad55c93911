"""`ScoredRows`: the values of an owner's rows, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fedbary.notes import Note
from fedbary.valuation.estimates import Estimate

if TYPE_CHECKING:
    import pandas as pd

# Codes of what flags promise, in `fedbary.sentences.valuation`.
PROVED, MEASURED = "valuation.flags-proved", "valuation.flags-measured"
_ESTIMATES = ("wrong_labels", "odd_features", "bad_rows")


@dataclass(frozen=True)
class RowFacts:
    """What flags promise and what was found besides.

    Attributes
    ----------
    guarantee : Note
        What flags promise: ``valuation.flags-proved``, ``valuation.flags-measured``, or why nothing.
    wrong_labels, odd_features, bad_rows : Estimate or None
        The share of rows whose label is estimated to have been replaced at random (a lower bound where labels were
        confused systematically), of rows whose features are odd beyond chance, and of both together.
    suspects : int
        Rows that are not flagged and yet among as many of the worst as are estimated to be bad: without any guarantee.
    smallest_q : float or None
        The false-discovery rate at which the first row would be flagged.
    untested : int
        Rows of classes that the reference hardly has: ranked, never flagged.
    table : str
        Digest of the valued rows in their order, so that a report refuses other rows.
    """

    guarantee: Note = field(default_factory=lambda: Note("valuation.flags-none"))
    wrong_labels: Estimate | None = None
    odd_features: Estimate | None = None
    bad_rows: Estimate | None = None
    suspects: int = 0
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
        >>> facts = RowFacts(wrong_labels=Estimate(0.1, 0.05, 0.15))
        >>> RowFacts.from_json(facts.to_json()) == facts
        True
        """
        read = {name: content[name] and Estimate.from_json(content[name]) for name in _ESTIMATES}
        return cls(**{**content, **read, "guarantee": Note.from_json(content["guarantee"])})


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Row values with their facts; they stay with the owner of the rows."""

    frame: pd.DataFrame
    facts: RowFacts = field(default_factory=RowFacts)
