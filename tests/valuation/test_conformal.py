"""p-values, flags and the noise share, on cases with known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from codes import parameter
from fedbary.errors import SettingsError
from fedbary.valuation.conformal import Calibration, benjamini_hochberg, class_weights
from fedbary.valuation.row_values import CleanRows, classified_rows, noise_share
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import MEASURED, PROVED

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
    weights = class_weights(np.ones(400, dtype=int), clean_codes, 2)
    plain, corrected = [], []
    for _ in range(50):
        clean = rng.normal(size=1000) + 3.0 * clean_codes
        tested = rng.normal(size=400) + 3.0
        plain.append(Calibration.of(clean).p_values(tested))
        corrected.append(Calibration.of(clean, weights[clean_codes]).p_values(tested, np.full(400, weights[1])))
    assert np.mean(np.array(plain) <= 0.05) > 0.3
    assert np.mean(np.array(corrected) <= 0.05) < 0.06


def test_benjamini_hochberg_is_the_textbook_procedure():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    np.testing.assert_allclose(benjamini_hochberg(p), [0.025, 0.05, 0.05, 0.025, 0.5])


@pytest.mark.parametrize("true", [0.0, 0.05, 0.2, 0.5])
def test_the_noise_share_is_found(true):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 4000)
    logits = rng.normal(size=(4000, 4)) + 4.0 * np.eye(4)[truth]
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    labels = np.array([rng.choice(4, p=np.exp(row)) for row in log_p])
    wrong = rng.random(4000) < true
    labels[wrong] = (labels[wrong] + rng.integers(1, 4, wrong.sum())) % 4
    assert noise_share(log_p, labels) == pytest.approx(true, abs=0.03)


def sample(seed=0, rows=300, flipped=30, odd=30):
    """A model that is sure of itself, rows with wrong labels, rows with odd features, and clean rows."""
    rng = np.random.default_rng(seed)

    def draw(count):
        truth = rng.integers(0, 3, count)
        logits = 0.5 * rng.normal(size=(count, 3)) + 5.0 * np.eye(3)[truth]
        return truth, logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), rng.normal(size=count)

    codes, log_p, feature = draw(rows)
    codes[:flipped] = (codes[:flipped] + 1) % 3
    feature[-odd:] += 8.0
    clean_codes, clean_log_p, clean_feature = draw(1000)
    return codes, log_p, feature, CleanRows(clean_log_p, clean_codes, clean_feature)


def values(rules=None, seed=0, unknown=()):
    codes, log_p, feature, clean = sample(seed)
    codes[list(unknown)] = -1
    return classified_rows(
        np.arange(300), log_probabilities=log_p, feature_scores=feature, codes=codes, classes=("a", "b", "c"),
        clean=clean, rules=rules or RowRules(),
    )  # fmt: skip


def test_both_channels_flag_name_the_reason_and_suggest():
    scored = values()
    frame = scored.frame
    flag = frame["flag"].to_numpy(dtype=bool)
    assert flag[:30].all()
    assert flag[-30:].all()
    assert flag[30:-30].mean() < 0.05
    assert (frame["reason"][:30] == "label").mean() > 0.9
    assert (frame["reason"][-30:] == "features").mean() > 0.9
    codes = sample()[0]
    right = np.array(["a", "b", "c"])[(codes[:30] - 1) % 3]
    assert (frame["suggested_label"][:30].to_numpy() == right).mean() > 0.9
    assert frame["value"][:30].max() < frame["value"][30:-30].median()
    assert scored.facts.smallest_q < 0.1
    assert scored.facts.wrong_labels.share == pytest.approx(0.1, abs=0.02)


def test_the_false_discovery_rate_holds_on_average_in_split_mode():
    rates = []
    for seed in range(40):
        flag = values(seed=seed).frame["flag"].to_numpy(dtype=bool)
        rates.append(flag[30:-30].sum() / max(flag.sum(), 1))
    assert np.mean(rates) <= 0.1


def test_when_nothing_can_be_flagged_the_smallest_useful_q_is_told():
    codes, log_p, feature, clean = sample()
    few = CleanRows(clean.log_probabilities[:15], clean.codes[:15], clean.feature_scores[:15])
    scored = classified_rows(
        np.arange(300), log_probabilities=log_p, feature_scores=feature, codes=codes, classes=("a", "b", "c"),
        clean=few, rules=RowRules(),
    )  # fmt: skip
    assert not scored.frame["flag"].any()
    assert 0.1 < scored.facts.smallest_q <= 1.0


def test_rows_of_unknown_classes_are_ranked_by_their_features_and_never_flagged():
    scored = values(unknown=[50, 299])
    frame = scored.frame
    assert frame["label_score"][[50, 299]].isna().all()
    assert frame["value"][299] < frame["value"][50]
    assert frame.loc[[50, 299], ["label_p", "feature_p", "p_value"]].isna().all(axis=None)
    assert not frame["flag"][[50, 299]].any()
    assert scored.facts.untested == 2
    assert frame["suggested_label"].notna().all()


def test_a_class_without_calibration_rows_gets_no_p_value():
    codes, log_p, feature, clean = sample()
    there = clean.codes != 2
    less = CleanRows(clean.log_probabilities[there], clean.codes[there], clean.feature_scores[there])
    frame = classified_rows(
        np.arange(300), log_probabilities=log_p, feature_scores=feature, codes=codes, classes=("a", "b", "c"),
        clean=less, rules=RowRules(),
    ).frame  # fmt: skip
    assert (frame["p_value"].isna() == (codes == 2)).all()
    assert not frame["flag"][codes == 2].any()


@pytest.mark.parametrize("client", ["b", "ab"])
def test_clean_rows_of_a_rare_class_are_not_flagged_for_their_features(client):
    """Class b has wider features and is rare among the calibration rows; the client is mostly or all b."""
    rng = np.random.default_rng(1)
    clean_codes = np.repeat([0, 1], [960, 40])
    codes = np.ones(200, dtype=int)
    codes[: 20 if client == "ab" else 0] = 0
    flagged = {"both": [], "labels": []}
    for _ in range(30):
        log_p = np.log(np.where(np.eye(2)[clean_codes] == 1, 0.9, 0.1))
        clean = CleanRows(log_p, clean_codes, rng.normal(size=1000) * (1 + 3 * clean_codes))
        feature = rng.normal(size=200) * (1 + 3 * codes)
        for adapt, found in flagged.items():
            scored = classified_rows(
                np.arange(200), log_probabilities=np.log(np.where(np.eye(2)[codes] == 1, 0.9, 0.1)),
                feature_scores=feature, codes=codes, classes=("a", "b"), clean=clean, rules=RowRules(), adapt=adapt,
            )  # fmt: skip
            found.append(bool(scored.frame["flag"].any()))
            assert (scored.facts.guarantee.facts["assumed"] is not None) == (adapt == "labels")
    assert np.mean(flagged["both"]) <= 0.1
    assert np.mean(flagged["labels"]) > 0.5


def test_large_classes_are_calibrated_one_by_one():
    rng = np.random.default_rng(0)
    clean_codes = np.repeat([0, 1], 600)
    clean = CleanRows(np.log(np.full((1200, 2), 0.5)), clean_codes, rng.normal(size=1200) + 10.0 * clean_codes)
    codes, feature = np.array([0, 0, 1]), np.array([9.0, 0.0, 10.0])
    frame = classified_rows(
        np.arange(3), log_probabilities=np.log(np.full((3, 2), 0.5)), feature_scores=feature, codes=codes,
        classes=("a", "b"), clean=clean, rules=RowRules(),
    ).frame  # fmt: skip
    own = [clean.feature_scores[clean_codes == code] for code in codes]
    expected = [(1 + (scores >= s).sum()) / 601 for scores, s in zip(own, feature, strict=True)]
    np.testing.assert_allclose(frame["feature_p"], expected)


def test_each_mode_says_which_guarantee_it_has():
    assert (values().facts.guarantee.code, values().facts.guarantee.facts["rate"]) == (PROVED, 0.1)
    assert values(RowRules(calibration="crossfit")).facts.guarantee.code == MEASURED


def test_rules_are_checked():
    with pytest.raises(SettingsError, check=parameter("fdr")):
        RowRules(fdr="x")
    with pytest.raises(SettingsError, check=parameter("calibration")):
        RowRules(calibration="none")
