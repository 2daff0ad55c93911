"""Values of an owner's rows: what a judgement makes of them, which are flagged, and what must be known to read that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.judging.evidence import cells_of, smooth_surprise, tail
from fedbary.judging.federation import Estimate
from fedbary.notes import Note
from fedbary.space.options import RowRules as RowRules  # noqa: PLC0414 - at home where no array is needed

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.judging.federation import Judgement
    from fedbary.judging.judge import Judged

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROW_COLUMNS = (
    "row", "value", "p_value", "flag", "suspect", "reason", "columns", "suggested_label",
    "label_score", "feature_score", "label_p", "feature_p", "calibrated_gradient",
)  # fmt: skip
_TYPES = {
    "flag": "boolean", "suspect": "boolean", "reason": "string", "columns": "string", "suggested_label": "string",
}  # fmt: skip
# Codes of what flags promise, in `fedbary.sentences`.
MEASURED, ALONE, ONE_CLASS = "valuation.flags-measured", "valuation.flags-alone", "valuation.flags-one-class"
# A channel in which nothing is found still counts a little: single rows may stand out.
_LEAST_SHARE = 0.01
# Rows with the same surprise are told apart by their odds, which never outweigh it.
_TIES, _MOST_ODDS = 1e-3, 20.0
# Beyond this statistics are told apart by their logarithm: a cell in a wrong unit may be a million deviations out.
_FAR = 30.0


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
        return asdict(self) | {"guarantee": self.guarantee.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RowFacts:
        read = {
            name: content[name] and Estimate.from_json(content[name])
            for name in ("wrong_labels", "odd_features", "bad_rows")
        }
        moving = {str(name): (float(add), float(times)) for name, (add, times) in content.get("moving", {}).items()}
        return cls(**{**content, **read, "guarantee": Note.from_json(content["guarantee"]), "moving": moving})


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


def row_frame(row: np.ndarray, value: np.ndarray, **columns: Any) -> pd.DataFrame:
    """Row values in the contract's columns and types; columns that are not given are NA."""
    import pandas as pd

    suggested = columns.get("suggested_label")
    if getattr(suggested, "dtype", None) == np.float64:
        columns = {**columns, "suggested_label": [f"{number:.6g}" for number in np.asarray(suggested)]}

    frame = pd.DataFrame({"row": row, "value": value, **columns}).reindex(columns=list(ROW_COLUMNS))
    numbers = {name: "float64" for name in ROW_COLUMNS if name not in _TYPES and name != "row"}
    return frame.astype({**numbers, **_TYPES})


def are_called(names: Any, table: Table) -> bool:
    """Whether names of rows are those of a table's rows, in their order."""
    own, others = table.row_names, np.asarray(names)
    if own.dtype.kind in "iu" and others.dtype.kind in "iu":
        return np.array_equal(own, others)
    return [str(name) for name in own] == [str(name) for name in others]


