"""Row values of made-up scores: flags, suspects, reasons, suggestions, and what is promised of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import parameter
from fedbary.data.spool import Spool
from fedbary.errors import SettingsError
from fedbary.judging.estimates import Estimate
from fedbary.valuation.row_values import CleanRows, OwnRows, classified_rows, suspects
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import MEASURED, PROVED


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
    return codes, log_p, feature, CleanRows(Spool.of(clean_log_p), clean_codes, clean_feature)


def values(rules=None, seed=0, unknown=()):
    codes, log_p, feature, clean = sample(seed)
    codes[list(unknown)] = -1
    return classified_rows(
        OwnRows(np.arange(300), Spool.of(log_p), feature, codes), ("a", "b", "c"), clean, rules=rules or RowRules()
    )


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
    few = CleanRows(Spool.of(clean.log_probabilities.array()[:15]), clean.codes[:15], clean.feature_scores[:15])
    scored = classified_rows(
        OwnRows(np.arange(300), Spool.of(log_p), feature, codes), ("a", "b", "c"), few, rules=RowRules()
    )
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
    less = CleanRows(Spool.of(clean.log_probabilities.array()[there]), clean.codes[there], clean.feature_scores[there])
    own = OwnRows(np.arange(300), Spool.of(log_p), feature, codes)
    frame = classified_rows(own, ("a", "b", "c"), less, rules=RowRules()).frame
    assert (frame["p_value"].isna() == (codes == 2)).all()
    assert not frame["flag"][codes == 2].any()


@pytest.mark.parametrize("client", ["b", "ab"])
def test_clean_rows_of_a_rare_class_are_not_flagged_for_their_features(client):
    """Class b has wider features and is rare among the calibration rows; the client is mostly or all b."""
    rng = np.random.default_rng(1)
    clean_codes = np.repeat([0, 1], [960, 40])
    codes = np.ones(200, dtype=int)
    codes[: 20 if client == "ab" else 0] = 0
    flagged = {True: [], False: []}
    for _ in range(30):
        log_p = np.log(np.where(np.eye(2)[clean_codes] == 1, 0.9, 0.1))
        clean = CleanRows(Spool.of(log_p), clean_codes, rng.normal(size=1000) * (1 + 3 * clean_codes))
        feature = rng.normal(size=200) * (1 + 3 * codes)
        own = OwnRows(np.arange(200), Spool.of(np.log(np.where(np.eye(2)[codes] == 1, 0.9, 0.1))), feature, codes)
        for adapt, found in flagged.items():
            scored = classified_rows(own, ("a", "b"), clean, rules=RowRules(), adapt=adapt)
            found.append(bool(scored.frame["flag"].any()))
    assert np.mean(flagged[True]) <= 0.1
    assert np.mean(flagged[False]) > 0.5


def test_suspects_make_up_for_the_flags_that_few_clean_rows_do_not_allow():
    codes, log_p, feature, clean = sample()
    few = CleanRows(Spool.of(clean.log_probabilities.array()[:15]), clean.codes[:15], clean.feature_scores[:15])
    own = OwnRows(np.arange(300), Spool.of(log_p), feature, codes)
    scored = classified_rows(own, ("a", "b", "c"), few, rules=RowRules())
    suspect = scored.frame["suspect"].to_numpy(dtype=bool)
    assert not scored.frame["flag"].any()
    assert scored.facts.suspects == suspect.sum() > 20
    assert suspect[30:-30].mean() < 0.05


def test_a_row_is_flagged_or_suspect_never_both_and_suspects_are_the_next_worst():
    values, flagged = np.array([-5.0, -4.0, -3.0, 2.0, 3.0]), np.array([True, False, False, False, False])
    assert suspects(values, flagged, Estimate(0.6, 0.5, 0.7)).tolist() == [False, True, True, False, False]
    assert not suspects(values, flagged, Estimate(0.1, 0.0, 0.2)).any()


@given(st.permutations(range(12)))
def test_the_order_of_rows_and_of_clean_rows_changes_nothing(order):
    codes, log_p, feature, clean = sample(rows=12, flipped=2, odd=2)
    shuffled, chosen = np.array(order), np.random.default_rng(0).permutation(len(clean.codes))
    own = OwnRows(np.arange(12), Spool.of(log_p), feature, codes)
    other = OwnRows(np.arange(12)[shuffled], Spool.of(log_p[shuffled]), feature[shuffled], codes[shuffled])
    mixed = CleanRows(
        Spool.of(clean.log_probabilities.array()[chosen]), clean.codes[chosen], clean.feature_scores[chosen]
    )
    there, here = (
        classified_rows(one, ("a", "b", "c"), clear, rules=RowRules()).frame.set_index("row").sort_index()
        for one, clear in ((own, clean), (other, mixed))
    )
    for name in ("value", "p_value", "label_p", "feature_p"):
        np.testing.assert_allclose(there[name], here[name], rtol=1e-9)
    assert (there["flag"] == here["flag"]).all()


def test_each_mode_says_which_guarantee_it_has():
    codes, log_p, feature, clean = sample()
    own, null = OwnRows(np.arange(300), Spool.of(log_p), feature, codes), sample(1)[3]

    def promise(calibration, *, adapt):
        rules = RowRules(calibration=calibration)
        return classified_rows(own, ("a", "b", "c"), clean, null=null, rules=rules, adapt=adapt).facts.guarantee

    assert (promise("split", adapt=False).code, promise("split", adapt=False).facts["rate"]) == (PROVED, 0.1)
    assert promise("split", adapt=True).code == MEASURED
    assert promise("crossfit", adapt=False).code == MEASURED


def test_rules_are_checked():
    with pytest.raises(SettingsError, check=parameter("fdr")):
        RowRules(fdr="x")
    with pytest.raises(SettingsError, check=parameter("calibration")):
        RowRules(calibration="none")
