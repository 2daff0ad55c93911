"""The laboratory's commands beside the core's: lists, JSON, options, completion, help, data sets."""

import json
from dataclasses import fields

import pytest
import typer
from shells import offered

import fedbary as fb
from fedbary.cli.app import app
from fedbary.valuation.rows import RowRules
from fedbary_lab.cli import completion
from fedbary_lab.training.fedavg_settings import FedAvg

pytest_plugins = ["cli_fixtures", "plug_ins"]
BASE = ("--label", "ill", "--id", "id", "--reference", "reference.csv")
COMMANDS = typer.main.get_command(app).commands
OURS = ("compare", "boost", "datasets", "reproduce")


def test_datasets_lists_names_and_whether_they_are_here(fedbary, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = fedbary("datasets")
    assert code == 0
    assert any(line.split()[:5] == ["digits", "1,797", "64", "10", "yes"] for line in out.splitlines())
    assert all(name in out for name in fb.datasets.names())


def test_datasets_lists_those_of_other_packages_without_loading_them(fedbary, install, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    install("beans_of_mine", "1 / 0", {"fedbary.datasets": {"beans": "beans_of_mine:beans"}}, version="2.1")
    _, out, _ = fedbary("datasets")
    assert ["beans", "–", "–", "–", "yes", "beans_of_mine", "2.1"] in [line.split() for line in out.splitlines()]
    _, out, _ = fedbary("datasets", "beans", "--json")
    assert json.loads(out)["datasets"][0]["rows"] is None


def test_lists(parsed):
    assert {one["name"] for one in parsed("datasets")["datasets"]} == set(fb.datasets.names())
    assert parsed("datasets", "digits")["datasets"][0]["rows"] == 1797
    assert "detection" in {one["name"] for one in parsed("reproduce", "--list")["experiments"]}
    assert {"exactfed", "sketch"} <= {one["name"] for one in parsed("compare", "--list")["methods"]}
    assert "knn-shapley" in {one["name"] for one in parsed("compare", "--list", "--rows")["methods"]}


def test_methods_that_train(parsed, sites):
    options = (sites, *BASE, "--rounds", 2)
    content = parsed("compare", *options, "--methods", "cgsv,sketch")
    assert content["summary"][0]["spearman"] is None  # there is no truth to compare with
    assert len(parsed("compare", sites, *BASE, "--rows", "--methods", "knn-shapley", "-o", "rows")["rows"]) == 90
    (sites.parent / "test.csv").write_bytes((sites / "south.csv").read_bytes())
    content = parsed("boost", *options, "--test", "test.csv", "--how", "drop")
    assert [one["how"] for one in content["outcomes"]] == ["none", "drop"]


def test_reproduce(fedbary, tmp_path, monkeypatch):
    from fedbary_lab.experiments import accuracy

    cells = accuracy.cells
    monkeypatch.setattr(accuracy, "cells", lambda smoke: cells(smoke)[:1])
    monkeypatch.chdir(tmp_path)
    code, out, err = fedbary("reproduce", "accuracy", "--smoke", "--workers", 1, "--json")
    assert (code, "[1/1]" in err) == (0, True)
    content = json.loads(out, parse_constant=pytest.fail)
    assert (content["experiment"], len(content["table"])) == ("accuracy", 1)


def test_the_names_are_those_of_the_registries():
    from fedbary_lab import datasets
    from fedbary_lab.baselines.clients import METHODS
    from fedbary_lab.baselines.row_methods import ROW_METHODS
    from fedbary_lab.comparison import PROTOCOL_METHODS
    from fedbary_lab.comparison.protocols import ROW_PROTOCOLS
    from fedbary_lab.experiments import EXPERIMENTS

    assert set(completion.CLIENT_METHODS) == {*METHODS, *PROTOCOL_METHODS}
    assert set(completion.ROW_METHODS) == {*ROW_METHODS, *ROW_PROTOCOLS}
    assert tuple(experiment.name for experiment in EXPERIMENTS) == completion.EXPERIMENTS
    assert tuple(datasets.describe()["name"]) == completion.DATASETS


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("fedbary compare --methods mr,gtg-o", ["mr,gtg-oti"]),
        ("fedbary compare --rows --methods kn", ["knn-shapley"]),
        ("fedbary datasets mn", ["mnist"]),
        ("fedbary reproduce five", ["five-cases"]),
    ],
)
def test_bash_is_offered_names_of_the_laboratory(tmp_path, line, names):
    assert offered(line, tmp_path) == names


@pytest.mark.parametrize(
    ("command", "settings", "without"),
    [("boost", RowRules, {"rule"}), ("boost", FedAvg, {"seed"}), ("compare", FedAvg, {"seed"})],
)
def test_every_field_of_a_training_is_an_option_with_its_default(command, settings, without):
    found = {option.name: option for option in COMMANDS[command].params}
    for field in fields(settings):
        if field.name not in without:
            assert found[field.name].default == field.default
            assert found[field.name].opts == [f"--{field.name.replace('_', '-')}"]
            assert len(found[field.name].help.split()) >= 2
            assert found[field.name].help.endswith(".")


@pytest.mark.parametrize("name", OURS)
def test_help_prints_and_results_are_printed_as_json(fedbary, name):
    code, out, _ = fedbary(name, "--help")
    assert code == 0
    assert "Usage" in out
    assert any("--json" in parameter.opts for parameter in COMMANDS[name].params)


def test_names_that_do_not_exist_are_guessed():
    pytest.importorskip("torch")
    from fedbary_lab.experiments import find

    table = fb.Table({"age": [float(age) for age in range(80)]}, labels=[0] * 40 + [1] * 40)
    calls = {
        "(did you mean 'mnist'?)": lambda: fb.datasets.load("minst"),
        "(did you mean 'detection'?)": lambda: find("detecton"),
        "(did you mean 'cgsv'?)": lambda: fb.compare_clients({"a": table}, table, methods=["csgv"]),
        "(did you mean 'knn-shapley'?)": lambda: fb.compare_rows({"a": table}, table, methods=["knn"]),
        "(did you mean 'relabel'?)": lambda: fb.boost({"a": table}, table, table, how=["relable"]),
    }
    for guess, call in calls.items():
        with pytest.raises(fb.FedbaryError) as caught:
            call()
        assert guess in str(caught.value)
