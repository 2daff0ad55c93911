"""Copies are made as said, and ratios are taken to the same draw without copies."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.research.experiments.duplication import (
    COPIER,
    COPY,
    MEASURES,
    NOTHING,
    ROWS,
    SETS,
    SYBIL,
    copied,
    markdown,
    measured,
    ratios,
    table,
)
from fedbary.valuation.scores import ClientScores


@pytest.fixture
def tables():
    X = np.arange(8.0)[:, None]
    return {
        "client_1": fb.Table.from_arrays(X[:4], [0, 0, 1, 1]),
        "client_2": fb.Table.from_arrays(X[4:], [0, 0, 1, 1]),
    }


def column(table):
    return table.columns["x"].ravel().tolist()


def test_only_the_first_client_copies(tables):
    for change, times in SETS.items():
        after = copied(tables, change)
        assert column(after[COPIER]) == [0, 1, 2, 3] * times
        assert after["client_2"] is tables["client_2"]
    for change, times in ROWS.items():
        assert column(copied(tables, change, row=2)[COPIER]) == [0, 1, 2, 3] + [2] * times
    assert list(copied(tables, NOTHING)) == ["client_1", "client_2"]
    assert column(copied(tables, SYBIL)[COPY]) == [0, 1, 2, 3]


def test_two_names_add_up_but_have_no_distance():
    clients = (COPIER, "client_2", COPY)
    scores = {
        "sketch": ClientScores("sketch", clients, np.array([0.25, 0.5, 0.25]), np.zeros(3)),
        "exactfed": ClientScores("exactfed", clients, np.array([0.1, 0.2, 0.1]), np.zeros(3)),
    }
    assert measured(scores, [COPIER]) == pytest.approx(
        {"sketch_distance": 4.0, "sketch_share": 0.25, "exactfed_value": 0.1, "exactfed_share": 0.25}
    )
    assert measured(scores, [COPIER, COPY]) == pytest.approx(
        {"sketch_share": 0.5, "exactfed_value": 0.2, "exactfed_share": 0.5}
    )


def test_ratios_are_taken_seed_by_seed():
    records = pd.DataFrame(
        {
            "dataset": "d",
            "seed": [0, 0, 1, 1],
            "copied": [NOTHING, "whole set × 2"] * 2,
            "cgsv_share": [0.2, 0.3, 0.1, 0.2],
        }
    )
    assert ratios(records)["cgsv_share"].tolist() == pytest.approx([0.2, 1.5, 0.1, 2.0])
    final = table(records).set_index("copied")
    assert final.loc[NOTHING, "cgsv_share"] == pytest.approx(0.15)
    assert final.loc["whole set × 2", "cgsv_share"] == pytest.approx(1.75)
    assert len(MEASURES) == sum(measure in final for measure in MEASURES)


def test_errors_are_named_below_the_table():
    records = pd.DataFrame([{"dataset": "d", "change": SYBIL, "seed": 0, "error": "broke"}])
    assert f"- d, {SYBIL}: broke" in markdown(table(records))
