"""The scoring model: it learns classes, travels as arrays, and names no small group."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from codes import coded
from fedbary.errors import DataError, ProtocolError
from fedbary.judging.grouping import fewest_coordinates, grouped, grouped_by_class, k_means
from fedbary.judging.log_loss import LogisticRegressions, fit_blend, fit_class_scales, log_loss
from fedbary.judging.scoring import Centroids, ScoringModel
from fedbary.judging.scoring_fit import fit_scoring_model, soft_minima
from fedbary.transport.solve import cost_matrix


def blobs(rows=400, width=6, classes=3, seed=0, centres=4.0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, rows)
    means = np.random.default_rng(99).normal(size=(classes, width)) * centres / np.sqrt(width)
    return means[codes] + rng.normal(size=(rows, width)), codes


@pytest.fixture(scope="module")
def fitted():
    values, codes = blobs()
    return fit_scoring_model(values, codes, ("a", "b", "c"), seed=0)


def test_it_ranks_wrong_labels(fitted):
    values, codes = blobs(seed=1)
    wrong = np.arange(400) < 60
    given = np.where(wrong, (codes + 1) % 3, codes)
    log_p = fitted.model.scores(values)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0)
    assert roc_auc_score(wrong, -log_p[np.arange(400), given]) > 0.95


def test_out_of_fold_scores_are_those_of_new_rows(fitted):
    """Calibration rows must look like rows that the model has not seen."""
    values, codes = blobs(rows=4000, seed=3)
    fresh = log_loss(fitted.model.scores(values), codes)
    held_out = log_loss(fitted.log_probabilities, blobs()[1])
    assert held_out == pytest.approx(fresh, abs=0.06)


def test_it_travels_as_arrays_without_loss(fitted):
    arrays = fitted.model.to_arrays()
    assert all(isinstance(array, np.ndarray) and array.dtype.kind in "fiu" for array in arrays.values())
    again = ScoringModel.from_arrays(arrays)
    values, _ = blobs(seed=5)
    np.testing.assert_array_equal(again.scores(values), fitted.model.scores(values))
    assert again.classes == ("a", "b", "c")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: a.pop("blend"),
        lambda a: a.update(mean=a["mean"][:-1]),
        lambda a: a.update(scales=a["scales"] * np.nan),
        lambda a: a.update(biases=a["biases"][:, :1]),
    ],
)
def test_a_model_that_does_not_fit_together_is_refused(fitted, spoil):
    arrays = fitted.model.to_arrays()
    spoil(arrays)
    if "biases" in arrays and arrays["biases"].shape[1] == 1:
        ScoringModel.from_arrays(arrays)  # one offset for all classes is a model, too
        return
    with pytest.raises(
        ProtocolError, check=coded("valuation.scoring-model-incoherent", "valuation.scoring-model-not-finite")
    ):
        ScoringModel.from_arrays(arrays)


def test_a_huge_model_is_refused(fitted, monkeypatch):
    monkeypatch.setattr("fedbary.judging.scoring.MAX_BYTES", 10)
    with pytest.raises(ProtocolError, check=coded("valuation.scoring-model-too-large")):
        ScoringModel.from_arrays(fitted.model.to_arrays())


def test_a_model_too_large_for_the_rows_is_refused_before_memory_is_asked_for(fitted):
    """256 MiB of centroids in one direction are ten million; with a thousand rows that would be 80 gigabytes."""
    arrays = fitted.model.to_arrays()
    times = 2**20 // len(arrays["shared.points"])
    for name in ("points", "classes", "weights"):
        arrays[f"shared.{name}"] = np.concatenate([arrays[f"shared.{name}"]] * times)
    model = ScoringModel.from_arrays({**arrays, "shared.weights": arrays["shared.weights"] / times})
    rows = np.zeros((1000, len(arrays["mean"])))
    with pytest.raises(ProtocolError, check=coded("valuation.scoring-model-too-large-for-rows")):
        model.scores(rows)
    assert fitted.model.scores(rows).shape == (1000, 3)


@pytest.mark.parametrize("most", [1, 3, 10, 100])
@pytest.mark.parametrize("min_group", [2, 5])
def test_no_group_is_smaller_than_min_group(most, min_group):
    values, codes = blobs(rows=100)
    groups = grouped(values, most, min_group=min_group, seed=0)
    assert np.bincount(groups).min() >= min_group
    centroids = Centroids.of(values, codes, grouped_by_class(values, codes, most, min_group=min_group, seed=0))
    sizes = centroids.weights * np.bincount(codes)[centroids.classes]
    assert sizes.min() >= min_group - 1e-9


def test_small_classes_and_single_classes_are_refused():
    values, codes = blobs(rows=50)
    codes[:] = np.where(np.arange(50) < 3, 1, 0)
    with pytest.raises(DataError, check=coded("valuation.scoring-too-few-rows")):
        fit_scoring_model(values, codes, ("a", "b"))


def test_the_soft_minimum_is_a_mixture_log_density():
    values, codes = blobs(rows=60)
    centroids = Centroids.of(values, codes, grouped_by_class(values, codes, 3, min_group=5, seed=0))
    potentials = centroids.potentials(values, 2.0, 3)
    mine = centroids.classes == 1
    squared = ((values[:, None] - centroids.points[mine][None]) ** 2).sum(axis=2)
    expected = -2.0 * np.log((centroids.weights[mine] * np.exp(-squared / 2.0)).sum(axis=1))
    np.testing.assert_allclose(potentials[:, 1], expected, rtol=1e-9)


def test_calibration_repairs_scale_and_offset():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 3000)
    logits = rng.normal(size=(3000, 3)) + 2.0 * np.eye(3)[codes]
    prior = np.zeros(3)
    scales, biases = fit_class_scales(-5.0 * logits - np.array([1.0, 0.0, 0.0]), prior, codes, 1.0)
    calibrated = log_softmax(scales * 5.0 * logits + scales * np.array([1.0, 0.0, 0.0]) + biases, axis=1)
    assert log_loss(calibrated, codes) < log_loss(log_softmax(5.0 * logits, axis=1), codes)
    blend = fit_blend([calibrated, log_softmax(rng.normal(size=(3000, 3)), axis=1)], codes)
    assert blend[0] > 0.5
    assert blend[1] < 0.2


def whitened(metric, values, a):
    return metric.rescale(metric.rotate(values), a)


def few_rows_of_many_features(rows=60, width=200):
    rng = np.random.default_rng(3)
    codes = np.arange(rows) % 3
    return 3.0 * np.eye(3, width)[codes] + rng.normal(size=(rows, width)), codes


def test_the_metric_of_few_rows_is_that_of_their_whole_covariance():
    """Also for new rows, which lie off what the fitted ones span: there the covariance is the shrinkage's level."""
    values, codes = few_rows_of_many_features()
    metric, a = fit_scoring_model(values, codes, ("a", "b", "c"), min_group=2, seed=0).model.metric, 0.3
    centred = values - np.array([values[codes == code].mean(axis=0) for code in range(3)])[codes]
    covariance = centred.T @ centred / len(values)
    shrunk = (1.0 - a) * covariance + a * np.trace(covariance) / 200 * np.eye(200)
    new = np.random.default_rng(4).normal(size=(7, 200))
    away = new[:, None] - values[None, :5]
    expected = np.einsum("ijk,kl,ijl->ij", away, np.linalg.inv(shrunk), away)
    found = cost_matrix(whitened(metric, new, a), whitened(metric, values[:5], a), 2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_centroids_of_few_rows_are_means_of_theirs():
    values, codes = few_rows_of_many_features()
    model = fit_scoring_model(values, codes, ("a", "b", "c"), min_group=20, seed=0).model
    means = np.array([values[codes == code].mean(axis=0) for code in range(3)])
    np.testing.assert_allclose(model.centroids.points, whitened(model.metric, means, model.shrinkage), atol=1e-8)
    assert (model.scores(means).argmax(axis=1) == np.arange(3)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_linear_parts_are_logistic_regressions(classes):
    """One with all rows, and one without the rows of each fold, as scikit-learn finds them."""
    values, codes = blobs(rows=300, classes=classes, centres=2.0)
    values = values - values.mean(axis=0)
    out = np.arange(0, 300, 5)
    regressions = LogisticRegressions(values, codes, classes, [out])
    found = regressions.fit(0.1)
    seen = (np.delete(np.arange(300), out), np.arange(300))
    for lines, offsets, rows in zip(regressions.coefficients(found), found[..., -1], seen, strict=True):
        known = LogisticRegression(C=0.1, tol=1e-8, max_iter=1000).fit(values[rows], codes[rows])
        logits = values @ lines.T + offsets
        np.testing.assert_allclose(np.exp(log_softmax(logits, axis=1)), known.predict_proba(values), atol=0.01)


def test_regressions_do_not_depend_on_the_axes_that_rows_are_given_along():
    """Axes by classes would tell the labels of rows that a fold has left out, where rows are fewer than columns."""
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=(90, 200)), rng.permutation(np.arange(90) % 3)
    values = values - values.mean(axis=0)
    turned = values @ np.linalg.qr(rng.normal(size=(200, 200)))[0]
    folds = [np.arange(start, 90, 5) for start in range(5)]
    here, there = (LogisticRegressions(rows, codes, 3, folds) for rows in (values, turned))
    np.testing.assert_allclose(here.potentials(here.fit(1.0)), there.potentials(there.fit(1.0)), atol=1e-6)


@pytest.mark.parametrize("width", [2, 50])
def test_k_means_is_that_of_scikit_learn(width):
    values = np.random.default_rng(0).normal(size=(40, width))
    groups, _ = k_means(fewest_coordinates(values), 5, seed=7)
    np.testing.assert_array_equal(groups, KMeans(5, n_init=1, max_iter=50, random_state=7).fit(values).labels_)


def test_soft_minima_of_several_temperatures_are_those_of_each():
    values, codes = blobs(rows=60)
    centroids = Centroids.of(values, codes, grouped_by_class(values, codes, 3, min_group=5, seed=0))
    costs = cost_matrix(values, centroids.points, 2)
    for epsilon, found in zip((8.0, 4.0, 1.0), soft_minima(costs, centroids, (8.0, 4.0, 1.0), 3), strict=True):
        np.testing.assert_allclose(found, centroids.potentials(values, epsilon, 3), rtol=1e-12, atol=1e-12)
