"""`fedbary boost`: a table at 80 columns, JSON, files, and mistakes in one sentence."""

import json

import pandas as pd
import pytest

pytest.importorskip("torch")

pytest_plugins = ["cli_fixtures"]

BASE = ("boost", "sites", "--label", "ill", "--id", "id", "--reference", "reference.csv")
FULL = (*BASE, "--test", "test.csv", "--rounds", 2)


@pytest.fixture
def split(sites, spoil, tmp_path):
    """The clients and the reference of `sites`, and test rows beside them."""
    spoil("test", lambda frame: frame, rows=50).rename(tmp_path / "test.csv")
    return sites


def test_ways_of_acting_are_compared_and_written(fedbary, split, tmp_path):
    code, out, _ = fedbary(*FULL, "-o", "out")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for word in ("none", "drop", "relabel", "accuracy", "gain", "50 test rows", "written to out"):
        assert word in out
    frame = pd.read_csv("out/boost.csv").set_index("how")
    assert frame.loc["none", ["rows", "dropped"]].tolist() == [90, 0]
    assert (frame["rows"] + frame["dropped"] == 90).all()
    code, out, _ = fedbary("rows", "out/valuation", "--client", "north")  # the flags behind it
    assert code == 0


def test_json_is_all_of_standard_output_and_test_rows_are_no_client(shell, split):
    (split.parent / "test.csv").rename(split / "test.csv")
    done = shell(*BASE, "--test", "sites/test.csv", "--how", "drop", "--model", "mlp", "--rounds", 2, "--json")
    content = json.loads(done.stdout)
    assert [row["how"] for row in content["outcomes"]] == ["none", "drop"]
    assert content["outcomes"][0]["rows"] == 90
    assert content["settings"]["test_rows"] == 50


def test_a_bad_client_leaves_the_others_alone(fedbary, split, spoil):
    spoil("[narrow]", lambda frame: frame.drop(columns="age"))
    code, out, _ = fedbary(*FULL)
    assert code == 3
    assert max(map(len, out.splitlines())) <= 80
    assert "[narrow] takes no part in the training" in " ".join(out.split())
    assert pd.read_csv("fedbary-boost/boost.csv")["accuracy"].notna().all()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("boost",), "cli.no-client-given"),
        (("boost", "sites"), "cli.no-label"),
        (("boost", "sites", "--label", "ill"), "cli.no-reference"),
        (BASE, "cli.no-test-rows"),
        ((*FULL, "--how", "burn"), "research.no-such-way"),
        ((*FULL, "--model", "forest"), "cli.no-model"),
        ((*FULL, "--learning-rate", "-1"), "settings.parameter"),
        ((*BASE, "--test", "reference.csv"), "research.test-is-the-reference"),
        ((*BASE, "--test", "none.csv"), "data.no-file"),
        ((*FULL, "-o", "test.csv"), "valuation.not-a-folder"),
    ],
)
def test_mistakes_have_their_code(refused, split, arguments, code):
    assert refused(*arguments).code == code
