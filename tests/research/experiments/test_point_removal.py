"""Rows are left out in the order of their values, and areas are what a reader expects of them."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.research.baselines.row_methods import ROW_METHODS
from fedbary.research.experiments import point_removal
from fedbary.research.experiments.federations import Spoilt
from fedbary.research.experiments.point_removal import (
    LEAN,
    METHODS,
    STEPS,
    Cell,
    Judge,
    above_random,
    area,
    cells,
    markdown,
    removal_curve,
    removal_order,
    table,
)


def test_the_worst_go_first_and_equals_in_random_order():
    assert removal_order(np.array([0.5, -2.0, 3.0, 0.0]), seed=0).tolist() == [1, 3, 0, 2]
    orders = {tuple(removal_order(np.zeros(20), seed=seed)) for seed in range(3)}
    assert len(orders) == 3
    assert tuple(range(20)) not in orders


def test_the_oracle_starts_with_the_spoilt_rows_and_random_does_not_know_them():
    mask = np.arange(40) % 5 == 0
    client = Spoilt(fb.Table.from_arrays(np.zeros((40, 1)), np.zeros(40, dtype=int)), np.zeros(40, dtype=int), mask)
    order = removal_order(METHODS["oracle"](client, client.table, 0), seed=1)
    assert mask[order[:8]].all()
    assert not mask[order[8:]].any()
    assert np.ptp(METHODS["random"](client, client.table, 0)) == 0


def test_a_curve_counts_what_is_left_and_its_area_is_a_mean():
    left = removal_curve(np.arange(300), lambda kept: len(kept) / 300)
    assert left == pytest.approx([1 - step / 100 for step in STEPS])
    assert area(left) == pytest.approx(0.75)
    assert area([0.6] * len(STEPS)) == pytest.approx(0.6)


def test_the_rows_that_are_left_decide():
    order = np.array([3, 0, 1, 2])
    kept = []
    removal_curve(order, lambda rows: kept.append(rows.tolist()) or 0.0)
    assert kept[0] == [0, 1, 2, 3]
    assert kept[-1] == [1, 2]


def test_the_judge_learns_from_the_kept_rows_alone():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0], [-2.0], [-1.0], [1.0], [2.0]]) * 10
    right, wrong = [0, 0, 1, 1], [1, 1, 0, 0]
    test = fb.Table.from_arrays(X[:4], np.array(right))
    judge = Judge(fb.Table.from_arrays(X, np.array(right + wrong)), test, test)
    assert judge.accuracy(np.arange(4)) == 1.0
    assert judge.accuracy(np.arange(4, 8)) == 0.0
    assert judge.accuracy(np.array([0, 1])) == 0.5


def test_every_row_method_is_there_and_heavy_ones_are_last():
    assert set(ROW_METHODS) | {"random", "oracle", "sketch", "interpolation"} <= set(METHODS)
    methods = [cell.method for cell in cells(smoke=False)]
    assert set(methods) == set(METHODS)
    first = min(methods.index(name) for name in LEAN)
    assert set(methods[first:]) == set(LEAN)


def test_a_method_is_measured_by_the_random_order_of_its_own_draw():
    records = pd.DataFrame(
        {
            "dataset": "d",
            "kind": "labels",
            "seed": [0, 1, 0, 1],
            "method": ["random", "random", "good", "good"],
            "worst_first": [0.5, 0.7, 0.6, 0.75],
        }
    )
    assert above_random(records)["above_random"].tolist() == pytest.approx([0.0, 0.0, 0.1, 0.05])
    assert above_random(records[2:])["above_random"].isna().all()


def test_errors_are_named_below_the_tables(monkeypatch):
    cell = Cell("digits", "labels", 0, "oracle", 60, 80, 100)
    monkeypatch.setitem(METHODS, "oracle", lambda client, *_: np.full(len(client.mask), np.nan))
    with pytest.raises(fb.FedbaryError, check=coded("research.rows-without-value")):
        point_removal.compute(cell)
    records = pd.DataFrame([{"dataset": "digits", "kind": "labels", "seed": 0, "method": "oracle", "error": "broke"}])
    assert "- digits, labels, oracle: broke" in markdown(table(records))