def valued_rows(
    names: NDArray[np.generic],
    judged: Judged,
    judgement: Judgement,
    classes: tuple[str, ...],
    *,
    rules: RowRules,
    columns: Callable[[Integers], list[str | None]] | None = None,
    gradient: Floats | None = None,
) -> ScoredRows:
    """Values of a client's rows; rows whose class is not known are ranked by their features, and never flagged.

    ``columns`` names the columns that make given rows odd; ``gradient`` is the calibrated one of a transport.
    """
    labels, known = judged.labels, judged.labels.known
    surprise = np.where(known, labels.surprise, 0.0)
    odds = np.where(known, np.log(np.where(known, labels.wrong / labels.right, 1.0)), 0.0)
    label_p = np.where(known, tail(judgement.label_null)[cells_of(surprise)], np.nan)
    feature_p = tail(judgement.feature_null)[cells_of(judged.features)]
    by_label = smooth_surprise(surprise, judgement.label_null) + np.log(max(judgement.label_share, _LEAST_SHARE))
    by_label += _TIES * np.clip(odds, -_MOST_ODDS, _MOST_ODDS)
    by_feature = smooth_surprise(judged.features, judgement.feature_null)
    by_feature += np.log(max(judgement.feature_share, _LEAST_SHARE))
    worst = np.where(known, np.maximum(by_label, by_feature), by_feature)
    value = -np.where(worst > _FAR, _FAR + np.log1p(np.maximum(worst - _FAR, 0.0)), worst)
    label_reason = known & (by_label >= by_feature)
    flag = (label_p <= judgement.label_cut) | (feature_p <= judgement.feature_cut)
    if rules.rule == "sign" and gradient is not None:
        flag = gradient > 0
    bad = bad_rows(judgement.odd, judgement.wrong)
    suspect = suspects(value, flag, bad)
    blamed = np.flatnonzero((flag | suspect) & ~label_reason)
    odd, texts = np.full(len(flag), -1), list[str]()
    if columns is not None and len(blamed):
        blamed_columns = columns(blamed)
        texts = sorted({text for text in blamed_columns if text is not None})
        place: dict[str | None, int] = {text: index for index, text in enumerate(texts)}
        odd[blamed] = [place.get(text, -1) for text in blamed_columns]
    tested = bool(judgement.label_null.any())
    p_value = np.minimum(1.0, 2.0 * np.fmin(label_p, feature_p))
    told: dict[str, Any] = {
        "row": names,
        "value": value,
        "suspect": suspect,
        "reason": few_texts(np.where(label_reason, 0, 1), ("label", "features")),
        "columns": few_texts(odd, texts),
        "label_score": np.where(known, odds, np.nan),
        "feature_score": judged.features,
        "suggested_label": few_texts(labels.other, classes) if judged.suggested is None else judged.suggested,
        **({} if gradient is None else {"calibrated_gradient": gradient}),
    }
    if tested:
        told |= {"p_value": p_value, "flag": flag, "label_p": label_p, "feature_p": feature_p}
    guarantee = Note(MEASURED, {"rate": rules.fdr}) if tested else Note(ALONE)
    facts = RowFacts(
        Note("valuation.flags-paper-rule") if rules.rule == "sign" else guarantee,
        judgement.wrong,
        judgement.odd,
        bad,
        suspects=int(suspect.sum()),
        untested=int((~known).sum()),
    )
    return ScoredRows(told, facts)


def bad_rows(odd: Estimate, wrong: Estimate) -> Estimate:
    """Odd rows and wrong labels together: odd rows say little of their label, so that hardly any counts twice."""
    both = zip((odd.share, odd.low, odd.high), (wrong.share, wrong.low, wrong.high), strict=True)
    return Estimate(*(min(1.0, one + other) for one, other in both))


def suspects(values: Floats, flagged: NDArray[np.bool_], bad: Estimate) -> NDArray[np.bool_]:
    """The rows of least value that are not flagged, up to the estimated number of bad rows."""
    missing = max(round(bad.share * len(values)) - int(flagged.sum()), 0)
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argsort(np.where(flagged, np.inf, values), kind="stable")[:missing]] = True
    return chosen


def calibrated_gradient(potentials: Floats) -> Floats:
    """f_l minus the mean of the other rows' f: positive if more mass on row l increases the distance."""
    if len(potentials) < 2:
        return np.zeros(len(potentials))
    others = (potentials.sum() - potentials) / (len(potentials) - 1)
    return np.asarray(potentials - others)


def few_texts(codes: NDArray[np.integer], names: Sequence[str]) -> pd.Categorical[Any]:
    """A column of texts of which there are few different ones; −1 stands for none."""
    import pandas as pd

    return pd.Categorical.from_codes(codes, dtype=_few(tuple(names)))


@lru_cache(maxsize=8)
def _few(names: tuple[str, ...]) -> pd.CategoricalDtype:
    """Clients have the same classes, and making a type takes longer than a column of some hundred rows."""
    import pandas as pd

    return pd.CategoricalDtype(pd.Index(list(names), dtype="str"))
