"""`fedbary ledger` and `fedbary policy`: what left, what it cost, and the file that bounds it."""

import json
import stat
from pathlib import Path

import pytest
import typer

from fedbary.guard.ledger import Entry, Ledger
from fedbary.guard.policy import OwnerPolicy

pytest_plugins = ["cli_fixtures"]


@pytest.fixture
def ledger(sites):
    ledger = Ledger("ledger.jsonl")
    common = dict(run="may", protocol="sketch", kind="sketch", data="aaaa")
    ledger.open_question(Entry(**common, epsilon=0.5), budget=2.0)
    ledger.record(Entry(**common, question=1, bytes=140, scalars=("rows", "cost")))
    ledger.record(Entry(**common, what="refusal", bytes=9, note="too late [/red]"))
    ledger.open_question(Entry(**{**common, "protocol": "interpolation"}, epsilon=0.25))
    ledger.record(Entry(**common, question=2, bytes=8, arrays={"gamma": (3, 2)}))
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
    assert "2 answers, 0 failures and 1 refusal: 157 bytes in all." in told
    assert "1 question of the sketch protocol; 99 more allowed." in told
    assert "1 question of the interpolation protocol." in told
    assert "ε spent: 0.75 of 2; 1.25 left." in told
    assert f"Head: {ledger.read().head}" in told
    assert max(map(len, out.splitlines())) <= 80


def test_delta_is_shown_and_allowed_beside_epsilon(fedbary, ledger):
    ledger.open_question(Entry(protocol="cards", kind="card", epsilon=1.0, delta=1e-6), most_delta=1e-6)
    told = " ".join(fedbary("ledger", "ledger.jsonl")[1].split())
    assert "δ spent: 1e-06." in told
    code, out, _ = fedbary("policy", "allow", "ledger.jsonl", "--protocol", "cards", "--delta", "1e-7", "--yes")
    assert code == 0
    assert "allowed δ 1e-07 more" in " ".join(out.split())
    assert ledger.read().entries[-1].more_delta == 1e-7
    assert "δ 1e-07 more" in " ".join(fedbary("ledger", "ledger.jsonl")[1].split())


def test_json_holds_all_of_it(fedbary, ledger):
    code, out, _ = fedbary("ledger", "ledger.jsonl", "--json")
    content = json.loads(out)
    assert code == 0
    assert len(content["entries"]) == 5
    assert content["totals"]["head"] == ledger.head_path.read_text().strip()
    assert (content["totals"]["epsilon"], content["totals"]["left"]) == (0.75, None)
    assert content["entries"][4]["arrays"] == {"gamma": [3, 2]}


def test_answers_without_epsilon_are_named_beside_what_was_spent(fedbary, ledger):
    assert "exact" not in fedbary("ledger", "ledger.jsonl")[1]
    common = dict(run="june", protocol="sketch", kind="sketch", data="aaaa")
    asked = ledger.open_question(Entry(**common)).question
    ledger.record(Entry(**common, question=asked, bytes=140, scalars=("rows", "cost")))
    told = " ".join(fedbary("ledger", "ledger.jsonl")[1].split())
    assert "ε spent: 0.75. • 1 answer was exact: no ε bounds what it tells." in told


def test_an_accountant_adds_up_many_small_answers(fedbary, sites):
    pytest.importorskip("dp_accounting")
    ledger = Ledger("ledger.jsonl")
    for _ in range(30):
        ledger.open_question(Entry(run="may", protocol="sketch", kind="sketch", epsilon=0.1))
    code, out, _ = fedbary("ledger", "ledger.jsonl", "--delta", "1e-6", "--json")
    totals = json.loads(out)["totals"]
    assert code == 0
    assert totals["epsilon"] == 3.0
    assert 0.1 < totals["epsilon_for_delta"] < 2.5
    told = fedbary("ledger", "ledger.jsonl", "--delta", "1e-6")[1]
    assert "For δ = 1e-06 all answers with ε together have ε = 2" in told
    assert "exact" not in told


def test_a_reset_begins_a_new_account_and_keeps_the_old_lines(fedbary, ledger):
    code, out, _ = fedbary(
        "ledger", "ledger.jsonl", "--reset", "new patients", "--policy", policy_file(epsilon_budget=2)
    )
    assert code == 0
    assert "(reset: new patients)" in " ".join(out.split())
    assert "ε spent since the last reset: 0 of 2; 2 left." in " ".join(out.split())
    assert "rows, cost" in " ".join(out.split())


def test_a_line_cut_off_is_told(fedbary, ledger):
    with ledger.path.open("ab") as file:
        file.write(b'{"what": "rep')
    code, out, _ = fedbary("ledger", "ledger.jsonl")
    assert (code, "Line 6 was cut off by a crash" in out) == (0, True)


def test_a_cut_ledger_is_refused_until_the_owner_accepts_it(fedbary, refused, ledger):
    lines = ledger.path.read_text().splitlines(keepends=True)
    ledger.path.write_text("".join(lines[:-2]))
    assert refused("ledger", "ledger.jsonl").code == "guard.ledger-cut"
    assert refused("ledger", "ledger.jsonl", "--accept", "").code == "guard.decision-without-reason"
    code, out, _ = fedbary("ledger", "ledger.jsonl", "--accept", "restored")
    assert (code, "(accept: restored)" in " ".join(out.split())) == (0, True)
    assert refused("ledger", "ledger.jsonl", "--accept", "again").code == "guard.nothing-to-accept"


