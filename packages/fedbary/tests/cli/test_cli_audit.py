"""`fedbary audit`: attacks on an owner's policy, and an exit code for a scheduler."""

import json
from pathlib import Path

import pytest

pytest_plugins = ["cli_fixtures"]

MINE = ("sites/south.csv", "--label", "ill", "--id", "id", "--reference", "reference.csv", "--trials", 20)


@pytest.fixture
def private(sites, tmp_path):
    (tmp_path / "policy.toml").write_text("epsilon_budget = 1.0\n")
    return "--policy", "policy.toml"


def test_it_prints_what_was_reached_and_what_to_do(fedbary, sites):
    code, out, err = fedbary("audit", *MINE, "--unguarded", "--protocol", "sketch")
    assert (code, err) == (0, "")
    assert "sketch, trusted, unguarded: 50 rows" in out
    for attack in ("repeated questions", "membership", "empirical ε", "two questions, added row"):
        assert attack in out
    assert "not claimed" in out
    assert "epsilon_budget" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_exit_code_says_that_the_worst_is_too_much(fedbary, sites):
    assert fedbary("audit", *MINE, "--unguarded", "--fail-above", 1)[0] == 0
    code, out, _ = fedbary("audit", *MINE, "--unguarded", "--fail-above", 0.5)
    assert code == 3
    assert "membership" in out


def test_a_broken_promise_ends_with_three_and_the_result_is_written(fedbary, private, monkeypatch):
    from fedbary.auditing import auditor
    from fedbary.auditing.finding import Rate, finding_of
    from fedbary.notes import Note

    told = finding_of("whispers", "membership", Note("audit.timing", {"trials": 9}), Rate.of(9, 9), 0.1)
    monkeypatch.setattr(auditor, "_ANY", {"whispering": lambda _: told})
    code, out, _ = fedbary("audit", *MINE, *private, "-o", "found")
    assert code == 3
    assert "'whispers' went beyond what is promised" in " ".join(out.split())
    content = json.loads(Path("found/audit.json").read_text(encoding="utf-8"))
    assert content["findings"][-1]["holds"] is False


def test_json_holds_every_finding_with_its_code(fedbary, private):
    _, out, _ = fedbary("audit", *MINE, *private, "--epsilon", 0.5, "--json", "-o", "found")
    content = json.loads(out)
    assert content["setting"] == "ε = 0.5"
    assert {"audit.membership", "audit.epsilon"} <= {one["what"]["code"] for one in content["findings"]}
    assert sorted(content["files"]) == ["csv", "html", "json", "md"]


def test_without_a_file_a_stand_in_is_attacked(fedbary, sites):
    code, out, _ = fedbary("audit", "--protocol", "cards", "--trials", 20, "--json")
    assert code == 0
    assert json.loads(out)["rows"] == 398


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--protocol", "consent"], "settings.parameter"),
        (["--protocol", "interpolation", "--epsilon", "1"], "cli.option-of-another-protocol"),
        (["--unguarded", "--policy", "policy.toml"], "cli.policy-and-unguarded"),
        (["--png"], "cli.png-without-folder"),
        (["-o", "reference.csv"], "valuation.not-a-folder"),
        (["--policy", "none.toml"], "guard.policy-unreadable"),
    ],
)
def test_wrong_input_has_its_code(refused, sites, options, code):
    assert refused("audit", *MINE, *options).code == code


def test_a_folder_that_cannot_be_made_is_named_before_the_attacks(refused, sites, tmp_path):
    (tmp_path / "file").write_text("")
    assert refused("audit", "-o", str(tmp_path / "file" / "out")).code == "cli.folder-unwritable"
