"""Leave-one-out by brute force, and the list of row-level methods."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import DataError, SettingsError
from fedbary.valuation.rows import ROW_COLUMNS
from fedbary_lab.baselines import ROW_METHODS, row_loo
from fedbary_lab.baselines.clients import METHODS
from fedbary_lab.baselines.logistic import IMPOSSIBLE, cross_validate

PLAIN = fb.Space(projection="none", scaling="none")


def blobs(seed, size, classes=3):
    rng = np.random.default_rng(seed)
    codes = np.arange(size) % classes
    return 2.0 * np.eye(3)[codes] + rng.standard_normal((size, 3)), codes


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("utility", ["accuracy", "log-loss"])
def test_leave_one_out_is_what_fits_from_scratch_say(utility, classes):
    X, y = blobs(0, 40, classes)
    R, z = blobs(1, 60, classes)
    strength = cross_validate(X, y).strength

    def score(rows):
        model = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000).fit(X[rows], y[rows])
        if utility == "accuracy":
            return (model.predict(R) == z).mean()
        return model.predict_log_proba(R)[np.arange(60), z].mean()

    everything = np.arange(40)
    expected = [score(everything) - score(np.delete(everything, row)) for row in everything]
    rows = row_loo(fb.Table.from_arrays(X, y), fb.Table.from_arrays(R, z), utility=utility, space=PLAIN)
    assert rows["value"].to_numpy() == pytest.approx(np.array(expected), abs=1e-6)


def test_log_loss_finds_wrong_labels_that_accuracy_hardly_sees():
    digits = fb.datasets.load("digits")
    table, mask = fb.corruptions.flip_labels(digits.test.take(np.arange(150)), 0.1, seed=0)
    accuracy, loss = (
        row_loo(table, digits.train, utility=which)["value"].to_numpy() for which in ("accuracy", "log-loss")
    )
    assert (loss[mask][:, None] < loss[~mask]).mean() > 0.9
    assert len(np.unique(accuracy)) < 30
    assert len(np.unique(loss)) == 150


def test_the_only_row_of_a_class_is_worth_that_class():
    table = fb.Table.from_arrays([[0.0], [0.1], [0.2], [5.0]], ["a", "a", "a", "b"])
    reference = fb.Table.from_arrays([[0.0], [5.0]], ["a", "b"])
    assert row_loo(table, reference, space=PLAIN)["value"].tolist()[3] == 0.5
    lost = row_loo(table, reference, space=PLAIN, utility="log-loss")["value"][3]
    assert lost == pytest.approx(IMPOSSIBLE / 2, rel=0.01)


def test_a_table_of_one_class_or_of_classes_nobody_asks_for_loses_nothing():
    reference = fb.Table.from_arrays([[0.0], [5.0]], ["a", "b"])
    one = fb.Table.from_arrays([[0.0], [0.1], [0.2]], ["a", "a", "a"])
    other = fb.Table.from_arrays([[0.0], [0.1], [4.0], [5.0]], ["c", "c", "d", "d"])
    assert row_loo(one, reference)["value"].tolist() == [0.0] * 3
    assert row_loo(other, reference)["value"].tolist() == [0.0] * 4


def test_a_single_row_and_unknown_utilities_are_refused():
    table = fb.Table.from_arrays([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(DataError, check=coded("research.only-row")):
        row_loo(table.take(np.array([0])), table)
    with pytest.raises(SettingsError, check=parameter("utility")):
        row_loo(table, table, utility="f1")


@pytest.mark.parametrize("name", ROW_METHODS)
def test_every_method_gives_our_frame_with_wrong_labels_below_right_ones(name):
    X, y = blobs(3, 30)
    spoilt = y.copy()
    spoilt[:5] = (y[:5] + 1) % 3
    table = fb.Table.from_arrays(2.0 * X, spoilt, ids=[f"r{row}" for row in range(30)])
    reference = fb.Table.from_arrays(*(2.0 * blobs(4, 60)[0], blobs(4, 60)[1]))
    rows = ROW_METHODS[name].compute(table, reference, seed=0)
    assert tuple(rows.columns) == tuple(ROW_COLUMNS)
    assert rows["row"].tolist() == table.row_names.tolist()
    value = rows["value"].to_numpy()
    assert np.isfinite(value).all()
    assert value[:5].mean() < value[5:].mean()


def test_names_are_typed_once():
    assert all(name == method.name for name, method in ROW_METHODS.items())
    assert not ROW_METHODS.keys() & METHODS.keys()
    assert all(method.does for method in ROW_METHODS.values())


def test_listing_the_methods_imports_nothing_heavy():
    heavy = ("torch", "sklearn", "scipy", "pandas", "ot", "pydvl", "cleanlab", "joblib")
    look = f"print([name for name in {heavy!r} if name in sys.modules])"
    code = f"import sys, fedbary_lab.baselines.row_methods; {look}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
