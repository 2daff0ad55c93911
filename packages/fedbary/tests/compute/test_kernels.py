"""Every kernel gives the same on PyTorch as on NumPy, and what a plain loop would give."""

from dataclasses import dataclass

import numpy as np
import pytest

from fedbary.compute.arrays import Nearest, class_sums, moved, nearest, squared_distances


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_two_least_values_are_those_of_a_plain_search(xp, rng, kind):
    values, groups = rng.normal(size=(300, 17)).astype(kind), np.array([0, 4, 5])
    found = Nearest(*(xp.numpy(one) for one in nearest(xp.asarray(values.copy()), groups, xp)))
    order = np.argsort(values, axis=1, kind="stable")
    np.testing.assert_array_equal(found.target, order[:, 0])
    np.testing.assert_array_equal(found.second_target, order[:, 1])
    np.testing.assert_array_equal(found.value, np.sort(values, axis=1)[:, 0])
    np.testing.assert_array_equal(found.second_value, np.sort(values, axis=1)[:, 1])
    group = np.repeat([0, 1, 2], [4, 1, 12])
    others = np.where(group == group[order[:, :1]], np.inf, values).min(axis=1)
    np.testing.assert_array_equal(found.elsewhere, others)
    assert found.value.dtype == kind


def test_of_equal_values_the_first_target_wins(xp):
    found = nearest(xp.asarray(np.ones((2, 3))), np.array([0]), xp)
    assert xp.numpy(found.target).tolist() == [0, 0]
    assert xp.numpy(found.second_target).tolist() == [1, 1]


def test_one_target_alone_has_no_second_best(xp):
    found = nearest(xp.asarray(np.ones((2, 1))), np.array([0]), xp)
    assert xp.numpy(found.value).tolist() == [1.0, 1.0]
    assert np.isinf(xp.numpy(found.second_value)).all()


def test_class_sums_are_those_of_the_rows_of_each_class(xp, rng):
    points, codes = rng.normal(size=(500, 6)), rng.integers(0, 4, 500)
    codes[codes == 2] = 1  # a class without rows
    found = class_sums(xp.asarray(points), xp.asarray(codes), 4, xp)
    np.testing.assert_array_equal(xp.numpy(found.counts), np.bincount(codes, minlength=4))
    np.testing.assert_allclose(xp.numpy(found.centre), points.mean(axis=0), rtol=0, atol=1e-12)
    centred = points - points.mean(axis=0)
    sums = [centred[codes == code].sum(axis=0) for code in range(4)]
    np.testing.assert_allclose(xp.numpy(found.sums), sums, rtol=0, atol=1e-9)
    np.testing.assert_allclose(xp.numpy(found.second), centred.T @ centred, rtol=0, atol=1e-9)


def test_distances_far_from_the_origin_keep_their_digits(xp):
    X = np.array([[1e6, 0.0], [1e6 + 1.0, 0.0]])
    assert xp.numpy(squared_distances(xp.asarray(X), xp.asarray(X), xp)).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_rows_of_a_file_that_cannot_be_written_to_are_taken(xp, recwarn):
    rows = np.ones((3, 2))
    rows.flags.writeable = False
    assert xp.numpy(squared_distances(xp.asarray(rows), xp.asarray(rows), xp)).max() == 0.0
    assert [str(one.message) for one in recwarn] == []


def test_a_dataclass_moves_with_the_arrays_in_it(xp):
    @dataclass(frozen=True)
    class Metric:
        scale: np.ndarray
        level: float

    @dataclass(frozen=True)
    class Model:
        metric: Metric
        names: tuple[str, ...]

    model = moved(Model(Metric(np.arange(3.0), 2.0), ("a",)), xp)
    assert xp.numpy(model.metric.scale * model.metric.level).tolist() == [0.0, 2.0, 4.0]
    assert model.names == ("a",)


def test_a_matrix_that_is_not_positive_definite_has_no_solution(xp):
    right = xp.asarray(np.ones(2))
    assert xp.solved(xp.asarray(np.diag([1.0, -1.0])), right) is None
    assert xp.numpy(xp.solved(xp.asarray(np.diag([2.0, 4.0])), right)) == pytest.approx([0.5, 0.25])
