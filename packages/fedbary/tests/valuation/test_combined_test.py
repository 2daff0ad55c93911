"""The combined test: what is proved of it, and that it finds what either channel finds."""

import numpy as np
import pytest

from fedbary.valuation.combined_test import Scores, combined_test


def drawn(rng, rows, *, label=0.0, feature=0.0):
    return Scores(rng.exponential(size=rows) + label, rng.normal(size=rows) + feature, np.ones(rows))


def joined(*parts):
    return Scores(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("label", "feature", "weights"))
    )


@pytest.mark.parametrize("rows", [50, 200, 1000])
def test_in_the_proved_form_p_values_of_clean_rows_are_super_uniform_and_no_flag_is_likelier_than_q(rows):
    rng, found, flagged = np.random.default_rng(rows), [], []
    for _ in range(300 if rows < 1000 else 100):
        tested = combined_test(drawn(rng, 60), drawn(rng, rows), drawn(rng, rows))
        found.append(tested.p_values)
        flagged.append(bool((tested.adjusted <= 0.1).any()))
    p = np.concatenate(found)
    for level in (0.01, 0.05, 0.1, 0.5):
        assert np.mean(p <= level) <= level + 0.015
    assert np.mean(flagged) <= 0.1 + 0.04


@pytest.mark.parametrize("bad", [{"label": 8.0}, {"feature": 6.0}])
def test_a_loud_channel_is_not_drowned_by_a_quiet_one(bad):
    rng = np.random.default_rng(0)
    rows = joined(drawn(rng, 270), drawn(rng, 30, **bad))
    tested = combined_test(rows, drawn(rng, 500))
    assert (tested.adjusted[-30:] <= 0.1).mean() > 0.8
    assert tested.by_label[-30:].mean() == pytest.approx(float("label" in bad), abs=0.1)


def test_the_rate_is_kept_with_bad_rows_in_both_channels_in_the_proved_form():
    rng, rates = np.random.default_rng(0), []
    for _ in range(100):
        rows = joined(drawn(rng, 160), drawn(rng, 20, label=8.0), drawn(rng, 20, feature=6.0))
        flag = combined_test(rows, drawn(rng, 200), drawn(rng, 200)).adjusted <= 0.1
        rates.append(flag[:160].sum() / max(flag.sum(), 1))
    assert np.mean(rates) <= 0.11


def test_a_cell_in_a_wrong_unit_is_far_out_in_a_number_one_can_read():
    rng = np.random.default_rng(0)
    rows = joined(drawn(rng, 50), Scores(np.ones(2), np.array([1e6, 1e9]), np.ones(2)))
    statistic = combined_test(rows, drawn(rng, 200)).statistic
    assert statistic[:50].max() < statistic[50] < statistic[51] < 100


def test_scores_to_rank_by_move_no_p_value():
    rng = np.random.default_rng(0)
    rows, clean = drawn(rng, 50), drawn(rng, 100)
    ranked = Scores(rows.label[::-1].copy(), rows.feature, rows.weights)
    plain, better = combined_test(rows, clean), combined_test(rows, clean, ranked=ranked)
    np.testing.assert_array_equal(plain.p_values, better.p_values)
    assert not np.array_equal(plain.statistic, better.statistic)
