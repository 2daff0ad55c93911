"""What a federation's evidence says of its clients, where the truth was planted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import coded
from fedbary.errors import ProtocolError
from fedbary.judging.competition import judged_labels
from fedbary.judging.evidence import CELLS, SHARES, Evidence, cells_of, counted, share_likelihood, tail
from fedbary.judging.federation import Estimate, Judgement, excess, judgements

OF_THE_RATE = 0.6


def evidence(seed, rows=400, *, wrong=0.0, odd=0.0, hard=0.0, scatter=0.0):
    """Of rows of which these shares have a replaced label or features far out; ``hard`` labels are wrong anywhere."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(rows, 4)) + 4.0 * np.eye(4)[rng.integers(0, 4, rows)]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    codes = (rng.random((rows, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=3)
    codes = np.where(rng.random(rows) < wrong + hard, (codes + rng.integers(1, 4, rows)) % 4, codes)
    found = judged_labels(p, codes)
    features = rng.exponential(1.0, rows) + 8.0 * (np.arange(rows) < odd * rows)
    likelihood = share_likelihood(found.right, found.wrong)
    return Evidence(likelihood, found.seen, counted(found.surprise), counted(features), np.full(2, scatter))


def federation(seed, clients=6, *, wrong=0.0, odd=0.0, **every):
    """One of the clients has wrong labels or odd features."""
    found = {f"c{at}": evidence(97 * seed + at, **every) for at in range(1, clients)}
    return {"bad": evidence(97 * seed, wrong=wrong, odd=odd, **every), **found}


def flagged(one, judgement):
    """How many rows of a client are flagged by their labels, and by their features."""
    label, feature = tail(judgement.label_null), tail(judgement.feature_null)
    return one.labels[label <= judgement.label_cut].sum(), one.features[feature <= judgement.feature_cut].sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_client_with_wrong_labels_is_found_and_no_other(seed):
    found = judgements(federation(seed, wrong=0.25))
    assert found["bad"].wrong.low > 0.1
    assert found["bad"].wrong.share == pytest.approx(0.25, abs=0.05)
    assert found["bad"].bad > 0.9
    for name, one in found.items():
        if name != "bad":
            assert one.wrong.low == 0.0
            assert one.wrong.share < 0.03
            assert one.bad < 0.5


@pytest.mark.parametrize("seed", range(4))
def test_the_client_with_odd_features_is_found_and_no_other(seed):
    found = judgements(federation(seed, odd=0.2))
    assert found["bad"].odd.share == pytest.approx(0.2, abs=0.05)
    assert found["bad"].odd.low > 0.1
    assert max(one.odd.low for name, one in found.items() if name != "bad") < 0.02


def test_flags_find_the_planted_rows_and_hardly_any_other():
    given_ = federation(0, wrong=0.25, odd=0.2)
    found = judgements(given_)
    labels, features = flagged(given_["bad"], found["bad"])
    assert 20 <= labels <= 110
    assert 70 <= features <= 90
    assert sum(sum(flagged(one, found[name])) for name, one in given_.items() if name != "bad") <= 8


def test_in_clean_federations_hardly_anybody_is_flagged_or_blamed():
    any_flag = []
    for seed in range(30):
        given_ = federation(seed, rows=200)
        found = judgements(given_)
        any_flag.append(any(sum(flagged(one, found[name])) for name, one in given_.items()))
        assert max(one.bad for one in found.values()) < 0.9
    assert np.mean(any_flag) <= 0.2


def test_most_clients_may_be_bad():
    given_ = {**federation(1, 3), **{f"wrong{at}": evidence(50 + at, wrong=0.3) for at in range(3)}}
    found = judgements(given_)
    assert min(one.wrong.share for name, one in found.items() if name.startswith("wrong")) > 0.2
    assert max(one.wrong.share for name, one in found.items() if not name.startswith("wrong")) < 0.1


def test_what_all_have_in_common_only_a_reference_tells():
    given_ = federation(2, hard=0.15)
    alone, beside = judgements(given_), judgements(given_, evidence(999, 1000))
    assert max(one.wrong.share for one in alone.values()) < 0.05
    assert min(one.wrong.share for one in beside.values()) > 0.1
    for name, one in given_.items():
        assert beside[name].label_null.sum() >= 1000.0
        assert one.labels.sum() == 400.0


def test_with_held_out_rows_a_client_is_judged_at_home():
    held = evidence(999, 1000)
    bad = judgements({"own": evidence(1, wrong=0.25)}, held)["own"]
    assert bad.wrong.share == pytest.approx(0.25, abs=0.05)
    assert bad.wrong.low > 0.1
    assert bad.label_cut > 0.0
    assert judgements({"own": evidence(2)}, held)["own"].wrong.low == 0.0


def test_alone_all_that_is_wrong_or_hard_counts_and_nothing_is_flagged():
    found = judgements({"own": evidence(3, hard=0.2)})["own"]
    assert found.wrong.share == pytest.approx(0.2, abs=0.06)
    assert (found.label_null.sum(), found.feature_null.sum()) == (0.0, 0.0)
    assert found.odd == Estimate(0.0, 0.0, 1.0)


@given(st.permutations(range(6)))
def test_the_order_of_clients_changes_nothing(order):
    given_ = federation(3, wrong=0.2, odd=0.1)
    names = list(given_)
    one, two = judgements(given_), judgements({names[at]: given_[names[at]] for at in order})
    for name in names:
        for here, there in zip(one[name].to_arrays().values(), two[name].to_arrays().values(), strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-9)


