"""Missing cells as the model would expect them: a Gaussian's conditional mean is the known answer."""

import numpy as np
import pytest
from fedbary.judging.scoring.lending import _best, lent
from hypothesis import given
from hypothesis import strategies as st

from fedbary.judging.scoring import fit_scoring_model


@pytest.fixture(scope="module")
def rows_and_model():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 100)
    mixing = np.array([[1.0, 0.9, 0.2], [0.0, 0.3, 0.1], [0.0, 0.0, 1.0]])
    values = rng.normal(size=(200, 3)) @ mixing + 6.0 * codes[:, None]
    return values, fit_scoring_model(values, codes, ("a", "b"), seed=0).model


def test_what_is_there_stays(rows_and_model):
    values, model = rows_and_model
    holes = np.random.default_rng(1).random(values.shape) < 0.4
    found = lent(np.where(holes, 0.0, values), holes, model)
    np.testing.assert_array_equal(found[~holes], values[~holes])


@given(st.integers(2, 8), st.integers(0, 1000))
def test_what_is_lent_is_the_conditional_mean(width, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(width, width))
    precision = root @ root.T + np.eye(width)
    holes = rng.random(width) < 0.5
    away = np.where(holes, 0.0, rng.normal(size=width))
    expected = np.zeros(width)
    inside = precision[np.ix_(holes, holes)]
    expected[holes] = -np.linalg.solve(inside, precision[np.ix_(holes, ~holes)] @ away[~holes])
    np.testing.assert_allclose(_best(away[None], holes[None], precision)[0], expected, atol=1e-3)


def test_correlated_columns_lend_what_they_know(rows_and_model):
    values, model = rows_and_model
    holes = np.zeros(values.shape, dtype=bool)
    holes[:, 1] = True
    found = lent(np.where(holes, 0.0, values), holes, model)
    assert np.corrcoef(found[:100, 1], values[:100, 1])[0, 1] > 0.8
