"""`fedbary compare`: tables at 80 columns, JSON, files, and mistakes in one sentence."""

import json

import pandas as pd
import pytest

pytest_plugins = ["cli_fixtures"]

BASE = ("compare", "sites", "--label", "ill", "--id", "id", "--reference", "reference.csv", "--rounds", 2)


def test_methods_are_compared_and_written(fedbary, sites, tmp_path):
    code, out, _ = fedbary(*BASE, "--methods", "exactfed, mr,sketch", "-o", "out")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for word in ("north", "south", "exactfed", "spearman", "evaluations", "written to out"):
        assert word in out
    assert set(pd.read_csv("out/scores.csv")["method"]) == {"exactfed", "mr", "sketch"}
    assert (tmp_path / "out" / "training-log.npz").is_file()


@pytest.mark.slow
def test_json_is_all_of_standard_output(shell, sites):
    done = shell(*BASE, "--methods", "cgsv,loo", "--json", "--model", "mlp")
    content = json.loads(done.stdout)
    assert {row["method"] for row in content["scores"]} == {"cgsv", "loo"}
    assert content["summary"][0]["spearman"] is None


def test_a_budget_is_said(fedbary, sites):
    code, out, _ = fedbary(*BASE, "--methods", "mr", "--max-evaluations", 3)
    assert code == 0
    assert "budget spent" in out


def test_the_methods_are_listed(fedbary, sites):
    code, out, _ = fedbary("compare", "--list")
    assert code == 0
    assert "fedshapley-gt" in out
    assert "triangle" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("compare",), "No client was given"),
        (("compare", "sites"), "No label column"),
        (("compare", "sites", "--label", "ill"), "No test rows"),
        ((*BASE, "--methods", "best"), "There is no method 'best'"),
        ((*BASE, "--model", "forest"), "There is no model 'forest'"),
        ((*BASE, "--learning-rate", "-1"), "learning_rate"),
        ((*BASE, "--truth", "mr", "--methods", "or"), "not among the methods"),
        ((*BASE[:3], "age", *BASE[4:]), "number"),
    ],
)
def test_mistakes_get_one_sentence(fedbary, sites, arguments, sentence):
    code, _, errors = fedbary(*arguments)
    assert code == 2
    assert sentence in errors
    assert len(errors.splitlines()) == 1
