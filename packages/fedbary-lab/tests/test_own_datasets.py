"""Data sets of one's own: registered by a program or offered by an installed package."""

import numpy as np
import pytest

from codes import coded, parameter
from fedbary import Table
from fedbary.data import datasets
from fedbary.errors import SettingsError

pytest_plugins = ["plug_ins"]
pytestmark = pytest.mark.usefixtures("own_names")

X = np.arange(40.0).reshape(20, 2)
y = np.array(["no", "yes"] * 10)


def test_features_and_labels_are_divided_like_our_own_data_sets():
    datasets.register("mine", lambda: (X, y), description="numbers")
    mine = datasets.load("mine")
    assert (mine.name, mine.description, mine.class_names) == ("mine", "numbers", ("no", "yes"))
    assert (len(mine.train), len(mine.test)) == (14, 6)
    assert mine.train.labels.sum() == 7
    assert "mine" in datasets.names()


def test_a_table_is_divided_and_parts_stay_apart():
    datasets.register("table", lambda: Table.from_arrays(X, y))
    assert len(datasets.load("table").test) == 6
    datasets.register("parts", lambda: (X[:15], y[:15], X[15:], y[15:]))
    parts = datasets.load("parts")
    np.testing.assert_array_equal(parts.train.columns["x"], X[:15])
    np.testing.assert_array_equal(parts.test.labels, [1, 0, 1, 0, 1])


def test_a_data_set_stays_as_it_is_and_a_regression_has_no_classes():
    whole = datasets.load("digits")
    datasets.register("whole", lambda: whole)
    assert datasets.load("whole") is whole
    datasets.register("numbers", lambda: (X, X[:, 0] + 0.5))
    assert datasets.load("numbers").class_names == ()
    assert not datasets.load("numbers").train.has_classes


def test_names_of_this_package_stay_and_own_ones_can_be_used_again():
    with pytest.raises(SettingsError, check=coded("settings.name-taken")):
        datasets.register("digits", lambda: (X, y))
    for name in ("", "a,b", " a", 3):
        with pytest.raises(SettingsError, check=parameter("name")):
            datasets.register(name, lambda: (X, y))
    datasets.register("mine", lambda: (X, y))
    datasets.register("mine", lambda: (X[:10], y[:10]))
    assert len(datasets.load("mine").all()) == 10


def failing():
    raise OSError("no disk")


@pytest.mark.parametrize(("load", "why"), [(failing, "OSError: no disk"), (lambda: X, "it gave ndarray instead")])
def test_a_function_that_does_not_load_is_named(load, why):
    datasets.register("mine", load)
    with pytest.raises(SettingsError, check=coded("data.dataset-not-loaded")) as caught:
        datasets.load("mine")
    assert caught.value.private["name"] == "mine"
    assert caught.value.private["why"].startswith(why)
    assert str(caught.value).count("'mine'") == 1


def test_an_installed_package_offers_a_data_set_that_is_loaded_when_it_is_asked_for(install, tmp_path):
    source = f"open({str(tmp_path / 'imported')!r}, 'w')\ndef beans():\n    return [[0.0], [1.0]] * 10, [0, 1] * 10\n"
    install("beans_of_mine", source, {"fedbary.datasets": {"beans": "beans_of_mine:beans"}}, version="2.1")
    assert "beans" in datasets.names()
    assert not (tmp_path / "imported").exists()
    assert len(datasets.load("beans").all()) == 20
    assert datasets.DATASETS.package("beans") == "beans_of_mine 2.1"
    assert datasets.DATASETS.package("digits") == ""


def test_a_broken_package_is_named_and_takes_nothing_else_down(install):
    install("broken", "import nowhere_to_be_found\n", {"fedbary.datasets": {"cracked": "broken:load"}})
    with pytest.raises(SettingsError, check=coded("settings.plug-in-broken")) as caught:
        datasets.load("cracked")
    assert caught.value.private["package"] == "broken 1.0"
    assert "nowhere_to_be_found" in caught.value.private["why"]
    assert len(datasets.load("digits").all()) == 1797


def test_two_packages_with_the_same_name_are_both_named(install):
    for package in ("one", "other"):
        install(package, "load = None\n", {"fedbary.datasets": {"same": f"{package}:load"}})
    with pytest.raises(SettingsError, check=coded("settings.plug-in-twice")) as caught:
        datasets.load("same")
    assert sorted(caught.value.private["packages"].split(", ")) == ["one 1.0", "other 1.0"]


def test_an_installed_package_cannot_replace_one_of_ours(install):
    install("greedy", "", {"fedbary.datasets": {"digits": "greedy:load"}})
    assert len(datasets.load("digits").all()) == 1797
