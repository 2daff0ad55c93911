"""Named data sets have the shapes they announce, and an absent one says what to do."""

import threading

import numpy as np
import pytest

from codes import coded
from fedbary.data import datasets
from fedbary.errors import DataError, DatasetUnavailable, SettingsError
from fedbary_lab import downloads
from fedbary_lab.datasets import STORED, describe


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("FEDBARY_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FEDBARY_DATA", raising=False)


def test_images_of_a_file_are_blocks_of_numbers_from_0_to_1(fashion):
    assert (len(fashion.train), len(fashion.test)) == (600, 30)
    pixels = fashion.train.columns["x"]
    assert (pixels.shape, pixels.dtype) == ((600, 784), np.float32)
    assert (pixels.min(), pixels.max()) == (0, 1)
    assert fashion.class_names[9] == "Ankle boot"
    assert set(fashion.test.labels) == set(range(len(fashion.class_names)))
    assert describe().set_index("name").loc["fashion-mnist", "available"]


@pytest.mark.parametrize("data", [data for data in STORED if data.source.openml], ids=lambda data: data.name)
def test_what_is_cut_from_openml_has_the_announced_size(data):
    assert sum(data.source.split) == data.rows
    assert not data.source.shape or np.prod(data.source.shape) == data.features


def unavailable(code):
    """The data set is not there, and why it could not be fetched."""

    def check(error):
        assert coded("data.dataset-unavailable")(error)
        assert error.private["why"].code == code
        return True

    return check


def test_an_absent_data_set_says_where_it_was_sought_and_what_to_do(tmp_path):
    with pytest.raises(DatasetUnavailable, check=unavailable("data.offline")) as caught:
        datasets.load("mnist")
    assert str(tmp_path / "cache" / "fedbary") in caught.value.private["folders"]
    assert caught.value.private["file"] == "mnist.npz"
    assert caught.value.private["keys"] == "X_train, y_train, X_test, y_test"
    assert not describe().set_index("name").loc["mnist", "available"]
    with pytest.raises(DatasetUnavailable, check=unavailable("data.not-on-openml")):
        datasets.load("cifar10-embeddings")


def test_an_unknown_name_is_corrected():
    with pytest.raises(SettingsError, check=coded("data.no-dataset")):
        datasets.load("minst")


def test_the_folder_of_fedbary_data_comes_first(monkeypatch, tmp_path):
    images = np.full((2, 28, 28), 255, np.uint8)
    arrays = {"X_train": images, "y_train": [0, 1], "X_test": images, "y_test": [1, 0]}
    np.savez(tmp_path / "mnist.npz", **arrays)
    monkeypatch.setenv("FEDBARY_DATA", str(tmp_path))
    data = datasets.load("mnist")
    assert len(data.train) == 2
    assert data.train.columns["x"].max() == 1
    assert data.train.labels.dtype == np.int64


@pytest.mark.parametrize(
    ("content", "code", "missing"),
    [
        ({"X_train": np.zeros(2)}, "data.arrays-missing", "y_train, X_test, y_test"),
        (None, "data.not-npz", None),
    ],
)
def test_a_bad_file_is_named(monkeypatch, tmp_path, content, code, missing):
    monkeypatch.setenv("FEDBARY_DATA", str(tmp_path))
    if content is None:
        (tmp_path / "mnist.npz").write_bytes(b"not a zip")
    else:
        np.savez(tmp_path / "mnist.npz", **content)
    with pytest.raises(DataError, check=coded(code)) as caught:
        datasets.load("mnist")
    assert caught.value.private["where"] == str(tmp_path / "mnist.npz")
    assert caught.value.private.get("missing") == missing


def test_pickled_arrays_are_never_loaded(monkeypatch, tmp_path):
    hostile = np.array([{"run": "me"}], dtype=object)
    np.savez(tmp_path / "mnist.npz", X_train=hostile, y_train=hostile, X_test=hostile, y_test=hostile)
    monkeypatch.setenv("FEDBARY_DATA", str(tmp_path))
    with pytest.raises(DataError, check=coded("data.not-npz")):
        datasets.load("mnist")


def fake_openml(monkeypatch, answer):
    """Stand in for the network, which no test may reach."""
    monkeypatch.delenv("FEDBARY_OFFLINE")
    monkeypatch.setattr("sklearn.datasets.fetch_openml", answer)


def test_what_openml_gives_is_cut_kept_and_read_again(monkeypatch):
    from sklearn.utils import Bunch

    kinds = np.array(["SEKER", "BOMBAY", "CALI"])[np.arange(13611) % 3]
    calls = []

    def answer(name, **_):
        calls.append(name)
        beans = np.random.default_rng(0).normal(size=(13611, 2))
        return Bunch(data=beans, target=kinds, feature_names=["Area", "Extent"])

    fake_openml(monkeypatch, answer)
    first, second = datasets.load("dry-bean"), datasets.load("dry-bean")
    assert calls == ["Dry_Bean_Dataset"]
    assert (len(first.train), len(first.test)) == (10543, 3000)
    assert second.class_names == ("BOMBAY", "CALI", "SEKER")
    assert second.train.column_names == ("Area", "Extent")
    assert second.train.columns["Area"].dtype == np.float64
    np.testing.assert_array_equal(first.train.columns["Area"], second.train.columns["Area"])


def test_colour_planes_from_openml_become_pixels():
    red, green, blue = np.full(4, 10), np.full(4, 20), np.full(4, 30)
    planes = np.tile(np.concatenate([red, green, blue]), (8, 1)).astype(float)
    source = downloads.Source("t.npz", split=(4, 2), shape=(2, 2, 3), planar=True)
    images = downloads.split_openml(source, planes, np.array(["0", "1"] * 4), [])["X_train"]
    assert images.dtype == np.uint8
    np.testing.assert_array_equal(images, np.broadcast_to([10, 20, 30], (4, 2, 2, 3)))


def test_measurements_from_openml_are_standardised():
    rng = np.random.default_rng(0)
    source = downloads.Source("t.npz", split=(60, 20))
    parts = downloads.split_openml(source, rng.normal(5, 3, (100, 2)), np.array(["b", "a"] * 50), ["u", "v"])
    np.testing.assert_allclose(parts["X_train"].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(parts["X_train"].std(axis=0), 1, atol=1e-6)
    assert parts["classes"].tolist() == ["a", "b"]


def test_openml_that_fails_or_hangs_is_given_up(monkeypatch):
    def fail(name, **_):
        raise OSError("no network")

    fake_openml(monkeypatch, fail)
    with pytest.raises(DatasetUnavailable, check=unavailable("data.openml-failed")) as caught:
        datasets.load("mnist")
    assert caught.value.private["why"].facts == {"name": "mnist_784", "why": "no network"}
    given_up = threading.Event()
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda name, **_: given_up.wait(600))
    monkeypatch.setattr(downloads, "OPENML_SECONDS", 0.1)
    with pytest.raises(DatasetUnavailable, check=unavailable("data.openml-slow")):
        datasets.load("mnist")
    given_up.set()
