"""Row values of made-up judgements: flags, suspects, reasons, suggestions, and what is promised of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import parameter
from fedbary.errors import SettingsError
from fedbary.judging.competition import JudgedLabels, judged_labels
from fedbary.judging.evidence import Evidence, cells_of, counted, share_likelihood, tail
from fedbary.judging.federation import Estimate, judgements
from fedbary.judging.judge import Judged
from fedbary.valuation.rows import ALONE, MEASURED, RowRules, bad_rows, calibrated_gradient, suspects, valued_rows

CLASSES = ("a", "b", "c")


def drawn(seed, rows=300, flipped=0, odd=0):
    """Rows of which a model is sure: the first have wrong labels, the last odd features."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, rows)
    logits = 0.5 * rng.normal(size=(rows, 3)) + 5.0 * np.eye(3)[truth]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    codes = np.where(np.arange(rows) < flipped, (truth + 1) % 3, truth)
    features = rng.exponential(1.0, rows) + 10.0 * (np.arange(rows) >= rows - odd)
    return Judged(judged_labels(p, codes), features), truth


def told(judged):
    labels = judged.labels
    likelihood = share_likelihood(labels.right, labels.wrong)
    return Evidence(likelihood, labels.seen, counted(labels.surprise), counted(judged.features))


@pytest.fixture(scope="module")
def federation():
    """A client with 30 wrong labels and 30 odd rows beside four clean ones."""
    judged = {"bad": drawn(0, flipped=30, odd=30)[0], **{f"c{at}": drawn(at)[0] for at in range(1, 5)}}
    return judged, judgements({name: told(one) for name, one in judged.items()})


def values(federation, name="bad", **options):
    judged, found = federation
    return valued_rows(np.arange(300), judged[name], found[name], CLASSES, rules=RowRules(), **options)


def test_both_channels_flag_name_the_reason_and_suggest(federation):
    scored = values(federation)
    frame, truth = scored.frame, drawn(0)[1]
    flag = frame["flag"].to_numpy(dtype=bool)
    assert flag[:30].all()
    assert flag[-30:].all()
    assert flag[30:-30].mean() < 0.05
    assert (frame["reason"][:30] == "label").mean() > 0.9
    assert (frame["reason"][-30:] == "features").mean() > 0.9
    assert (frame["suggested_label"][:30].to_numpy() == np.array(CLASSES)[truth[:30]]).mean() > 0.9
    assert max(frame["value"][:30].max(), frame["value"][-30:].max()) < frame["value"][30:-30].min()
    assert scored.facts.wrong_labels.share == pytest.approx(0.1, abs=0.03)
    assert scored.facts.odd_features.share == pytest.approx(0.1, abs=0.03)
    assert not values(federation, "c1").frame["flag"].any()


def test_columns_of_rows_are_what_the_judgement_says(federation):
    judged, found = federation
    frame = values(federation).frame
    labels, one = judged["bad"].labels, found["bad"]
    np.testing.assert_allclose(frame["label_score"], np.log(labels.wrong / labels.right))
    np.testing.assert_array_equal(frame["feature_score"], judged["bad"].features)
    np.testing.assert_allclose(frame["label_p"], tail(one.label_null)[cells_of(labels.surprise)])
    np.testing.assert_allclose(frame["feature_p"], tail(one.feature_null)[cells_of(judged["bad"].features)])
    np.testing.assert_allclose(
        frame["p_value"], np.minimum(1.0, 2.0 * np.minimum(frame["label_p"], frame["feature_p"]))
    )


def test_rows_of_unknown_classes_are_ranked_by_their_features_and_never_flagged_by_their_label(federation):
    judged, found = federation
    p = np.full((300, 3), 1.0 / 3.0)
    codes = np.where(np.isin(np.arange(300), [50, 299]), -1, 0)
    features = judged["bad"].features
    scored = valued_rows(
        np.arange(300), Judged(judged_labels(p, codes), features), found["bad"], CLASSES, rules=RowRules()
    )
    frame = scored.frame
    assert frame.loc[[50, 299], ["label_score", "label_p"]].isna().all(axis=None)
    assert frame["value"][299] < frame["value"][50]
    assert (frame["reason"][[50, 299]] == "features").all()
    assert not frame["flag"][50]
    assert frame["flag"][299]
    assert scored.facts.untested == 2
    assert frame["suggested_label"].notna().all()


