"""What a result says of each client: the one list of its facts, the frame that holds them, and scores by any method."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.atomic import write_atomically
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.valuation.outcome import Outcome
from fedbary.wording import dash, number, percent, sigmas, times, two_decimals, whole_percent

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

# δ of the shares, in spreads of the target.
SMOOTHING = 0.1
SCORES_VERSION = 2
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Fact:
    """One fact of every client: its column, how it is written, how to read it, and which columns stand beside it."""

    name: str
    words: Callable[[Any], str]
    explained: str = ""
    ends: tuple[str, str] | None = None
    dtype: str = "float64"

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")

    def interval(self, client: Mapping[str, Any]) -> tuple[Any, Any] | None:
        """Both ends, where a record of the client has them."""
        if self.ends is None or any(dash(client.get(end)) == "–" for end in self.ends):
            return None
        return client[self.ends[0]], client[self.ends[1]]


def _estimate(name: str, words: Callable[[Any], str], explained: str) -> Fact:
    return Fact(name, words, explained, (f"{name}_low", f"{name}_high"))


# `explained` is what docs/reports.md says, word for word; the order is that of `Valuation.clients` and its files.
CLIENT_FACTS = (
    Fact("rows", number, dtype="Int64"),
    _estimate(
        "quality",
        two_decimals,
        "one minus the estimated share of bad rows, between 0 and 1, with a 90 % interval",
    ),
    _estimate(
        "wrong_labels",
        whole_percent,
        "estimated share of labels that were *replaced at random*, with its interval. Two classes that were confused "
        "systematically count less: there it is a lower bound",
    ),
    _estimate(
        "odd_features",
        whole_percent,
        "estimated share of rows whose features are odd, among the client's own rows, beyond chance",
    ),
    Fact(
        "blur",
        times,
        "how many times as much its rows scatter as the others': 1 is as theirs, noise on every row is 2 and more. "
        "Below it, the columns that matter most",
    ),
    Fact(
        "shift",
        sigmas,
        "how far its values lie from the others', in standard deviations, given its classes, and in which columns "
        "most: a fact, no fault",
    ),
    Fact("missing", whole_percent, "share of cells without a value; the verdict compares it with the reference's"),
    Fact(
        "worth",
        number,
        "with `worth` ([what it is](worth.md)): the Shapley value, what the client adds to the others on average; "
        "below zero it does harm",
        ("worth_low", "worth_high"),  # of `ClientScores.intervals`; the frame has its error
    ),
    _estimate(
        "share",
        percent,
        "part of the total value, 100 % together. By 1/(distance + a tenth of the target's spread), or by Shapley "
        "values above zero. Compare shares within one run only",
    ),
    Fact(
        "distance",
        number,
        "how far the client's data is from the target, in the space of the schema; its class mix and its size count, "
        "too. Smaller is nearer",
        ("low", "high"),
    ),
    Fact(
        "excess",
        number,
        "squared distance beyond that of as many of the server's own held-out rows: what size alone does not explain",
    ),
    Fact(
        "closeness",
        two_decimals,
        "one minus the mean cost of moving each row to its nearest point of the target; class mix and size do not "
        "count. It depends on the reference's size: compare it within one run only",
    ),
    Fact(
        "flagged",
        number,
        "rows that look wrong ([flags](flags.md)); known in one process, or where owners share the count",
        dtype="Int64",
    ),
)
CLIENT_COLUMNS = (
    "client",
    *(
        column
        for fact in CLIENT_FACTS
        for column in (fact.name, *(("worth_error",) if fact.name == "worth" else fact.ends or ()))
    ),
    "status",
    "notes",
)
_TYPES = dict.fromkeys(CLIENT_COLUMNS, "float64") | {fact.name: fact.dtype for fact in CLIENT_FACTS}
_TYPES |= dict.fromkeys(("client", "status", "notes"), "string")
HISTORY_COLUMNS = ("client", "round", "client_distance", "server_distance", "estimate", "support")


def client_frame(records: Sequence[Mapping[str, Any]], *, spread: float) -> pd.DataFrame:
    """One row per client from records with ``client``, ``outcome`` and, where known, the other columns.

    Shares follow from the distances; whatever a record lacks is NA.
    """
    import pandas as pd

    spelt_out = [
        {**record, "status": str(record["outcome"].status), "notes": record["outcome"].text} for record in records
    ]
    frame = pd.DataFrame.from_records(spelt_out).reindex(columns=list(CLIENT_COLUMNS)).astype(_TYPES)
    distance, low, high = (frame[name].to_numpy(dtype=float) for name in ("distance", "low", "high"))
    if np.isfinite(distance).any():
        frame["share"] = shares(distance, spread=spread)
        if np.isfinite(high).any():
            frame["share_low"], frame["share_high"] = share_bounds(low, high, spread=spread)
    return frame


def outcomes_of(records: Sequence[Mapping[str, Any]]) -> dict[str, Outcome]:
    """The outcomes in such records, by client."""
    return {str(record["client"]): record["outcome"] for record in records}


def shares(distances: Floats, *, spread: float = 0.0) -> Floats:
    """(1/(d_i + δ)) / Σ_j (1/(d_j + δ)), the paper's shares with δ; clients without a distance (NaN) get NaN.

    δ is a tenth of the target's ``spread``. Distances are mostly said by the clients themselves, and with δ = 0 whoever
    claims 0 takes all; so its share is at most 1 + d/δ times that of a client at distance d, eleven times where that is
    one spread away. Equal distances have equal shares, and the order of shares is that of the distances.
    """
    inverse = _inverse(distances, spread)
    return inverse / np.nansum(inverse)


def share_bounds(low: Floats, high: Floats, *, spread: float = 0.0) -> tuple[Floats, Floats]:
    """Smallest and largest share that distances within ``[low, high]`` allow."""
    best, worst = _inverse(low, spread), _inverse(high, spread)
    others_best, others_worst = np.nansum(best) - best, np.nansum(worst) - worst
    return worst / (worst + others_best), best / (best + others_worst)


def _inverse(distances: Floats, spread: float) -> Floats:
    return 1.0 / (distances + max(SMOOTHING * spread, np.finfo(float).tiny ** 0.5))


@dataclass(frozen=True, eq=False)
class ClientScores:
    """Values of clients by one method; higher is better for every method.

    Parameters
    ----------
    method : str
        What computed them.
    clients : tuple of str
        Names, in the order of the arrays.
    values, standard_errors : array
        The method's own number for each client (a Shapley value may be negative), and its sampling error: 0 where
        the method is exact, NaN where it does not know.
    evaluations : int
        How many coalitions were trained or models evaluated. Equal ones are counted once.
    seconds : float
        Time the method took, without the one training run that all log-based methods share.
    converged : bool
        False where a budget ended the method before its own criterion did.

    Examples
    --------
    >>> import numpy as np
    >>> import fedbary as fb
    >>> scores = fb.ClientScores("mr", ("a", "b", "c"), np.array([0.3, 0.1, -0.2]), np.zeros(3), 8, 0.1, True)
    >>> scores.shares
    array([0.75, 0.25, 0.  ])
    """

    method: str
    clients: tuple[str, ...]
    values: Floats
    standard_errors: Floats
    evaluations: int = 0
    seconds: float = 0.0
    converged: bool = True
    notes: tuple[Note, ...] = ()

    @property
    def shares(self) -> Floats:
        """max(value, 0) as a part of the sum; NaN for a client without a value, or if none is positive."""
        positive = np.maximum(self.values, 0.0)
        total = np.nansum(positive)
        return np.asarray(positive / total if total > 0 else np.full(len(positive), np.nan))

    def among(self, clients: tuple[str, ...]) -> ClientScores:
        """The same scores in a larger group of clients; those that they do not cover have none."""
        place = {name: index for index, name in enumerate(self.clients)}
        chosen = [place.get(name) for name in clients]
        values, errors = (
            np.array([np.nan if index is None else array[index] for index in chosen])
            for array in (self.values, self.standard_errors)
        )
        return replace(self, clients=clients, values=values, standard_errors=errors)

    def to_frame(self) -> pd.DataFrame:
        """One row per client: client, value, standard_error, share."""
        import pandas as pd

        return pd.DataFrame(
            {
                "client": list(self.clients),
                "value": self.values,
                "standard_error": self.standard_errors,
                "share": self.shares,
            }
        )

    def intervals(self) -> dict[str, tuple[float, float, float]]:
        """Value of each client that has one, with its ends: two standard errors below and above."""
        errors = np.nan_to_num(self.standard_errors, nan=0.0)
        return {
            name: (float(value), float(value - 2.0 * error), float(value + 2.0 * error))
            for name, value, error in zip(self.clients, self.values, errors, strict=True)
            if not np.isnan(value)
        }

    def to_markdown(self) -> str:
        """The clients, best first, as a Markdown table."""
        from fedbary.views.tables import scores_page

        return scores_page(self).markdown().rstrip("\n")

    def _repr_html_(self) -> str:
        from fedbary.views.tables import scores_page

        return scores_page(self, most=50).notebook()

    def save(self, path: str | Path) -> Path:
        """Write a JSON file; `load` reads it back to the same numbers."""
        content = asdict(self) | {
            "fedbary": "client-scores",
            "version": SCORES_VERSION,
            "values": _without_nan(self.values),
            "standard_errors": _without_nan(self.standard_errors),
            "notes": [note.to_json() for note in self.notes],
        }
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        return write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> ClientScores:
        """Read what `save` wrote."""
        file = Path(path)
        if not file.is_file():
            raise DataError("valuation.no-scores-file", file=str(file))
        if file.stat().st_size > _MOST_BYTES:
            raise DataError("valuation.scores-too-large", file=str(file))
        try:
            content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            if content.get("fedbary") != "client-scores" or content["version"] != SCORES_VERSION:
                raise DataError("valuation.scores-of-another-version", file=str(file), own=SCORES_VERSION)
            if not len(content["clients"]) == len(content["values"]) == len(content["standard_errors"]):
                raise ValueError("as many clients as values and errors are needed")
            return cls(
                method=str(content["method"]),
                clients=tuple(map(str, content["clients"])),
                values=_with_nan(content["values"]),
                standard_errors=_with_nan(content["standard_errors"]),
                evaluations=int(content["evaluations"]),
                seconds=float(content["seconds"]),
                converged=bool(content["converged"]),
                notes=tuple(map(Note.from_json, content["notes"])),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise DataError("valuation.scores-damaged", file=str(file), why=str(error)) from error


def _without_nan(values: Floats) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _with_nan(values: list[float | None]) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in values], dtype=float)
