"""`fedbary compare`: tables at 80 columns, JSON, files, and mistakes in one sentence."""

import json

import pandas as pd
import pytest

pytest.importorskip("torch")
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


def test_json_is_all_of_standard_output(shell, sites):
    done = shell(*BASE, "--methods", "cgsv,loo", "--json", "--model", "mlp")
    content = json.loads(done.stdout)
    assert {row["method"] for row in content["scores"]} == {"cgsv", "loo"}
    assert content["summary"][0]["spearman"] is None


def test_a_budget_is_said(fedbary, sites):
    code, out, _ = fedbary(*BASE, "--methods", "mr", "--max-evaluations", 3)
    assert code == 0
    assert "early" in out


def test_many_methods_and_long_names_fit_into_80_columns(fedbary, sites):
    (sites / "north.csv").rename(sites / f"{'very-' * 12}long.csv")
    (sites / "south.csv").rename(sites / "[oops].csv")
    methods = "mr,or,tmr,gtg,gtg-ti,gtg-tib,gtg-oti,fedshapley,fedshapley-gt,cgsv,shapfed,fedce,loo,datasv,exactfed"
    code, out, _ = fedbary(*BASE, "--methods", methods)
    assert code in (0, 3)
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("[oops]") >= 3
    assert all(method in out for method in methods.split(","))


def test_a_bad_client_leaves_the_others_alone_and_the_log_can_be_used_again(fedbary, sites, spoil):
    spoil("narrow", lambda frame: frame.drop(columns="age"))
    code, out, _ = fedbary(*BASE, "--methods", "mr,cgsv", "-o", "out")
    assert code == 3
    assert "narrow takes no part in the training" in " ".join(out.split())
    scores = pd.read_csv("out/scores.csv").pivot_table(index="client", columns="method", values="value", dropna=False)
    assert scores.loc["narrow"].isna().all()
    assert scores.loc[["north", "south"]].notna().all(axis=None)
    (sites / "narrow.csv").unlink()
    code, again, _ = fedbary(*BASE, "--methods", "cgsv", "--training-log", "out/training-log.npz", "-o", "again")
    assert code == 0
    assert again.splitlines()[2].split()[:1] == ["north"]


def test_the_methods_are_listed(fedbary, sites):
    code, out, _ = fedbary("compare", "--list")
    assert code == 0
    assert "fedshapley-gt" in out
    assert "triangle" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("compare",), "cli.no-client-given"),
        (("compare", "sites"), "cli.no-label"),
        (("compare", "sites", "--label", "ill"), "cli.no-test-rows-to-compare"),
        ((*BASE, "--methods", "best"), "research.no-such-method"),
        ((*BASE, "--model", "forest"), "cli.no-model"),
        ((*BASE, "--learning-rate", "-1"), "settings.parameter"),
        ((*BASE, "--truth", "best", "--methods", "or"), "research.no-such-method"),
        ((*BASE, "--training-log", "none.npz"), "research.no-training-log"),
    ],
)
def test_mistakes_have_their_code(refused, sites, arguments, code):
    assert refused(*arguments).code == code


def test_rows_are_compared_and_written(fedbary, sites, tmp_path):
    options = ("--rows", "--methods", "knn-shapley,sketch", "--truth", "logistic", "--plot", "-o", "out")
    code, out, _ = fedbary(*BASE, *options)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split()[0] for line in out.splitlines()[2:5]] == ["knn-shapley", "sketch", "logistic"]
    assert set(pd.read_csv("out/rows.csv")["client"]) == {"north", "south"}
    page = (tmp_path / "out" / "plot.html").read_text(encoding="utf-8")
    assert 'data-chart="method-likeness"' in page
    assert '<script src="' not in page
    code, out, _ = fedbary(*BASE, "--rows", "--methods", "knn-shapley", "--json")
    content = json.loads(out)
    assert content["summary"][0]["auroc"] is None
    assert len(content["rows"]) == len(pd.read_csv(sites / "north.csv")) + len(pd.read_csv(sites / "south.csv"))


def test_methods_for_rows_are_listed(fedbary, sites):
    code, out, _ = fedbary("compare", "--rows", "--list")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "beta-shapley" in out
    assert "pyDVL" in out