def test_a_head_that_was_noted_is_found_again(fedbary, refused, ledger):
    noted = ledger.read().head
    ledger.reset("new rows")
    assert "still stand; 1 line came after it." in " ".join(
        fedbary("ledger", "ledger.jsonl", "--head", noted)[1].split()
    )
    assert refused("ledger", "ledger.jsonl", "--head", "ab" * 32).code == "guard.no-such-head"
    assert refused("ledger", "ledger.jsonl", "--head", "").code == "guard.no-such-head"


def test_a_copy_without_its_head_says_so(fedbary, ledger, tmp_path):
    ledger.head_path.unlink()
    code, out, _ = fedbary("ledger", "ledger.jsonl")
    assert (code, "There is no file 'head' beside it" in " ".join(out.split())) == (0, True)


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
    file.write_text("")
    told = " ".join(fedbary("policy", "check", file)[1].split())
    assert "max_questions one" in told


def test_one_more_question_is_allowed_once_its_owner_has_read_what_it_could_reveal(
    fedbary, refused, ledger, monkeypatch
):
    before = ledger.read()
    assert refused("policy", "allow", "ledger.jsonl").code == "cli.allow-needs-yes"
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: (_ for _ in ()).throw(typer.Abort))
    assert fedbary("policy", "allow", "ledger.jsonl")[0] != 0
    assert ledger.read() == before
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    code, out, _ = fedbary("policy", "allow", "ledger.jsonl")
    assert (code, out.splitlines()[-1]) == (0, "nothing was allowed")
    assert ledger.read() == before
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    code, out, _ = fedbary("policy", "allow", "ledger.jsonl", "--reason", "the June report")
    told = " ".join(out.split())
    assert (code, "1 question of the sketch protocol so far" in told) == (0, True)
    assert "give all released rows away" in told
    assert (ledger.read().left("sketch", 1), ledger.read().left("interpolation", 1)) == (1, 0)
    assert ledger.read().entries[-1].note == "the June report"


def test_scripts_allow_with_yes(fedbary, refused, ledger):
    options = ("--protocol", "interpolation", "--questions", 2, "--yes")
    assert fedbary("policy", "allow", "ledger.jsonl", *options)[0] == 0
    assert ledger.read().entries[-1].more_questions == 2
    assert fedbary("policy", "allow", "ledger.jsonl", "--epsilon", 0.5, "--yes")[0] == 0
    assert sum(line.more_questions for line in ledger.read().entries) == 2
    assert refused("policy", "allow", "ledger.jsonl", "--epsilon", "nan", "--yes").code == "settings.parameter"
    assert refused("policy", "allow", "ledger.jsonl", "--protocol", "magic", "--yes").code == "settings.no-protocol"
    assert refused("policy", "allow", "none.jsonl", "--yes").code == "cli.no-ledger"
    without = ("policy", "allow", "ledger.jsonl", "--yes", "--reason", "")
    assert refused(*without, says="could reveal").code == "guard.decision-without-reason"


def test_records_say_in_words_what_left_and_are_written_as_page_list_or_lines(fedbary, ledger):
    code, out, err = fedbary("ledger", "ledger.jsonl", "--records")
    told = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "3 releases. ε spent: 0.75, δ spent: 0." in told
    printed = json.loads(fedbary("ledger", "ledger.jsonl", "--records", "--json")[1])["records"]
    assert [one["what"] for one in printed] == ["answer", "refusal", "answer"]
    assert printed[0]["left"][0]["tells"] == "row count"
    assert [one["privacy"]["epsilon_spent"] for one in printed] == [0.5, 0.5, 0.75]
    for name in ("page.html", "list.json", "lines.jsonl"):
        assert fedbary("ledger", "ledger.jsonl", "-o", name)[0] == 0
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    assert json.loads(Path("list.json").read_text()) == printed
    assert [json.loads(line) for line in Path("lines.jsonl").read_text().splitlines()] == printed
    page = Path("page.html").read_text(encoding="utf-8")
    assert "row count" in page
    assert "http-equiv" in page
    assert fedbary("ledger", "ledger.jsonl", "-o", "records.csv")[0] == 2


def test_records_take_the_place_of_records_and_of_nothing_else(fedbary, ledger):
    before = Path("ledger.jsonl").read_bytes()
    for name, text in (("notes.json", '{"mine": 1}'), ("mine.html", "<p>mine</p>")):
        Path(name).write_text(text)
    for name in ("ledger.jsonl", "notes.json", "mine.html"):
        code, _, err = fedbary("ledger", "ledger.jsonl", "-o", name)
        assert (code, "would be overwritten" in " ".join(err.split())) == (2, True)
    assert Path("ledger.jsonl").read_bytes() == before
    for name in ("page.html", "list.json", "lines.jsonl") * 2:
        assert fedbary("ledger", "ledger.jsonl", "-o", name)[0] == 0


def test_a_threshold_that_is_not_met_ends_with_exit_code_1(fedbary, ledger):
    code, out, _ = fedbary("ledger", "ledger.jsonl", "--threshold", "10", "--policy", policy_file())
    assert code == 1
    assert "The policy has min_group = 5." in " ".join(out.split())
    data = json.loads(fedbary("ledger", "ledger.jsonl", "--threshold", "10", "--json")[1])
    assert (data["threshold"], len(data["unmet"])) == (10, 2)
    Ledger("other/ledger.jsonl").record(Entry("refusal", note="no"))
    code, out, _ = fedbary("ledger", "other/ledger.jsonl", "--threshold", "10")
    assert (code, "Every release meets the threshold of 10." in out) == (0, True)