@given(st.integers(0, 1000), st.floats(0.02, 0.5), st.floats(0.0, 0.4), st.integers(2, 5))
def test_cuts_are_those_of_benjamini_and_hochberg_over_all_rows(seed, rate, wrong, clients):
    given_ = federation(seed, clients, wrong=wrong, odd=wrong / 2.0, rows=60)
    found = judgements(given_, rate=rate)
    rows, p, weighted, to_find = [], [], [], 0.0
    for channel in ("label", "feature"):
        for name, one in found.items():
            own = given_[name].labels if channel == "label" else given_[name].features
            mine = np.repeat(tail(getattr(one, f"{channel}_null")), own.astype(int))
            share = getattr(one, f"{channel}_share")
            rows += [(name, channel)] * len(mine)
            p += mine.tolist()
            weighted += (mine * (1.0 - share) / share).tolist()
            to_find += len(mine) * share
    order = np.argsort(weighted)
    levels = OF_THE_RATE * rate * np.arange(1, len(p) + 1) / to_find
    passed = np.flatnonzero(np.sort(weighted) <= levels * (1 + 1e-12))
    expected = np.zeros(len(p), dtype=bool)
    expected[order[: passed[-1] + 1 if len(passed) else 0]] = True
    cuts = np.array([getattr(found[name], f"{channel}_cut") for name, channel in rows])
    np.testing.assert_array_equal(np.array(p) <= cuts, expected)


def test_a_client_scatters_as_many_times_as_the_others():
    given_ = {f"c{at}": evidence(at, 50, scatter=0.01 * at) for at in range(5)}
    given_["blurred"] = evidence(9, 50, scatter=1.0)
    found = judgements(given_)
    assert found["blurred"].blur == pytest.approx(np.exp(1.0 - 0.02))
    assert found["blurred"].blur_deviations > 5.0
    assert max(abs(one.blur_deviations) for name, one in found.items() if name != "blurred") < 1.0
    assert np.isnan(judgements({"a": evidence(0, 50, scatter=np.nan), "b": evidence(1, 50)})["a"].blur)


# --- excess ---------------------------------------------------------------------------------------------


def test_excess_is_what_lies_beyond_the_null():
    null = counted(np.random.default_rng(0).exponential(1.0, 5000))
    own = counted(np.append(np.random.default_rng(1).exponential(1.0, 800), np.full(200, 9.0)))
    found = excess(own, [null])
    assert found.low <= 0.2 <= found.high
    assert found.share == pytest.approx(0.2, abs=0.02)
    assert (
        excess(np.zeros(CELLS), [null]) == excess(own, [np.zeros(CELLS)]) == excess(own, []) == Estimate(0.0, 0.0, 1.0)
    )


def test_chance_alone_is_hardly_ever_an_excess():
    rng = np.random.default_rng(2)
    found = [excess(counted(rng.exponential(1.0, 300)), [counted(rng.exponential(1.0, 1500))]) for _ in range(200)]
    assert np.mean([one.low > 0.0 for one in found]) < 0.15
    assert all(0.0 <= one.low <= one.share <= one.high <= 1.0 for one in found)


# --- messages -------------------------------------------------------------------------------------------


def test_evidence_and_judgements_travel_without_loss():
    one = evidence(0, scatter=0.3)
    again = Evidence.from_arrays(one.to_arrays())
    assert again.seen == one.seen
    unknown = Evidence.from_arrays(evidence(0, scatter=np.nan).to_arrays())
    assert np.isnan(unknown.scatter).all()
    for name in ("scatter", "likelihood", "labels", "features"):
        np.testing.assert_array_equal(getattr(again, name), getattr(one, name))
    judged = judgements(federation(0, wrong=0.2))["bad"]
    back = Judgement.from_arrays(judged.to_arrays())
    for name in ("wrong", "odd", "label_share", "feature_share", "label_cut", "feature_cut"):
        assert getattr(back, name) == getattr(judged, name)
    np.testing.assert_array_equal(back.label_null, judged.label_null)
    np.testing.assert_array_equal(back.feature_null, judged.feature_null)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"likelihood": np.ones(len(SHARES))},
        {"likelihood": np.zeros(3)},
        {"labels": np.full(CELLS, -1.0)},
        {"features": np.zeros(CELLS + 1)},
        {"seen": np.array([1.5])},
        {"seen": np.array([np.nan])},
        {"seen": np.zeros(0)},
        {"seen": np.array(["x"])},
        {"scatter": np.array(["x", "y"])},
        {"scatter": np.array([np.inf, 0.0])},
        {"scatter": np.array([np.nan, 0.0])},
        {"scatter": np.zeros((2, 2))},
        {"scatter": np.zeros(0)},
        {"likelihood": np.full(len(SHARES), np.nan)},
        {"labels": np.full(CELLS, np.nan)},
    ],
)
def test_evidence_that_makes_no_sense_is_refused(spoilt):
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        Evidence.from_arrays({**evidence(0).to_arrays(), **spoilt})


@pytest.mark.parametrize(
    "spoilt",
    [
        {"label_null": np.zeros(3)},
        {"feature_null": np.full(CELLS, -1.0)},
        {"feature_null": np.full(CELLS, np.nan)},
        {"numbers": np.zeros(10)},
        {"numbers": np.ones(9)},
        {"numbers": np.full(10, np.nan)},
        {"numbers": np.array(["x"])},
        {"label_null": np.array(["x"] * CELLS)},
    ],
)
def test_a_judgement_that_makes_no_sense_is_refused(spoilt):
    arrays = judgements(federation(0))["bad"].to_arrays()
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        Judgement.from_arrays({**arrays, **spoilt})
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        Judgement.from_arrays({name: array for name, array in arrays.items() if name not in spoilt})


def test_a_row_of_the_null_is_as_likely_as_another_of_its_cell():
    null = evidence(0).labels
    assert tail(null)[cells_of(np.array([0.0]))] == 1.0
