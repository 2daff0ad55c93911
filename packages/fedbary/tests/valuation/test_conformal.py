"""p-values and their adjustment, on cases with known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedbary.valuation.conformal import Calibration, adjusted, class_weights

scores = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(-5, 5))


@given(scores, scores)
def test_p_values_count_clean_rows_that_score_as_high(clean, tested):
    expected = [(1 + (clean >= s).sum()) / (len(clean) + 1) for s in tested]
    np.testing.assert_allclose(Calibration.of(clean).p_values(tested), expected)


@given(scores, scores, st.integers(0, 1000))
def test_whole_weights_are_repeated_rows(clean, tested, seed):
    """A calibration row of weight two is two rows; the tested row keeps weight one."""
    weights = np.random.default_rng(seed).integers(1, 4, len(clean))
    weighted = Calibration.of(clean, weights.astype(float)).p_values(tested)
    np.testing.assert_allclose(weighted, Calibration.of(np.repeat(clean, weights)).p_values(tested))


@given(scores, hnp.arrays(np.float64, st.integers(2, 30), elements=st.floats(-20, 20)))
def test_surprise_never_decreases_with_the_score_and_rises_beyond_all_clean_rows(clean, tested):
    tested = np.sort(tested)
    found = Calibration.of(clean).surprise(tested)
    assert (np.diff(found) >= -1e-9).all()
    beyond = Calibration.of(clean).surprise(clean.max() + np.array([1.0, 2.0]))
    assert beyond[1] > beyond[0]


def test_p_values_of_clean_rows_are_uniform():
    rng = np.random.default_rng(0)
    p = np.concatenate([Calibration.of(rng.normal(size=99)).p_values(rng.normal(size=20)) for _ in range(200)])
    for level in (0.05, 0.1, 0.5):
        assert np.mean(p <= level) == pytest.approx(level, abs=0.02)


def test_label_shift_is_corrected_by_class_weights():
    """Clean rows of one class score higher; a client of that class alone would be flagged without weights."""
    rng = np.random.default_rng(0)
    clean_codes = np.repeat([0, 1], [900, 100])
    weights = class_weights(np.array([0.0, 400.0]), np.bincount(clean_codes).astype(float))
    plain, corrected = [], []
    for _ in range(50):
        clean = rng.normal(size=1000) + 3.0 * clean_codes
        tested = rng.normal(size=400) + 3.0
        plain.append(Calibration.of(clean).p_values(tested))
        corrected.append(Calibration.of(clean, weights[clean_codes]).p_values(tested, np.full(400, weights[1])))
    assert np.mean(np.array(plain) <= 0.05) > 0.3
    assert np.mean(np.array(corrected) <= 0.05) < 0.06


def test_few_small_p_values_are_adjusted_as_in_the_textbook_and_scaled_by_the_share_of_clean_rows():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    np.testing.assert_allclose(adjusted(p), np.array([0.025, 0.05, 0.05, 0.025, 0.5]) * (1 / 2.5))


def test_without_a_bad_row_nothing_is_scaled():
    p = np.array([0.3, 0.6, 0.7, 0.9, np.nan])
    np.testing.assert_allclose(adjusted(p), [0.9, 0.9, 0.9, 0.9, np.nan])


@given(scores, scores)
def test_a_tail_that_is_never_short_keeps_the_order(clean, tested):
    tested = np.sort(tested)
    for least in (0.3, 1.0):
        assert (np.diff(Calibration.of(clean, least_excess=least).surprise(tested)) >= -1e-9).all()
