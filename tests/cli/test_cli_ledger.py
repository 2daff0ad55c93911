"""`fedbary ledger` and `fedbary policy`: what left, what it cost, and the file that bounds it."""

import json
import stat
from pathlib import Path

import pytest

from fedbary.guard.ledger import Entry, Ledger
from fedbary.guard.policy import OwnerPolicy

pytest_plugins = ["cli_fixtures"]


@pytest.fixture
def ledger(sites):
    ledger = Ledger("ledger.jsonl")
    common = dict(run="may", session="s1", protocol="sketch", kind="sketch", data="aaaa")
    ledger.charge(Entry(**common, bytes=140, scalars=("rows", "cost"), epsilon=0.5), budget=2.0)
    ledger.charge(Entry(**common, what="refusal", bytes=9, note="too late [/red]"), budget=2.0)
    ledger.charge(Entry(**{**common, "session": "s2", "data": "bbbb"}, bytes=8, arrays={"gamma": (3, 2)}, epsilon=0.25))
    return ledger


def policy_file(**keys):
    Path("policy.toml").write_text(OwnerPolicy(**keys).to_toml(), encoding="utf-8")
    return "policy.toml"


def test_it_shows_each_line_and_the_totals(fedbary, ledger):
    code, out, err = fedbary("ledger", "ledger.jsonl", "--policy", policy_file(epsilon_budget=2.0))
    told = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "rows, cost" in told
    assert "gamma 3×2" in told
    assert "[/red]" in told
    assert "2 answers in 2 runs and 1 refusal: 157 bytes in all." in told
    assert "ε spent: 0.75 of 2; 1.25 left." in told
    assert "by its digest: aaaa 0.5, bbbb 0.25" in told
    assert max(map(len, out.splitlines())) <= 80


def test_json_holds_all_of_it(fedbary, ledger):
    code, out, _ = fedbary("ledger", "ledger.jsonl", "--json")
    content = json.loads(out)
    assert code == 0
    assert len(content["entries"]) == 3
    assert (content["totals"]["epsilon"], content["totals"]["left"]) == (0.75, None)
    assert content["entries"][2]["arrays"] == {"gamma": [3, 2]}


def test_a_reset_begins_a_new_account_and_keeps_the_old_lines(fedbary, ledger):
    code, out, _ = fedbary(
        "ledger", "ledger.jsonl", "--reset", "new patients", "--policy", policy_file(epsilon_budget=2)
    )
    assert code == 0
    assert "(reset: new patients)" in " ".join(out.split())
    assert "ε spent since the last reset: 0 of 2; 2 left." in " ".join(out.split())
    assert "rows, cost" in " ".join(out.split())


def test_a_line_cut_off_is_told(fedbary, ledger):
    ledger.path.write_bytes(ledger.path.read_bytes()[:-20])
    code, out, _ = fedbary("ledger", "ledger.jsonl")
    assert (code, "Line 3 was cut off by a crash" in out) == (0, True)


@pytest.mark.parametrize(
    ("name", "code"),
    [("none.jsonl", "cli.no-ledger"), ("reference.csv", "guard.ledger-damaged")],
)
def test_what_is_no_ledger_has_its_code(refused, sites, name, code):
    assert refused("ledger", name).code == code


def test_a_policy_file_is_written_once_and_for_its_owner_alone(fedbary, refused, sites, tmp_path):
    assert fedbary("policy", "init")[0] == 0
    file = tmp_path / "policy.toml"
    assert OwnerPolicy.load(file) == OwnerPolicy()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("min_group = 9\n")
    assert refused("policy", "init").code == "cli.policy-exists"
    assert file.read_text() == "min_group = 9\n"
    code, out, _ = fedbary("policy", "check", file)
    assert (code, ["min_group", "9"] in [line.split() for line in out.splitlines()]) == (0, True)
    file.write_text("min_groop = 9\n")
    assert refused("policy", "check", file).code == "guard.policy-unknown-key"
