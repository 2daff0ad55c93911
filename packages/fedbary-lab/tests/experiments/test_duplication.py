"""Copies are made as said, and ratios are taken to the same draw without copies."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.valuation.clients import ClientScores
from fedbary_lab.experiments import copied_distance
from fedbary_lab.experiments.duplication import (
    COPIER,
    COPY,
    MEASURES,
    NOTHING,
    ROWS,
    SETS,
    SYBIL,
    copied,
    facts,
    markdown,
    measured,
    ratios,
    table,
)
from fedbary_lab.experiments.paper import SAYS


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


def test_one_client_has_its_rows_once_more_or_one_of_them():
    own = fb.Table.from_arrays(np.arange(3.0)[:, None], [0, 1, 1])
    found = {name: column(table) for name, table in copied_distance.copies(own, 1).items()}
    assert list(found) == list(copied_distance.SHORT)
    assert found["whole set × 3"] == [0, 1, 2] * 3
    assert found["one row, 2 copies"] == [0, 1, 2, 1, 1]
    assert found["one row, as many copies as rows"] == [0, 1, 2, 1, 1, 1]


def test_a_set_that_is_repeated_is_as_far_as_before_and_the_paper_stands_beside_it():
    cell = copied_distance.Alone("digits", "interpolation", 0, 60)
    records = [{**vars(cell), **record} for record in copied_distance.compute(cell)]
    shared = {"dataset": "digits", "seed": 0, "change": "nothing", "copied": NOTHING, "cgsv_share": 0.2}
    final = table(pd.DataFrame([*records, shared, shared | {"copied": "whole set × 2", "cgsv_share": 0.15}]))
    found = facts(final)
    assert found["ratio_once_interpolation"] == 1.0
    assert found["ratio_whole_2_interpolation"] == pytest.approx(1.0, abs=0.05)
    assert found["pays_whole_2_digits_cgsv_share"] == pytest.approx(0.75)
    text = markdown(final)
    assert f"| whole set × 2 | {SAYS['copies_whole_2']:.2f} |" in text
    assert "| one row, as many copies as rows | – | – |" in text  # too much of one row to leave


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
