"""The two theorems: sequences and bounds whose answers are known."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary_lab.experiments import bounds, loss_bound


def test_rises_are_counted_and_rounding_is_none():
    found = bounds.along([4.0, 3.0, 3.3, 2.2, 2.2 * (1 + 1e-12)], 2.0)
    assert (found["rounds"], found["risen"], found["runs_risen"]) == (4.0, 1.0, 1.0)
    assert found["largest_rise"] == pytest.approx(0.1)
    assert found["gap"] == pytest.approx(0.1)
    assert (found["a_1"], found["a_3"]) == pytest.approx((0.75, 0.55))
    assert "a_5" not in found
    assert bounds.along([2.0, 1.0], 1.0)["largest_rise"] == 0.0


def test_matchings_of_a_fixed_target_are_geodesics_so_the_sum_never_rises():
    cell = bounds.Cell(bounds.GAUSSIANS, bounds.FIXED, "projected", bounds.ALL_ROWS, "t = 0.5", 0, 25, 8)
    (record,) = bounds.compute(cell)
    assert record["risen"] == 0.0
    assert record["gap"] >= -1e-9


def test_exact_measures_keep_the_theorem_although_they_are_fewer_than_rows():
    cell = bounds.Cell(bounds.GAUSSIANS, bounds.MOVING, "exact", bounds.A_FIFTH, "random t", 0, 20, 3)
    (record,) = bounds.compute(cell)
    assert record["risen"] == 0.0
    assert record["gap"] >= -1e-9


def test_the_constant_of_a_softmax_regression_is_never_exceeded():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((4, 3)) + 5.0  # what all classes share counts for nothing
    x, y = rng.standard_normal((2, 500, 3)) * 3.0

    def softmax(points):
        exponents = np.exp(points @ W.T - (points @ W.T).max(axis=1, keepdims=True))
        return exponents / exponents.sum(axis=1, keepdims=True)

    steps = np.linalg.norm(softmax(x) - softmax(y), axis=1) / np.linalg.norm(x - y, axis=1)
    assert steps.max() <= loss_bound.softmax_lipschitz(W) < np.linalg.norm(W, 2) / 2


def test_a_client_that_is_the_validation_set_has_no_distance_and_both_bounds_are_its_training_loss():
    rng = np.random.default_rng(1)
    table = fb.Table.from_arrays(rng.standard_normal((60, 2)), np.arange(60) % 3)
    found = loss_bound.bound(table, table, 1.0)
    assert found["distance"] == pytest.approx(0.0, abs=1e-6)
    assert found["right"] == pytest.approx(found["validation_loss"], abs=1e-5)
    assert found["certain"] == pytest.approx(found["training_loss"], abs=1e-6)
    assert (found["certain_holds"], found["vacuous"]) == (1.0, 0.0)


def test_loss_that_grows_twice_as_fast_as_the_distance_has_slope_two():
    records = [{"distance": float(x), "validation_loss": 2.0 * x + 1.0} for x in range(4)]
    assert loss_bound.going_together(records) == pytest.approx({"pearson": 1.0, "spearman": 1.0, "slope": 2.0})


def test_each_theorem_has_its_part_of_the_page_and_its_facts():
    place = {"data": bounds.GAUSSIANS, "target": "moving", "walk": "projected", "support": "rows", "t": "t = 0.5"}
    first = [{**place, "seed": seed, **bounds.along(sums, 1.0)} for seed, sums in enumerate(([2, 1], [1, 1.5]))]
    sides = {"distance": 1.0, "lipschitz": 2.0, "training_loss": 0.1, "validation_loss": 0.3, "right": 2.1}
    sides |= {"slack": 1.8, "holds": 1.0, "vacuous": 1.0, "certain": 2.0, "certain_holds": 1.0, "certain_vacuous": 1.0}
    second = {"dataset": "digits", "strength": 1.0, "seed": 0, "noise": "labels", "share": "0 %", **sides}
    final = bounds.table(pd.DataFrame([*first, second]))
    facts = bounds.facts(final)
    assert facts["risen_moving_projected_all_rows"] == 1.0
    assert facts["rounds_moving_projected_all_rows"] == 2.0
    assert facts["largest_rise_moving_projected_all_rows"] == pytest.approx(0.5)
    assert facts["times_the_loss_with_usual_weights"] == pytest.approx(7.0)
    text = bounds.markdown(final)
    assert "| moving | projected | rows | t = 0.5 | 1 of 2 | 1 of 2 | 50.000 % |" in text
    assert "| digits | 1 | 1.00 | 1.00 | 7.0 | 1.00 | 1.00 |" in text
    only = bounds.table(pd.DataFrame([second]))
    assert "Theorem 1" not in bounds.markdown(only)
    assert [picture.name for picture in bounds.pictures(only)] == ["bounds-loss"]
    assert [picture.name for picture in bounds.pictures(final)] == ["bounds-rounds", "bounds-loss"]
