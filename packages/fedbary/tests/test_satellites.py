"""Without the other packages of this repository the core works, and says what to install where one is wanted."""

import importlib.util
import sys
from importlib.metadata import EntryPoint

import pytest

import fedbary as fb
from codes import coded
from fedbary import satellites
from fedbary.deploy.network import network
from fedbary.deploy.plan import Plan
from fedbary.errors import SettingsError

pytest_plugins = ["cli_fixtures"]


@pytest.fixture
def alone(monkeypatch):
    """As if nothing but the core were installed."""

    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(satellites, "find_spec", lambda name: None if name in satellites.EXTRAS else name)
    monkeypatch.setattr(satellites, "import_module", absent)
    monkeypatch.setattr("fedbary.deploy.network.NETWORKS", {})


@pytest.mark.parametrize("name", ["boost", "compare_clients", "TrainingLog"])
def test_a_name_of_the_laboratory_says_what_to_install(alone, name):
    with pytest.raises(SettingsError, check=coded("settings.package-missing")) as caught:
        getattr(fb, name)
    assert str(caught.value).endswith("pip install 'fedbary[lab]'")


@pytest.mark.parametrize(("module", "name"), [("flower", "answers"), ("nvflare", "recipe")])
def test_a_name_of_a_network_is_an_import_error_that_says_what_to_install(alone, module, name):
    home = importlib.import_module(f"fedbary.{module}")
    with pytest.raises(ImportError, match=rf"pip install 'fedbary\[{module}\]'"):
        getattr(home, name)
    with pytest.raises(AttributeError):
        _ = home.no_such_name


@pytest.mark.parametrize("engine", ["flower", "nvflare"])
def test_a_federation_over_a_network_that_is_not_there_is_refused(alone, engine):
    with pytest.raises(SettingsError, check=coded("settings.package-missing")):
        network(engine)


def test_a_network_of_another_package_can_be_planned(monkeypatch):
    with pytest.raises(SettingsError, check=coded("deploy.no-engine")):
        Plan(["north"], engine="pigeons")
    offered = [EntryPoint("pigeons", "pigeons.network", "fedbary.networks")]
    monkeypatch.setattr("fedbary.deploy.plan.entry_points", lambda group: offered)
    assert Plan(["north"], engine="pigeons").engine == "pigeons"


def test_a_command_of_the_laboratory_says_what_to_install(alone, fedbary, monkeypatch):
    from fedbary.cli import app

    theirs = {"compare", "boost", "datasets", "reproduce"}
    kept = [group for group in app.app.registered_groups if group.name]
    monkeypatch.setattr(app.app, "registered_groups", kept)
    assert theirs == set(satellites.COMMANDS)
    for name in theirs:
        code, out, err = fedbary(name, "--list")
        assert (code, out) == (2, "")
        assert "pip install 'fedbary[lab]'" in err


@pytest.mark.parametrize(("package", "extra"), satellites.EXTRAS.items())
def test_what_is_installed_hands_out_its_names(package, extra):
    pytest.importorskip(package)
    if extra == "lab":
        assert fb.boost.__module__.startswith("fedbary_lab")
        return
    home = importlib.import_module(f"fedbary.{extra}")
    assert set(home.__all__) == set(sys.modules[package].__all__ if package in sys.modules else ())
    for name in home.__all__:
        assert getattr(home, name).__module__.startswith(package)
