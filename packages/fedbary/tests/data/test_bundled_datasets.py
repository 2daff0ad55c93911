"""The data sets that come with scikit-learn, by name."""

import numpy as np
import pytest

from fedbary.data import datasets


@pytest.mark.parametrize(("name", "classes"), [("digits", 10), ("breast-cancer", 2)])
def test_bundled_classes_are_split_70_30_and_stratified(name, classes):
    data = datasets.load(name)
    assert len(data.test) / len(data.all()) == pytest.approx(0.3, abs=0.002)
    shares = [np.bincount(part.labels) / len(part) for part in (data.train, data.test)]
    np.testing.assert_allclose(*shares, atol=0.01)
    assert len(data.class_names) == classes
    again = datasets.load(name)
    np.testing.assert_array_equal(data.train.labels, again.train.labels)


def test_digits_are_one_block_and_tumours_have_named_columns():
    assert datasets.load("digits").train.columns["x"].shape == (1257, 64)
    assert "mean radius" in datasets.load("breast-cancer").train.column_names


def test_diabetes_is_a_regression():
    data = datasets.load("diabetes")
    assert not data.train.has_classes
    assert data.class_names == ()
    assert (data.all().labels.min(), data.all().labels.max()) == (25.0, 346.0)