def test_alone_rows_are_ranked_and_none_is_flagged():
    judged = drawn(0, flipped=30)[0]
    found = judgements({"own": told(judged)})["own"]
    scored = valued_rows(np.arange(300), judged, found, CLASSES, rules=RowRules())
    assert scored.frame["flag"].isna().all()
    assert scored.frame["p_value"].isna().all()
    assert scored.facts.guarantee.code == ALONE
    assert scored.frame["value"][:30].max() < scored.frame["value"][30:].min()
    assert scored.frame["suspect"][:30].mean() > 0.8


def test_each_way_says_what_it_promises(federation):
    found = values(federation).facts.guarantee
    assert (found.code, found.facts["rate"]) == (MEASURED, 0.1)
    judged, judgement = federation
    gradient = np.where(np.arange(300) < 7, 1.0, -1.0)
    paper = valued_rows(
        np.arange(300), judged["bad"], judgement["bad"], CLASSES, rules=RowRules(rule="sign"), gradient=gradient
    )
    assert paper.facts.guarantee.code == "valuation.flags-paper-rule"
    assert paper.frame["flag"].to_numpy(dtype=bool).tolist() == (gradient > 0).tolist()
    np.testing.assert_array_equal(paper.frame["calibrated_gradient"], gradient)


def test_columns_are_asked_for_where_features_are_the_reason(federation):
    asked = []

    def columns(rows):
        asked.extend(rows.tolist())
        return ["age"] * len(rows)

    frame = values(federation, columns=columns).frame
    blamed = (frame["flag"].to_numpy(dtype=bool) | frame["suspect"].to_numpy(dtype=bool)) & (
        frame["reason"] == "features"
    ).to_numpy()
    assert asked == np.flatnonzero(blamed).tolist()
    assert (frame["columns"].notna().to_numpy() == blamed).all()


@given(st.permutations(range(12)))
def test_the_order_of_rows_changes_nothing(order):
    judged, shuffled = drawn(3, rows=12, flipped=2, odd=2)[0], np.array(order)
    labels = judged.labels
    turned = Judged(
        JudgedLabels(
            labels.right[shuffled],
            labels.wrong[shuffled],
            labels.surprise[shuffled],
            labels.other[shuffled],
            labels.seen,
        ),
        judged.features[shuffled],
    )
    found = judgements({"own": told(judged), "other": told(drawn(4)[0])})["own"]
    one, two = (
        valued_rows(names, rows, found, CLASSES, rules=RowRules()).frame.set_index("row").sort_index()
        for names, rows in ((np.arange(12), judged), (np.arange(12)[shuffled], turned))
    )
    for name in ("value", "p_value", "label_p", "feature_p", "label_score"):
        np.testing.assert_allclose(one[name], two[name], rtol=1e-9)
    assert (one["flag"] == two["flag"]).all()


def test_a_cell_in_a_wrong_unit_is_worse_than_any_other_and_finite(federation):
    judged, found = federation
    features = judged["bad"].features.copy()
    features[3] = 4.0 * np.log(1e24)
    frame = valued_rows(
        np.arange(300), Judged(judged["bad"].labels, features), found["bad"], CLASSES, rules=RowRules()
    ).frame
    assert frame["value"].idxmin() == 3
    assert -40.0 < frame["value"][3] < -30.0


def test_a_row_is_flagged_or_suspect_never_both_and_suspects_are_the_next_worst():
    ranked, flagged = np.array([-5.0, -4.0, -3.0, 2.0, 3.0]), np.array([True, False, False, False, False])
    assert suspects(ranked, flagged, Estimate(0.6, 0.5, 0.7)).tolist() == [False, True, True, False, False]
    assert not suspects(ranked, flagged, Estimate(0.1, 0.0, 0.2)).any()


def test_no_share_exceeds_all_rows():
    assert bad_rows(Estimate(0.5, 0.4, 0.9), Estimate(0.25, 0.2, 0.3)) == Estimate(0.75, pytest.approx(0.6), 1.0)


@given(st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=20))
def test_a_calibrated_gradient_is_a_potential_less_the_mean_of_the_others(potentials):
    given_ = np.array(potentials)
    expected = [value - np.delete(given_, at).mean() for at, value in enumerate(given_)]
    np.testing.assert_allclose(calibrated_gradient(given_), expected, atol=1e-9)


def test_rules_are_checked():
    with pytest.raises(SettingsError, check=parameter("fdr")):
        RowRules(fdr="x")
    with pytest.raises(SettingsError, check=parameter("rule")):
        RowRules(rule="none")
