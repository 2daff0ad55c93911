"""`fedbary doctor`: what is there, what is missing, and when that is a problem."""

import json
import socket
from importlib import metadata

import pytest

pytest_plugins = ["cli_fixtures"]


@pytest.fixture
def diagnosis(fedbary):
    def run(code=0):
        found, out, err = fedbary("doctor", "--json")
        assert (found, err) == (code, "")
        return {one["what"]: one for one in json.loads(out)["findings"]}

    return run


@pytest.fixture
def versions(monkeypatch):
    """Pretend that a package has another version, or none."""
    real, changed = metadata.version, {}

    def version(name):
        if name.lower() in changed:
            if changed[name.lower()] is None:
                raise metadata.PackageNotFoundError(name)
            return changed[name.lower()]
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    return changed


def test_a_sound_installation_is_healthy_without_any_network(fedbary, diagnosis, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    found = diagnosis()
    needed = {name for name, one in found.items() if one["needed"]}
    assert {"Python", "fedbary", "numpy", "pot", "typer"} <= needed
    assert all(found[name]["state"] == "ok" for name in needed)
    assert {f"extra {name}" for name in ("torch", "privacy", "images")} <= set(found)
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = fedbary("doctor")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80


def test_a_broken_core_is_a_problem_with_a_remedy_and_exit_code_2(diagnosis, versions):
    versions["scipy"] = "1.0.0"
    versions["jinja2"] = None
    found = diagnosis(code=2)
    assert found["scipy"]["words"] == "scipy 1.0.0, but >=1.13 is needed"
    assert found["scipy"]["remedy"] == "pip install 'scipy>=1.13'"
    assert (found["jinja2"]["state"], found["jinja2"]["words"]) == ("problem", "not installed")


def test_a_missing_extra_says_what_to_type(diagnosis, versions):
    versions["kaleido"] = None
    found = diagnosis()
    assert (found["extra images"]["state"], found["extra images"]["remedy"]) == (
        "missing",
        "pip install 'fedbary[images]'",
    )


def test_the_environment_is_looked_at(diagnosis, monkeypatch, tmp_path):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "taken").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
    found = diagnosis()
    assert found["browser"]["state"] == "missing"
    assert found["threads"]["words"].startswith("OMP_NUM_THREADS=3")
    assert found["cache"]["state"] == "problem"
