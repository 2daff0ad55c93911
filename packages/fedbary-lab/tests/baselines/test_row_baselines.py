"""Row baselines against known answers: brute-force Shapley values, planted label errors."""

import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import SettingsError
from fedbary.games import Game, exact_shapley
from fedbary_lab.baselines import cleanlab_values, knn_shapley, logistic_values
from fedbary_lab.baselines.logistic import IMPOSSIBLE, cross_validate


def tables(seed, rows=6, tests=4, classes=3):
    rng = np.random.default_rng(seed)

    def draw(size):
        return fb.Table.from_arrays(rng.standard_normal((size, 2)), rng.integers(0, classes, size))

    return draw(rows), draw(tests)


def shapley_by_enumeration(table, reference, k):
    X, y = table.columns["x"], table.labels
    order = [np.argsort(((X - x) ** 2).sum(axis=1)) for x in reference.columns["x"]]

    def utility(coalition):
        shares = [
            sum(y[row] == label for row in [row for row in near if row in coalition][:k]) / k
            for near, label in zip(order, reference.labels, strict=True)
        ]
        return np.mean(shares)

    rows = [str(row) for row in range(len(table))]
    return exact_shapley(Game.of(rows, lambda names: float(utility(set(map(int, names)))))).values


@given(st.integers(0, 10_000), st.integers(1, 8))
def test_knn_shapley_is_the_shapley_value_of_every_row(seed, k):
    table, reference = tables(seed)
    assert knn_shapley(table, reference, k=k)["value"].to_numpy() == pytest.approx(
        shapley_by_enumeration(table, reference, k), abs=1e-12
    )


def test_knn_shapley_does_not_depend_on_the_size_of_its_chunks(monkeypatch):
    table, reference = tables(0, rows=50, tests=40)
    whole = knn_shapley(table, reference)["value"].to_numpy()
    monkeypatch.setattr("fedbary_lab.baselines.neighbours._DISTANCES_AT_A_TIME", 150)
    assert knn_shapley(table, reference)["value"].to_numpy() == pytest.approx(whole, abs=1e-12)


@pytest.fixture(scope="module")
def spoilt():
    digits = fb.datasets.load("digits")
    table, mask = fb.corruptions.flip_labels(digits.test, 0.1, seed=0)
    return table, mask, digits


def auroc(mask, value):
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(mask, -value)


def test_knn_shapley_finds_wrong_labels(spoilt):
    table, mask, digits = spoilt
    assert auroc(mask, knn_shapley(table, digits.train)["value"]) > 0.97


def test_logistic_regression_finds_and_repairs_wrong_labels(spoilt):
    table, mask, digits = spoilt
    rows = logistic_values(table, digits.train)
    assert auroc(mask, rows["value"]) > 0.985
    assert (rows["suggested_label"][mask] == digits.test.labels[mask].astype(str)).mean() > 0.9
    assert (rows["suggested_label"] != table.labels.astype(str)).all()
    assert (rows["value"] == -rows["label_score"]).all()


def test_a_class_that_the_reference_lacks_is_worst_and_gets_a_suggestion():
    table, reference = tables(1, rows=20, tests=40)
    table = table.replace(labels=np.where(np.arange(20) == 3, 9, table.labels))
    rows = logistic_values(table, reference)
    assert rows["label_score"][3] == IMPOSSIBLE
    assert rows["value"].idxmin() == 3
    assert rows["suggested_label"][3] in {"0", "1", "2"}


def test_two_classes_have_probabilities_that_sum_to_one():
    table, reference = tables(2, rows=40, tests=80, classes=2)
    other = table.replace(labels=1 - table.labels)
    p, q = (np.exp(logistic_values(t, reference)["value"]) for t in (table, other))
    assert (p + q).to_numpy() == pytest.approx(1.0)


def test_cross_validation_survives_classes_of_one_row():
    X = np.random.default_rng(0).standard_normal((30, 2))
    codes = np.r_[np.zeros(28, dtype=int), 1, 2]
    log_p = cross_validate(X, codes).log_probabilities
    assert log_p.shape == (30, 3)
    assert np.exp(log_p).sum(axis=1) == pytest.approx(1.0)


def test_quantities_are_refused():
    table = fb.Table.from_arrays(np.zeros((9, 1)), np.linspace(0, 1, 9))
    with pytest.raises(SettingsError, check=coded("research.method-needs-classes")):
        knn_shapley(table, table)
    with pytest.raises(SettingsError, check=parameter("k")):
        knn_shapley(*tables(0), k=0)


def test_without_cleanlab_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab", None)
    monkeypatch.delitem(sys.modules, "cleanlab.rank", raising=False)
    with pytest.raises(SettingsError, check=coded("research.cleanlab-missing")):
        cleanlab_values(tables(0)[0])


@pytest.fixture
def cleanlab(monkeypatch):
    """The real package, or its one formula where the extra is not installed."""
    try:
        import cleanlab.rank  # noqa: F401
    except ImportError:
        rank = ModuleType("cleanlab.rank")
        rank.get_label_quality_scores = lambda labels, p, method: p[np.arange(len(labels)), labels]
        monkeypatch.setitem(sys.modules, "cleanlab", ModuleType("cleanlab"))
        monkeypatch.setitem(sys.modules, "cleanlab.rank", rank)


@pytest.mark.usefixtures("cleanlab")
def test_confident_learning_finds_wrong_labels_without_a_reference(spoilt):
    table, mask, _ = spoilt
    rows = cleanlab_values(table)
    assert auroc(mask, rows["value"]) > 0.95
    assert rows["value"].between(0, 1).all()


@pytest.mark.usefixtures("cleanlab")
def test_confident_learning_on_one_class_has_nothing_to_say():
    table = fb.Table.from_arrays(np.arange(9.0)[:, None], np.zeros(9, dtype=int))
    assert cleanlab_values(table)["value"].tolist() == [1.0] * 9
