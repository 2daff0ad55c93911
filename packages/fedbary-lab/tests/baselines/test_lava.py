"""LAVA against independent solutions of its two problems, and the facts that hold for every table."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp

import fedbary as fb
from codes import parameter
from fedbary.errors import SettingsError
from fedbary.transport.simplex import network_simplex
from fedbary_lab.baselines import lava_values
from fedbary_lab.baselines.lava import labelled_costs
from fedbary_lab.transport.sinkhorn import sinkhorn

PLAIN = fb.Space(projection="none", scaling="none")


def tables(seed, rows=12, tests=9, shift=0.0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((rows, 2)), rng.integers(0, 3, rows)
    R, z = rng.standard_normal((tests, 2)), rng.integers(1, 4, tests)  # 0 is ours only, 3 theirs only
    y[0], z[0] = 0, 3
    return fb.Table.from_arrays(X + shift, y), fb.Table.from_arrays(R + shift, z)


def plain_costs(table, reference):
    """The definition, by loops, with POT's solver."""
    X, R = table.columns["x"], reference.columns["x"]
    costs = np.empty((len(X), len(R)))
    for i, (x, y) in enumerate(zip(X, table.labels, strict=True)):
        for j, (r, z) in enumerate(zip(R, reference.labels, strict=True)):
            ours, theirs = X[table.labels == y], R[reference.labels == z]
            inner = np.array([[((p - q) ** 2).sum() for q in theirs] for p in ours])
            costs[i, j] = ((x - r) ** 2).sum() + ot.emd2([], [], inner)
    return costs


def calibrated(f):
    return np.array([f[i] - np.delete(f, i).mean() for i in range(len(f))])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sinkhorn_values_are_those_of_pot(seed):
    table, reference = tables(seed)
    _, log = ot.sinkhorn(
        [], [], plain_costs(table, reference), 0.1, method="sinkhorn_log", numItermax=200_000, stopThr=1e-13, log=True
    )
    rows = lava_values(table, reference, space=PLAIN)
    assert rows["value"].to_numpy() == pytest.approx(-calibrated(0.1 * log["log_u"]), abs=1e-6)
    assert (rows["calibrated_gradient"] == -rows["value"]).all()


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_sinkhorn_values_maximise_the_entropic_dual(epsilon):
    table, reference = tables(7)
    costs = plain_costs(table, reference)
    n, m = costs.shape

    def minus_dual(f):
        scores = (f[:, None] - costs) / epsilon - np.log(n)
        top = logsumexp(scores, axis=0)
        return -f.mean() + epsilon * top.mean(), -1 / n + np.exp(scores - top).sum(axis=1) / m

    best = minimize(minus_dual, np.zeros(n), jac=True, method="BFGS", options={"gtol": 1e-11, "maxiter": 5000}).x
    value = lava_values(table, reference, epsilon=epsilon, space=PLAIN)["value"].to_numpy()
    assert value == pytest.approx(-calibrated(best), abs=1e-6)


def test_exact_potentials_are_feasible_tight_on_the_plan_and_the_limit_of_small_epsilon():
    table, reference = tables(3, rows=15, tests=11)  # 15 and 11 have no common divisor: the dual is unique
    costs = plain_costs(table, reference)
    a, b = np.full(15, 1 / 15), np.full(11, 1 / 11)
    coupling = network_simplex(costs, a, b)
    slack = costs - coupling.source_potential[:, None] - coupling.target_potential
    assert slack.min() >= -1e-9
    assert np.abs(slack[coupling.source, coupling.target]).max() <= 1e-9
    exact = lava_values(table, reference, solver="exact", space=PLAIN)["value"].to_numpy()
    assert exact == pytest.approx(-calibrated(coupling.source_potential), abs=1e-9)
    gaps = [
        np.abs(lava_values(table, reference, epsilon=epsilon, space=PLAIN)["value"].to_numpy() - exact).max()
        for epsilon in (1.0, 0.1, 0.01, 0.001)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.02


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["sinkhorn", "exact"]))
def test_values_sum_to_zero_and_know_neither_order_nor_origin(seed, solver):
    table, reference = tables(seed)
    value = lava_values(table, reference, solver=solver)["value"].to_numpy()
    assert value.sum() == pytest.approx(0.0, abs=1e-8)
    if solver == "sinkhorn":  # the exact dual need not be unique
        order = np.random.default_rng(seed).permutation(len(table))
        assert lava_values(table.take(order), reference)["value"].to_numpy() == pytest.approx(value[order], abs=1e-5)
        moved = lava_values(*tables(seed, shift=100.0))["value"].to_numpy()
        assert moved == pytest.approx(value, abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1e-3, 0.1, 10.0]), st.integers(2, 30), st.integers(2, 30))
def test_the_plan_of_the_potentials_has_the_right_marginals(seed, epsilon, m, n):
    rng = np.random.default_rng(seed)
    costs, a, b = 10 * rng.random((m, n)), rng.dirichlet(np.full(m, 5.0)), rng.dirichlet(np.full(n, 5.0))
    found = sinkhorn(costs, a, b, epsilon=epsilon)
    plan = a[:, None] * b * np.exp((found.source_potential[:, None] + found.target_potential - costs) / epsilon)
    assert np.abs(plan.sum(axis=1) - a).sum() < 1e-8
    assert np.abs(plan.sum(axis=0) - b).sum() < 1e-8
    assert a @ found.source_potential == pytest.approx(b @ found.target_potential)


def test_equal_costs_have_equal_potentials():
    found = sinkhorn(np.full((3, 2), 4.0), np.full(3, 1 / 3), np.full(2, 0.5), epsilon=0.1)
    assert found.source_potential == pytest.approx(np.full(3, 2.0))


@pytest.mark.parametrize("solver", ["sinkhorn", "exact"])
def test_wrong_labels_are_worse(solver):
    digits = fb.datasets.load("digits")
    table, mask = fb.corruptions.flip_labels(digits.test, 0.1, seed=0)
    value = lava_values(table, digits.train, solver=solver)["value"].to_numpy()
    assert (value[mask][:, None] < value[~mask]).mean() > 0.94


def test_one_row_per_class_and_one_row_in_all():
    table = fb.Table.from_arrays([[0.0], [1.0], [9.0]], ["a", "b", "c"])
    assert lava_values(table, table)["value"].idxmin() in (0, 1, 2)
    alone = fb.Table.from_arrays([[0.0]], ["a"])
    assert lava_values(alone, table)["value"].tolist() == [0.0]


def test_large_classes_are_sampled_by_the_seed():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 2)), rng.standard_normal((40, 2))
    own, truth = np.repeat(["a", "b"], 30), np.repeat(["a", "b"], 20)
    first, again, other = (labelled_costs(X, own, Y, truth, class_rows=5, seed=seed) for seed in (0, 0, 1))
    assert (first == again).all()
    assert np.abs(first - other).max() > 0.01


def test_settings_that_make_no_sense_are_refused():
    table, reference = tables(0)
    with pytest.raises(SettingsError, check=parameter("solver")):
        lava_values(table, reference, solver="simplex")
    with pytest.raises(SettingsError, check=parameter("epsilon")):
        lava_values(table, reference, epsilon=0.0)
    with pytest.raises(SettingsError, check=parameter("class_rows")):
        lava_values(table, reference, class_rows=0)
    with pytest.raises(SettingsError, check=parameter("scaling")):
        sinkhorn(np.ones((2, 2)), np.full(2, 0.5), np.full(2, 0.5), epsilon=1.0, scaling=1.0)
