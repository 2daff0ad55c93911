"""Made-up results."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from fedbary.notes import Note
from fedbary.valuation.clients import client_frame, outcomes_of
from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.result import Valuation, with_rows
from fedbary.valuation.rows import ScoredRows, row_frame

SETTINGS = {
    "protocol": "interpolation",
    "support": 100,
    "rounds": 10,
    "t": None,
    "p": 2,
    "interpolation": "barycentric",
    "allow_reconstruction": False,
    "min_group": 5,
    "gradient": "eta",
    "space": {"metric": "euclidean"},
    "seed": 7,
    "reference_rows": 797,
    "versions": {"fedbary": "0.1.0"},
}


def result_of(
    names: list[str],
    failed: dict[str, Note] | None = None,
    rows: bool = True,
    quality: list[float] | None = None,
    **settings: object,
) -> Valuation:
    """Make a result in which the client at place k has distance k + 1 and forty rows of value 0, 1, …"""
    failed = failed or {}
    records = [
        {
            "client": name, "rows": 40, "distance": k + 1.0, "low": 0.5, "high": k + 1.0, "outcome": Outcome(),
            **({} if quality is None else {"quality": quality[k], "closeness": quality[k]}),
            **({} if quality is None else {"shift": k / 10, "blur": 1.2}),
        }
        for k, name in enumerate(names)
    ]  # fmt: skip
    records += [{"client": name, "outcome": Outcome(Status.FAILED, (why,))} for name, why in failed.items()]
    history = pd.DataFrame(
        [
            {"client": name, "round": number, "estimate": k + 1.0 + 10.0 / (number + 1), "support": 8}
            for k, name in enumerate(names)
            for number in range(3)
        ],
        columns=["client", "round", "estimate", "support"],
    )
    result = Valuation(
        client_frame(records, spread=1.0),
        history,
        SETTINGS | settings,
        notes=(Note("schema.constant-column", {"column": "x"}),),
        outcomes=outcomes_of(records),
    )
    scored = ScoredRows(row_frame(np.array([f"row-{i}" for i in range(40)]), np.arange(40.0)))
    return with_rows(result, dict.fromkeys(names, scored)) if rows else result


@pytest.fixture(scope="session")
def made_up() -> Callable[..., Valuation]:
    return result_of
