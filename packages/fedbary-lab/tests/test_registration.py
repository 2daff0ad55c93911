"""Methods of one's own: registered by a program or offered by an installed package."""

import numpy as np
import pytest

import fedbary as fb
import fedbary_lab
from codes import coded
from fedbary.data.table import concat
from fedbary.errors import SettingsError
from fedbary_lab.baselines.clients import METHODS, Setting
from fedbary_lab.baselines.row_methods import ROW_METHODS

pytest_plugins = ["plug_ins", "cli_fixtures"]
pytestmark = pytest.mark.usefixtures("own_names")

ROWS = fb.Table.from_arrays([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])


def test_a_row_method_of_ones_own_is_compared_with_the_others():
    fedbary_lab.register_row_method("seeded", lambda table, reference, seed: np.full(len(table), seed + len(reference)))
    found = fb.compare_rows({"ann": ROWS}, ROWS, methods=["knn-shapley", "seeded"], seed=3)
    own = found.to_frame().query("method == 'seeded'")
    assert own["value"].tolist() == [7.0] * 4
    assert set(found.to_frame()["method"]) == {"knn-shapley", "seeded"}


def test_a_client_method_of_ones_own_is_compared_with_the_others():
    pytest.importorskip("torch")

    def by_rows(setting):
        """The number of rows."""
        return setting.log.counts

    fedbary_lab.register_client_method("by-rows", by_rows)
    clients = {"ann": ROWS, "bob": concat([ROWS, ROWS])}
    found = fb.compare_clients(clients, ROWS, methods=["by-rows", "cgsv"])
    assert found.scores["by-rows"].values.tolist() == [4, 8]
    assert METHODS["by-rows"].does == "The number of rows."


def test_what_it_does_can_be_said():
    fedbary_lab.register_row_method("mine", lambda *_: 0, does="nothing")
    assert ROW_METHODS["mine"].does == "nothing"
    assert "mine" in list(ROW_METHODS)


@pytest.mark.parametrize("register", ["register_row_method", "register_client_method"])
@pytest.mark.parametrize("name", ["sketch", "worth"])
def test_names_of_protocols_are_taken(register, name):
    with pytest.raises(SettingsError, check=coded("settings.name-taken")):
        getattr(fedbary_lab, register)(name, lambda *_: 0)


def test_names_of_methods_are_taken():
    with pytest.raises(SettingsError, check=coded("settings.name-taken")):
        fedbary_lab.register_row_method("lava", lambda *_: 0)
    with pytest.raises(SettingsError, check=coded("settings.name-taken")):
        fedbary_lab.register_client_method("gtg", lambda *_: 0)


def test_a_method_that_fails_says_so_and_the_others_go_on():
    fedbary_lab.register_row_method("failing", lambda *_: 1 / 0)
    fedbary_lab.register_row_method("short", lambda *_: [1.0])
    found = fb.compare_rows({"ann": ROWS}, ROWS, methods=["failing", "short", "knn-shapley"])
    assert found.failed["failing"]["ann"].code == "research.own-method-failed"
    assert found.failed["short"]["ann"].code == "research.own-values-shape"
    assert set(found.to_frame()["method"]) == {"knn-shapley"}


def test_a_client_method_gives_one_value_for_each_client():
    class Log:
        names = ("ann", "bob")

    setting = Setting(Log, evaluate=len)
    fedbary_lab.register_client_method("short", lambda _: [1.0])
    with pytest.raises(SettingsError, check=coded("research.own-values-shape")):
        METHODS["short"].compute(setting)
    scores = fb.ClientScores("mine", ("ann", "bob"), np.ones(2), np.zeros(2))
    fedbary_lab.register_client_method("whole", lambda _: scores)
    assert METHODS["whole"].compute(setting) is scores
    fedbary_lab.register_client_method("failing", lambda _: 1 / 0)
    with pytest.raises(SettingsError, check=coded("research.own-method-failed")):
        METHODS["failing"].compute(setting)


SOURCE = "def last_best(table, reference, seed):\n    'The place in the table.'\n    return range(len(table))\n"


def test_methods_of_installed_packages_are_listed_and_used(fedbary, install):
    broken = {"fedbary.row_methods": {"cracked": "own_rows:missing", "last-best": "own_rows:last_best"}}
    install("own_rows", SOURCE, broken)
    assert "last-best" not in list(ROW_METHODS)
    found = fb.compare_rows({"ann": ROWS}, ROWS, methods=["cracked", "last-best"])
    assert found.to_frame()["value"].tolist() == [0, 1, 2, 3]
    assert found.failed["cracked"]["ann"].code == "settings.plug-in-broken"
    code, out, _ = fedbary("compare", "--rows", "--list", "--json")
    assert code == 0
    assert "The place in the table." in out
    assert "The plug-in 'cracked' of own_rows 1.0 cannot be used" in out


def test_a_broken_client_method_takes_no_other_down(install):
    pytest.importorskip("torch")
    install("own_clients", "", {"fedbary.client_methods": {"cracked": "own_clients:missing"}})
    found = fb.compare_clients({"ann": ROWS, "bob": ROWS}, ROWS, methods=["cracked", "cgsv"])
    assert found.failed["cracked"].code == "settings.plug-in-broken"
    assert list(found.scores) == ["cgsv"]


def test_an_unknown_name_is_still_unknown():
    with pytest.raises(SettingsError, check=coded("research.no-such-method")):
        fb.compare_rows({"ann": ROWS}, ROWS, methods=["mine"])
    with pytest.raises(KeyError):
        METHODS["mine"]


def test_iterating_can_be_narrowed_for_a_while():
    with METHODS.narrowed(("mr", "loo")):
        assert list(METHODS) == ["loo", "mr"]
        assert len(METHODS) == 2
        assert METHODS["gtg"].title == "GTG-Shapley"
    assert "gtg" in list(METHODS)
