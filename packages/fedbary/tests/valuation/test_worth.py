"""Worth in a result: columns, shares, and what is said where there is nothing to share."""

import numpy as np
import pandas as pd

from fedbary.valuation.clients import ClientScores, client_frame
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation, with_worth


def result(*names):
    records = [{"client": name, "rows": 10, "distance": 1.0, "outcome": Outcome()} for name in names]
    return Valuation(client_frame(records, spread=1.0), pd.DataFrame(), {})


def test_shares_are_those_of_the_worths_above_zero_and_a_client_without_one_has_none():
    scores = ClientScores("cards", ("a", "b"), np.array([0.3, -0.1]), np.array([0.01, 0.02]))
    found = with_worth(result("a", "b", "failed"), scores).clients
    assert found["worth"].tolist()[:2] == [0.3, -0.1]
    assert found["worth_error"].tolist()[:2] == [0.01, 0.02]
    assert found["share"].tolist()[:2] == [1.0, 0.0]
    assert found.loc[2, ["worth", "worth_error", "share"]].isna().all()
    assert found[["share_low", "share_high"]].isna().all(axis=None)


def test_where_nobody_adds_anything_it_is_said():
    scores = ClientScores("cards", ("a", "b"), np.array([0.0, -0.1]), np.zeros(2))
    assert [note.code for note in with_worth(result("a", "b"), scores).notes] == ["valuation.nothing-to-share"]
