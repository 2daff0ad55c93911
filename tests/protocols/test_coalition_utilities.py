"""Utilities of coalitions against loops over the formulas of the design."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from fedbary.protocols.coalition.groups import Groups, client_groups
from fedbary.protocols.coalition.judge import Judge, consensus_judge
from fedbary.protocols.coalition.utilities import coverage, mean_of, ridge_accuracy, soft_accuracy, wasserstein_gain
from fedbary.space.encode import encode
from fedbary.space.k_anonymous import k_anonymous_rows
from fedbary.transport import solve

CLASSES = 3
EVERYBODY = np.array([[bool(code >> place & 1) for place in range(3)] for code in range(8)])


def problem(seed, far=0.0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(CLASSES, 4)) * 2

    def drawn(count, shift=0.0):
        codes = rng.integers(0, CLASSES, count)
        return centres[codes] + rng.normal(size=(count, 4)) + shift, codes

    rows, codes = drawn(60)
    judge = Judge(rows, codes, rng.dirichlet(np.full(60, 5.0)))
    clients = []
    for place in range(3):
        points, own = drawn(8, far * (place == 2))
        clients.append(Groups(points, own, rng.integers(5, 30, 8).astype(float), float(rng.uniform(10, 100))))
    return clients, judge


def scaled(judge):
    centre = sum(w * x for w, x in zip(judge.weights, judge.points, strict=True))
    variance = sum(w * ((x - centre) ** 2).mean() for w, x in zip(judge.weights, judge.points, strict=True))
    return centre, np.sqrt(variance)


def members(clients, mask):
    return [groups for groups, inside in zip(clients, mask, strict=True) if inside]


def by_hand(clients, judge, scores_of):
    found = []
    for mask in EVERYBODY:
        if not mask.any():
            found.append(1 / CLASSES)
            continue
        scores = scores_of(members(clients, mask))
        right = [w for w, row, code in zip(judge.weights, scores, judge.codes, strict=True) if np.argmax(row) == code]
        found.append(sum(right))
    return found


@given(st.integers(0, 10_000))
def test_ridge_is_the_formula(seed):
    clients, judge = problem(seed)
    centre, scale = scaled(judge)

    def scores(some):
        matrix, target, scatter = np.zeros((5, 5)), np.zeros((5, CLASSES)), 0.0
        for groups in some:
            scatter += groups.scatter / scale**2
            for point, code, count in zip(groups.points, groups.classes, groups.counts, strict=True):
                z = np.append((point - centre) / scale, 1.0)
                matrix += count * np.outer(z, z)
                target[:, code] += count * z
        matrix += scatter / 4 * np.diag([1.0, 1, 1, 1, 0]) + 50 * np.eye(5)
        B = np.linalg.inv(matrix) @ target
        return [np.append((x - centre) / scale, 1.0) @ B for x in judge.points]

    np.testing.assert_allclose(ridge_accuracy(clients, judge, CLASSES)(EVERYBODY), by_hand(clients, judge, scores))


@pytest.mark.parametrize("far", [0.0, 90.0])
@given(seed=st.integers(0, 10_000))
def test_the_soft_minimum_is_the_formula_even_where_doubles_underflow(far, seed):
    clients, judge = problem(seed, far)
    _, scale = scaled(judge)

    def scores(some):
        found = []
        for x in judge.points:
            row = []
            for code in range(CLASSES):
                logs, total = [], 0.0
                for groups in some:
                    for point, own, count in zip(groups.points, groups.classes, groups.counts, strict=True):
                        if own == code:
                            logs.append(np.log(count) - ((x - point) ** 2).sum() / scale**2 / 2)
                            total += count
                row.append(np.logaddexp.reduce(logs) - np.log(total) + np.log(total + 1) if logs else -np.inf)
            found.append(row)
        return found

    np.testing.assert_allclose(soft_accuracy(clients, judge, CLASSES)(EVERYBODY), by_hand(clients, judge, scores))


@given(st.integers(0, 10_000))
def test_the_other_two_games_are_transport_and_cover(seed):
    clients, judge = problem(seed)
    labels = 2.0 * np.eye(CLASSES)
    target = np.hstack([judge.points, labels[judge.codes]])
    gained, covered = [], []
    centre = judge.weights @ target
    spread = sum(w * ((q - centre) ** 2).sum() for w, q in zip(judge.weights, target, strict=True))
    for mask in EVERYBODY:
        some = members(clients, mask)
        if not some:
            gained.append(0.0)
            covered.append(0.0)
            continue
        points = np.vstack([np.hstack([g.points, labels[g.classes]]) for g in some])
        counts = np.concatenate([g.counts for g in some])
        gained.append(spread - solve(points, target, counts / counts.sum(), judge.weights).cost)
        nearest = [min(((q - z) ** 2).sum() for z in points) for q in target]
        covered.append(sum(w * max(0.0, 1 - c / 20.0) for w, c in zip(judge.weights, nearest, strict=True)))
    np.testing.assert_allclose(wasserstein_gain(clients, labels, target, judge.weights)(EVERYBODY), gained, atol=1e-9)
    np.testing.assert_allclose(coverage(clients, labels, target, judge.weights, 20.0)(EVERYBODY), covered, atol=1e-9)


def test_a_client_without_groups_changes_nothing_in_any_game():
    clients, judge = problem(0)
    silent = Groups(np.empty((0, 4)), np.empty(0, np.int64), np.empty(0), 0.0)
    labels = np.eye(CLASSES)
    target = np.hstack([judge.points, labels[judge.codes]])
    for make in (
        lambda some: mean_of(ridge_accuracy(some, judge, CLASSES), soft_accuracy(some, judge, CLASSES)),
        lambda some: wasserstein_gain(some, labels, target, judge.weights),
        lambda some: coverage(some, labels, target, judge.weights, 5.0),
    ):
        utility = make([*clients, silent])
        without = np.column_stack([EVERYBODY, np.zeros(8, bool)])
        np.testing.assert_array_equal(utility(without), utility(without | np.eye(4, dtype=bool)[3]))


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 6))
def test_groups_keep_the_means_the_scatter_and_the_least_number(seed, most, least):
    rng = np.random.default_rng(seed)
    kinds = np.array(["red", "green"], dtype=object)[rng.integers(0, 2, 60)]
    columns = {"x": rng.normal(size=(60, 3)), "age": rng.normal(40, 9, 60), "kind": kinds}
    table = fb.Table(columns, rng.integers(0, 3, 60))
    schema = fb.fit_schema(table, fb.Space(metric="within", labels="onehot"))
    groups = client_groups(table, schema, most=most, min_group=least, seed=0)
    told, total = k_anonymous_rows(table, "classes", min_group=least), 0.0  # rare categories are not told
    for code in range(3):
        own, mine = encode(told, schema)[told.labels == code], groups.classes == code
        assert not groups.points[mine, schema.encoded_width :].any()  # nothing is missing
        points = groups.points[mine, : schema.encoded_width]
        assert mine.sum() <= most
        assert (groups.counts[mine] >= least).all()
        assert groups.counts[mine].sum() == len(own)
        middle = np.average(points, axis=0, weights=groups.counts[mine])
        np.testing.assert_allclose(middle, own.mean(0), atol=1e-9)
        total += ((own - own.mean(0)) ** 2).sum()
        total -= groups.counts[mine] @ ((points - own.mean(0)) ** 2).sum(axis=1)
    assert groups.scatter == pytest.approx(total)


def test_rows_drawn_around_a_consensus_are_as_wide_as_its_classes():
    rng = np.random.default_rng(0)
    support, codes = rng.normal(size=(2000, 2)), np.repeat([0, 1], 1000)
    judge = consensus_judge(support, codes, np.array([[4.0, 4.0], [9.0, 9.0]]), seed=0)
    for code, variance in ((0, 4.0), (1, 9.0)):
        np.testing.assert_allclose(judge.points[judge.codes == code].var(axis=0), variance, rtol=0.05)
        assert judge.weights[judge.codes == code].sum() == pytest.approx(0.5)
