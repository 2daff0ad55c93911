"""`ScoredRows`: the values of an owner's rows, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.estimates import Estimate
from fedbary.notes import Note
from fedbary.valuation.row_frame import row_frame

if TYPE_CHECKING:
    import pandas as pd

# Codes of what flags promise, in `fedbary.sentences.valuation`.
MEASURED, ALONE, ONE_CLASS = "valuation.flags-measured", "valuation.flags-alone", "valuation.flags-one-class"
_ESTIMATES = ("wrong_labels", "odd_features", "bad_rows")


@dataclass(frozen=True)
class RowFacts:
    """What flags promise and what was found besides.

    Attributes
    ----------
    guarantee : Note
        What flags promise: ``valuation.flags-measured``, or why there are none.
    wrong_labels, odd_features, bad_rows : Estimate or None
        The share of rows whose label is estimated to have been replaced at random (a lower bound where labels were
        confused systematically), of rows whose features are odd beyond chance, and of both together.
    suspects : int
        Rows that are not flagged and yet among as many of the worst as are estimated to be bad: without any guarantee.
    untested : int
        Rows of classes that the model does not know: ranked, never flagged.
    table : str
        Digest of the valued rows in their order, so that a report refuses other rows.
    moving : mapping
        Column of numbers → (offset, factor): value × factor + offset lies where the others'
        values do, in the column's own units. What is not named stays as it is.
    """

    guarantee: Note = field(default_factory=lambda: Note("valuation.flags-none"))
    wrong_labels: Estimate | None = None
    odd_features: Estimate | None = None
    bad_rows: Estimate | None = None
    suspects: int = 0
    untested: int = 0
    table: str = ""
    moving: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self) | {"guarantee": self.guarantee.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RowFacts:
        """What `to_json` gave."""
        read = {name: content[name] and Estimate.from_json(content[name]) for name in _ESTIMATES}
        moving = {str(name): (float(add), float(times)) for name, (add, times) in content.get("moving", {}).items()}
        return cls(**{**content, **read, "guarantee": Note.from_json(content["guarantee"]), "moving": moving})


def few_texts(codes: NDArray[np.integer], names: Sequence[str]) -> pd.Categorical[Any]:
    """A column of texts of which there are few different ones; −1 stands for none."""
    import pandas as pd

    return pd.Categorical.from_codes(codes, dtype=_few(tuple(names)))


@lru_cache(maxsize=8)
def _few(names: tuple[str, ...]) -> pd.CategoricalDtype:
    """Clients have the same classes, and making a type takes longer than a column of some hundred rows."""
    import pandas as pd

    return pd.CategoricalDtype(pd.Index(list(names), dtype="str"))


def numbered(texts: Sequence[str | None]) -> tuple[NDArray[np.int64], list[str]]:
    """Texts as what `few_texts` takes."""
    names = sorted({text for text in texts if text is not None})
    place: dict[str | None, int] = {name: index for index, name in enumerate(names)}
    return np.array([place.get(text, -1) for text in texts], dtype=np.int64), names


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Row values with their facts; they stay with the owner of the rows.

    Attributes
    ----------
    columns : mapping of arrays
        Some of `ROW_COLUMNS`, ``row`` and ``value`` among them, one number or text for each row: what a million rows
        can afford, where a frame cannot. Texts are as `few_texts` makes them; suggestions may be numbers.
    facts : RowFacts
        What must be known to read them.
    """

    columns: Mapping[str, Any]
    facts: RowFacts = field(default_factory=RowFacts)

    @classmethod
    def of(cls, frame: pd.DataFrame, facts: RowFacts) -> ScoredRows:
        """Row values that are a frame already."""
        return cls({str(name): values for name, values in frame.items()}, facts)

    def __len__(self) -> int:
        return len(self.columns["value"])

    @property
    def frame(self) -> pd.DataFrame:
        """All rows as people get them: for tables that are not large."""
        return row_frame(**dict(self.columns.items()))

    def batches(self, rows: int = 65_536) -> Iterator[pd.DataFrame]:
        """The same frame in parts of so many rows, one at a time in memory."""
        columns = dict(self.columns.items())  # each is read once, where they lie in a file
        for start in range(0, len(self), rows):
            yield row_frame(**{name: values[start : start + rows] for name, values in columns.items()})

    @property
    def flagged(self) -> int | None:
        """How many rows are flagged; None where rows are not."""
        import pandas as pd

        flags = self.columns.get("flag")
        return None if flags is None or pd.isna(flags).any() else int(np.count_nonzero(flags))
