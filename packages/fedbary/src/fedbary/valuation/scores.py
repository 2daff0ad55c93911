"""`ClientScores`: what any method says clients are worth, in one shape, so that methods can be compared."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.atomic import write_atomically
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

VERSION = 2
_MOST_BYTES = 64 * 2**20


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
    >>> from fedbary.valuation.scores import ClientScores
    >>> scores = ClientScores("mr", ("a", "b", "c"), np.array([0.3, 0.1, -0.2]), np.zeros(3), 8, 0.1, True)
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
        """Value of each client that has one, with its ends: two standard errors below and above.

        Examples
        --------
        >>> ClientScores("mr", ("a", "b"), np.array([0.5, np.nan]), np.array([0.125, 0.0])).intervals()
        {'a': (0.5, 0.25, 0.75)}
        """
        errors = np.nan_to_num(self.standard_errors, nan=0.0)
        return {
            name: (float(value), float(value - 2.0 * error), float(value + 2.0 * error))
            for name, value, error in zip(self.clients, self.values, errors, strict=True)
            if not np.isnan(value)
        }

    def to_markdown(self) -> str:
        """The clients, best first, as a Markdown table."""
        from fedbary.views.result_tables import scores_markdown

        return scores_markdown(self)

    def _repr_html_(self) -> str:
        from fedbary.views.result_tables import scores_html

        return scores_html(self)

    def save(self, path: str | Path) -> Path:
        """Write a JSON file; `load` reads it back to the same numbers."""
        content = asdict(self) | {
            "fedbary": "client-scores",
            "version": VERSION,
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
            if content.get("fedbary") != "client-scores" or content["version"] != VERSION:
                raise DataError("valuation.scores-of-another-version", file=str(file), own=VERSION)
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
