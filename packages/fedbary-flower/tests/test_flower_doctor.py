"""What `fedbary doctor` says of Flower: releases that were not tried, and programs that call home."""

from importlib import metadata

from fedbary_flower.doctor import findings
from fedbary_flower.scripts import ENVIRONMENT


def found():
    return {one.what: one for one in findings()}


def test_a_release_that_was_not_tried_is_a_problem(monkeypatch):
    real = metadata.version
    assert found()["fedbary-flower"].state == "ok"
    monkeypatch.setattr(metadata, "version", lambda name: "1.99.0" if name == "flwr" else real(name))
    assert found()["fedbary-flower"].state == "problem"
    assert "flwr 1.99.0" in found()["fedbary-flower"].words


def test_whether_flower_calls_home_is_said(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert found()["Flower telemetry"].words == "off"
    monkeypatch.delenv("FLWR_TELEMETRY_ENABLED")
    assert found()["Flower telemetry"].remedy == "export FLWR_TELEMETRY_ENABLED=0"
