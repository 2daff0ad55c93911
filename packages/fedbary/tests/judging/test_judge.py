"""A judge at work on rows whose wrong labels, odd features and holes are known."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fedbary.judging import judge as judging
from fedbary.judging.candidates import with_classes
from fedbary.judging.discriminant import Discriminant, standardising
from fedbary.judging.evidence import SHARES, Groups, one_row_decides, share_likelihood, shared_odds
from fedbary.judging.judge import Judge, held_out_judge, middle
from fedbary.judging.lines import fit_line
from fedbary.judging.model import JudgingModel, ReferenceModel
from fedbary.judging.scoring_fit import fit_scoring_model

CENTRES = 2.5 * np.random.default_rng(99).normal(size=(3, 4))
NAMES = ("a", "b", "c")


def rows_of(seed, rows=400):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, rows)
    return CENTRES[codes] + rng.normal(size=(rows, 4)), codes


def spoilt(seed, rows=400, *, wrong=0.15, odd=0.0, shift=0.0):
    values, codes = rows_of(seed, rows)
    bad, far = np.arange(rows) < wrong * rows, np.arange(rows) >= (1.0 - odd) * rows
    values = values + 8.0 * far[:, None] * np.random.default_rng(seed).choice([-1.0, 1.0], size=values.shape) + shift
    return values, np.where(bad, (codes + 1) % 3, codes), bad, far


def discriminant(values, codes, classes=3):
    sums = np.array([values[codes == code].sum(axis=0) for code in range(classes)])
    counts = np.bincount(codes, minlength=classes).astype(float)
    square = values.T @ values
    return Discriminant.of(counts, sums, square, *standardising(len(values), values.sum(axis=0), np.diag(square)))


def model(*, reference=False):
    values, codes = rows_of(0, 2000)
    others = discriminant(values, codes)
    if not reference:
        return JudgingModel(NAMES, others)
    values, codes = rows_of(1, 300)
    fitted = fit_scoring_model(values, codes, NAMES, seed=0).model
    means = others.standardised(np.array([values[codes == code].mean(axis=0) for code in range(3)]))
    return JudgingModel(NAMES, others, ReferenceModel(fitted, means, others.variances))


def judge_of(found, values, labels, *, parts=1, lacking=None, holes=None):
    judge = Judge(found, len(values))
    lacking = np.zeros(len(values)) if lacking is None else lacking
    for some in np.array_split(np.arange(len(values)), parts):
        judge.add(values[some], labels[some], lacking[some], None if holes is None else holes[some])
    return judge


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_wrong_labels_and_odd_rows_stand_out_also_of_a_client_that_lies_elsewhere(reference, shift):
    values, codes, bad, far = spoilt(2, odd=0.1, shift=shift)
    judge = judge_of(model(reference=reference), values, codes)
    found = judge.judged(judge.own_weights())
    assert roc_auc_score(bad[~far], found.labels.surprise[~far]) > 0.97
    assert roc_auc_score(far, found.features) > 0.97
    assert (found.labels.other[bad & ~far] == (codes[bad & ~far] - 1) % 3).mean() > 0.9
    evidence = judge.evidence(found)
    assert SHARES[evidence.likelihood.argmax()] == pytest.approx(0.17, abs=0.06)
    assert evidence.labels.sum() == evidence.features.sum() == 400
    assert (judge.moved.shift > 0.5) == (shift > 0.0)


def test_rows_that_come_in_parts_are_judged_the_same():
    values, codes, *_ = spoilt(3)
    here, there = (judge_of(model(reference=True), values, codes, parts=parts) for parts in (1, 7))
    weights = here.own_weights()
    np.testing.assert_allclose(there.own_weights(), weights, rtol=1e-4)
    one, two = here.judged(weights), there.judged(weights)
    np.testing.assert_allclose(two.labels.right, one.labels.right, atol=1e-9)
    np.testing.assert_allclose(two.features, one.features, atol=1e-9)
    chosen, names = np.array([3, 60, 399]), ["w", "x", "y", "z"]
    assert there.odd_columns(chosen, names, np.arange(4)) == here.odd_columns(chosen, names, np.arange(4))


def test_single_precision_moves_hardly_anything(monkeypatch):
    values, codes, *_ = spoilt(4, odd=0.05)
    double = judge_of(model(reference=True), values, codes)
    weights = double.own_weights()
    expected = double.judged(weights)
    monkeypatch.setattr(judging, "_MANY_ROWS", 0)
    single = judge_of(model(reference=True), values, codes)
    found = single.judged(weights)
    assert single._seen[0].array().dtype == np.float32
    np.testing.assert_allclose(found.labels.right, expected.labels.right, atol=1e-3)
    np.testing.assert_allclose(found.features, expected.features, atol=1e-2)
    assert np.abs(single.evidence(found).likelihood - double.evidence(expected).likelihood).max() < 0.5


def test_the_order_of_rows_changes_nothing():
    values, codes, *_ = spoilt(5)
    order = np.random.default_rng(0).permutation(len(values))
    here, there = judge_of(model(), values, codes), judge_of(model(), values[order], codes[order])
    weights = here.own_weights()
    np.testing.assert_allclose(there.judged(weights).labels.right, here.judged(weights).labels.right[order], rtol=1e-6)
    np.testing.assert_array_equal(
        there.evidence(there.judged(weights)).labels, here.evidence(here.judged(weights)).labels
    )


def test_missing_cells_say_nothing_and_are_not_odd():
    values, codes, *_ = spoilt(6, wrong=0.0)
    holes = np.zeros(values.shape, dtype=bool)
    holes[:50] = True
    made_up = np.where(holes, 1e9, values)
    lacking = holes.mean(axis=1)
    judge = judge_of(model(), made_up, codes, lacking=lacking, holes=holes)
    found = judge.judged(judge.own_weights())
    # A row without a cell has the client's shares as what its label may be.
    expected = judge.own.shares ** judge.own_weights().sum()
    np.testing.assert_allclose(found.labels.right[:50], (expected / expected.sum())[codes[:50]], rtol=1e-6)
    assert np.median(found.features[:50]) <= np.median(found.features[50:]) + 1.0
    whole = judge_of(model(), values[50:], codes[50:])
    np.testing.assert_allclose(judge.own.mean, whole.own.mean, rtol=1e-9)


def test_rows_of_classes_that_the_model_does_not_know_have_no_part_in_labels():
    values, codes, *_ = spoilt(7)
    codes = np.where(np.arange(400) < 30, -1, codes)
    judge = judge_of(model(reference=True), values, codes)
    found = judge.judged(judge.own_weights())
    evidence = judge.evidence(found)
    assert (~found.labels.known).sum() == 30
    assert (evidence.labels.sum(), evidence.features.sum()) == (370, 400)
    nobody = judge_of(model(), values, np.full(400, -1))
    silent = nobody.evidence(nobody.judged(nobody.own_weights()))
    assert not silent.likelihood.any()
    assert not silent.labels.any()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("array", ["means", "covariance", "scale", "centre", "counts"])
@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e150, 1e300])
@pytest.mark.parametrize("guarded", [False, True])
def test_a_servers_huge_and_tiny_numbers_fail_nobody(array, size, guarded):
    """Whether there is an answer must not tell of a row."""
    values, codes, *_ = spoilt(8, 60)
    arrays = model().others.to_arrays()
    arrays[array] = arrays[array] * size
    judge = judge_of(JudgingModel(NAMES, Discriminant(**arrays)), values, codes)
    groups = Groups(np.arange(60), 5) if guarded else None
    weights = judge.own_weights(groups)
    told = judge.evidence(judge.judged(weights), groups).to_arrays()
    assert np.isfinite(weights).all()
    assert all(np.isfinite(numbers).all() for numbers in told.values())
    assert told["labels"].sum() == told["features"].sum() == 60


def test_columns_that_take_a_row_away_are_named():
    values, codes, *_ = spoilt(9, wrong=0.0)
    values[7, 2] += 60.0
    values[300, [0, 3]] += 60.0
    judge = judge_of(model(), values, codes)
    found = judge.odd_columns(np.array([7, 300]), ["age", "scan"], np.array([0, 2]))
    assert found[0] == "scan"
    assert set(found[1].split(", ")) <= {"age", "scan"}


# --- labels that are numbers ------------------------------------------------------------------------------


def numbers_of(seed, rows=300, *, shift=0.0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 4))
    return values + shift, values @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=rows) + shift


def numeric_model(*, reference=False):
    values, labels = numbers_of(0, 2000)
    others = discriminant(np.column_stack([values, labels]), np.zeros(2000, dtype=int), 1)
    if not reference:
        return JudgingModel(("",), others)
    line = fit_line(*numbers_of(1), seed=0).line
    return JudgingModel(("",), others, ReferenceModel(line, np.zeros((1, 4)), np.ones(4)))


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_wrong_numbers_stand_out_and_right_ones_are_suggested(reference, shift):
    values, labels = numbers_of(2, shift=shift)
    right = labels.copy()
    labels[:40] = np.random.default_rng(3).permutation(labels[:40]) + 3.0
    judge = judge_of(numeric_model(reference=reference), values, labels)
    weights = judge.own_weights()
    found = judge.judged(weights)
    assert len(weights) == (6 if reference else 4)
    assert roc_auc_score(np.arange(300) < 40, found.labels.surprise) > 0.9
    assert np.median(np.abs(found.suggested - right)) < 0.5
    assert SHARES[judge.evidence(found).likelihood.argmax()] == pytest.approx(40 / 300, abs=0.06)


# --- a reference's own rows ---------------------------------------------------------------------------------


def test_no_row_of_a_reference_judges_itself():
    """Labels drawn at random are as likely as chance, though there are many coordinates to learn them by."""
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=(90, 30)), rng.permutation(np.arange(90) % 2)
    fold = np.arange(90) % 5
    whole = discriminant(values, codes, 2)

    def without(number):
        kept = fold != number
        part = discriminant(values[kept], codes[kept], 2)
        return Discriminant(part.centre, part.scale, part.counts, part.means, part.covariance)

    folds = [(without(number), np.flatnonzero(fold == number)) for number in range(5)]
    judge = held_out_judge(JudgingModel(("a", "b"), whole), folds, values, codes, None)
    naive = judge_of(JudgingModel(("a", "b"), whole), values, codes)
    weights = np.array([1.0, 0.01, 0.01])
    assert np.log(judge.judged(weights).labels.right).mean() < np.log(0.5)
    assert np.log(naive.judged(weights).labels.right).mean() > np.log(0.55)
    own = np.array([0.01, 0.01, 1.0])
    assert np.log(judge.judged(own).labels.right).mean() < np.log(0.5)


def test_what_is_said_of_a_reference_comes_from_its_folds_and_out_of_fold_scores_alone():
    values, codes = rows_of(1, 300)
    fitted = fit_scoring_model(values, codes, NAMES, seed=0)
    full = model(reference=True)
    folds = [(full.others, np.arange(300))]
    misled = Discriminant(*(part for part in full.others.to_arrays().values()))
    misled = Discriminant(misled.centre, misled.scale, misled.counts, -misled.means, misled.covariance)
    one = held_out_judge(full, folds, values, codes, fitted.log_probabilities)
    two = held_out_judge(JudgingModel(NAMES, misled, full.reference), folds, values, codes, fitted.log_probabilities)
    np.testing.assert_array_equal(one._seen[0].array(), two._seen[0].array())
    said = one._seen[0].array().reshape(300, 5, 3)
    np.testing.assert_array_equal(said[:, 3], said[:, 4])
    prior = np.log(one.own.shares) - fitted.model.log_prior
    expected = fitted.log_probabilities + prior
    expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(said[:, 3], expected, atol=1e-9)


def test_classes_that_the_reference_lacks_keep_what_others_say_of_them():
    by_others = np.log(np.array([[0.2, 0.3, 0.5]]))
    found = np.exp(with_classes(np.log(np.array([[9.0, 1.0]])), np.array([0, 2]), by_others))
    np.testing.assert_allclose(found, [[0.7 * 0.9, 0.3, 0.7 * 0.1]])
    swapped = np.exp(with_classes(np.log(np.array([[1.0, 2.0, 3.0]])), np.array([2, 0, 1]), by_others))
    np.testing.assert_allclose(swapped, [[2 / 6, 3 / 6, 1 / 6]])


# --- what leaves in groups ----------------------------------------------------------------------------------


def test_the_usual_distance_is_a_mean_of_a_group_in_the_middle():
    distances = np.exp(np.arange(101.0) - 50.0)
    assert middle(distances) == pytest.approx(1.0)
    assert middle(distances, least=31) == pytest.approx(1.0)
    assert middle(np.array([2.0])) == 2.0
    assert middle(np.array([1.0, np.e**2, np.e**4]), least=3) == pytest.approx(np.e**2)


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.3])
def test_groups_hardly_change_an_honest_likelihood(wrong):
    for seed in range(5):
        values, codes, *_ = spoilt(20 + seed, 200, wrong=wrong)
        judge = judge_of(model(), values, codes)
        judged = judge.judged(judge.own_weights())
        exact, grouped = (
            SHARES[judge.evidence(judged, groups).likelihood.argmax()] for groups in (None, Groups(np.arange(200), 5))
        )
        assert grouped == pytest.approx(exact, abs=0.031)


def test_groups_hardly_change_honest_weights():
    values, codes, *_ = spoilt(30, 400)
    judge = judge_of(model(), values, codes)
    exact, grouped = judge.own_weights(), judge.own_weights(Groups(np.arange(400), 5))
    assert np.abs(np.log(grouped / exact)).max() < 0.15


def test_odds_are_those_of_a_group_or_of_the_next_one():
    wrong = np.full(100, 0.5)
    one = np.where(np.arange(100) == 7, 1e-9, 0.9)
    nobody = np.full(100, 0.9)
    for right in (one, np.where(np.arange(100) == 7, 0.4, 0.9)):
        found, expected = (shared_odds(p, wrong, Groups(np.arange(100), 5)) for p in (right, nobody))
        np.testing.assert_array_equal(found[0], expected[0])
    five = shared_odds(np.where(np.arange(100) < 5, 1e-9, 0.9), wrong, Groups(np.arange(100), 5))[0]
    assert (five < 0.01).sum() == 5
    assert np.abs(np.log(shared_odds(nobody, wrong, Groups(np.arange(100), 5))[0] / 1.8)).max() <= 0.1 + 1e-9


def test_a_likelihood_is_silent_where_one_row_decides():
    nobody = np.full(200, 0.5)
    assert one_row_decides(np.where(np.arange(200) == 7, 1e-9, nobody), nobody, 5)
    sure = np.where(np.arange(200) < 20, 0.01, 0.99)
    assert not one_row_decides(sure, nobody, 5)
    assert one_row_decides(sure[:9], nobody[:9], 5)
    assert SHARES[share_likelihood(sure, nobody).argmax()] == pytest.approx(0.19, abs=0.03)
