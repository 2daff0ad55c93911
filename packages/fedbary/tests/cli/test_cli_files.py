"""`ask`, `answer`, `card`, `value` and `rows --model`: a valuation by files that people send each other."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import fedbary as fb
from fedbary.engines.files.message_file import FileKind, MessageFile
from fedbary.engines.packed import Packed

pytest_plugins = ["cli_fixtures"]

NAMES = ("north", "south", "west", "east")
REFERENCE = ("--reference", "reference.csv", "--label", "ill", "--id", "id")
POLICY = 'protocols = ["sketch", "cards", "interpolation"]\n'


@pytest.fixture
def owners(tmp_path, monkeypatch):
    """Four owners, each with a table, a policy and a ledger in a folder of its own; west has wrong labels."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FEDBARY_STATE", str(tmp_path / "state"))
    from cli_fixtures import people

    for seed, name in enumerate(NAMES):
        (tmp_path / name).mkdir()
        frame = people(200, seed)
        if name == "west":
            frame.loc[:80, "ill"] = frame.loc[:80, "ill"].map({"yes": "no", "no": "yes"})
        frame.to_csv(tmp_path / name / "mine.csv", index=False)
        (tmp_path / name / "policy.toml").write_text(POLICY, encoding="utf-8")
    people(150, 9).to_csv(tmp_path / "reference.csv", index=False)
    return tmp_path


@pytest.fixture
def answer(fedbary):
    def run(name, question, to, *options):
        own = ("--id", "id", "--policy", f"{name}/policy.toml", "--ledger", f"{name}/ledger")
        return fedbary("answer", f"{name}/mine.csv", question, "-o", to, *own, *options)

    return run


@pytest.fixture
def cards(fedbary, owners):
    for name in NAMES:
        own = ("--label", "ill", "--id", "id", "--policy", f"{name}/policy.toml", "--ledger", f"{name}/ledger")
        code, _, err = fedbary("card", f"{name}/mine.csv", *own, "-o", f"cards/{name}.card")
        assert (code, err) == (0, "")
    return owners / "cards"


def test_a_question_for_anybody(fedbary, answer, owners):
    code, out, err = fedbary("ask", *REFERENCE, "-o", "study")
    assert (code, err) == (0, "")
    assert "question.fb" in out
    assert fedbary("value", "study")[:2] == (
        3,
        "Nobody has answered yet: send out the questions in 'study', put the answers beside, and run the same again.\n",
    )
    for name in NAMES[:2]:
        code, out, err = answer(name, "study/question.fb", f"in/{name}.answer")
        assert (code, err) == (0, "")
        assert "closeness" not in out
        assert "cost" in out  # all that leaves is printed
        assert len(list((owners / name / "ledger" / "results").glob("*/report.html"))) == 1
    code, out, _ = fedbary("value", "study", "in/*.answer", "-o", "out")
    assert code == 0
    assert fb.Valuation.load("out").clients["client"].tolist() == ["north", "south"]
    answer("west", "study/question.fb", "in/west.answer")
    fedbary("value", "study", "in/*.answer", "-o", "out")
    assert fb.Valuation.load("out").ranking()["client"].tolist()[-1] == "west"


def test_the_same_question_gets_the_same_answer_and_another_none(fedbary, answer, owners):
    for seed, folder in enumerate(("study", "other")):
        fedbary("ask", *REFERENCE, "-o", folder, "--seed", seed)
    answer("north", "study/question.fb", "north.answer")
    shutil.move("north.answer", "first.answer")
    assert answer("north", "study/question.fb", "north.answer")[0] == 0
    assert (owners / "north.answer").read_bytes() == (owners / "first.answer").read_bytes()
    code, out, _ = answer("north", "other/question.fb", "north.answer")
    assert code == 3
    assert "allows no further question" in " ".join(out.split())
    found, _ = MessageFile.load("north.answer").reply()
    assert found.note.code == "guard.no-further-question"


def test_one_file_is_asked_once_by_whatever_name_and_a_copy_is_told_of(fedbary, owners):
    for seed in range(3):
        fedbary("ask", *REFERENCE, "-o", f"study{seed}", "--seed", seed)
    (owners / "link.csv").symlink_to("north/mine.csv")
    shutil.copy("north/mine.csv", "copy.csv")
    names = ("north/mine.csv", "south/../north/mine.csv", "link.csv")
    asked = [fedbary("answer", name, f"study{seed}/question.fb", "--id", "id") for seed, name in enumerate(names)]
    assert [code for code, _, _ in asked] == [0, 3, 3]
    code, out, _ = fedbary("answer", "copy.csv", "study1/question.fb", "--id", "id")
    assert code == 0
    assert "the very same rows" in " ".join(out.split())
    assert "guard.same-rows-elsewhere" in next((owners / "state").glob("copy-*/owner.log")).read_text()


def test_several_rounds_with_named_clients(fedbary, answer, owners):
    asked = ("--protocol", "interpolation", "--rounds", 2, "--support", 8, "--client", "north", "--client", "south")
    assert fedbary("ask", *REFERENCE, *asked)[0] == 0
    for step in ("", "-2", "-3"):
        code, out, _ = fedbary("value", "study", "-o", "out", "--no-report")
        assert code == 3
        assert "No answer of north and south yet" in out
        for name in ("north", "south"):
            file = owners / "study" / "answers" / f"{name}{step}.answer"
            assert answer(name, f"study/{name}{step}.fb", file, "--label", "ill")[0] == 0
    assert fedbary("value", "study", "-o", "out", "--no-report")[0] == 0
    assert fb.Valuation.load("out").clients["status"].tolist() == ["ok", "ok"]


def test_private_cards_by_questions_and_by_hand(fedbary, answer, owners):
    pytest.importorskip("dp_accounting")
    from fedbary.space.fit import public_schema

    public_schema(fb.read("reference.csv", "ill", id="id")).save("schema.json")
    asked = ("--protocol", "cards", "--epsilon", 8, "--schema", "schema.json", "--label", "ill")
    assert fedbary("ask", *asked, *(part for name in NAMES for part in ("--client", name)))[0] == 0
    for name in NAMES:
        assert answer(name, f"study/{name}.fb", f"study/answers/{name}.answer")[0] == 0
    assert fedbary("value", "study", "-o", "out", "--no-report", "--no-wait")[0] == 0
    asked = fb.Valuation.load("out").clients
    for name in NAMES:
        own = ("--id", "id", "--epsilon", 8, "--schema", "schema.json", "--ledger", f"{name}/another")
        code, out, _ = fedbary("card", f"{name}/mine.csv", *own, "-o", f"cards/{name}.card")
        assert code == 0
        assert "noise for epsilon = 8, delta = 1e-06" in " ".join(out.split())
    assert fedbary("value", "cards", "-o", "out", "--no-report")[0] == 0
    given = fb.Valuation.load("out").clients
    for found in (asked, given):
        assert found.set_index("client")["wrong_labels"].idxmax() == "west"
    code, out, _ = fedbary("rows", "west/mine.csv", "--model", "out/models/west.model", "--id", "id")
    assert (code, "suspects, without guarantee" in out) == (0, True)


def test_what_a_study_was_asked_with_holds(refused, fedbary, owners):
    fedbary("ask", *REFERENCE, "-o", "study")
    assert refused("value", "study", "--label", "age").code == "cli.study-has-settings"
    assert refused("ask", *REFERENCE, "-o", "study").code == "cli.study-exists"
    asked = ("--protocol", "interpolation", "-o", "other")
    assert refused("ask", *REFERENCE, *asked).code == "engines.files-need-names"
    (owners / "study" / "study.json").write_text("{}")
    assert refused("value", "study").code == "cli.not-a-study"


def test_cards_are_valued_and_models_come_back(fedbary, cards, owners):
    code, out, err = fedbary("value", *sorted(cards.iterdir()), "-o", "out")
    assert (code, err) == (0, "")
    result = fb.Valuation.load("out")
    assert result.settings["engine"] == "files"
    assert result.ranking()["client"].tolist()[-1] == "west"
    # West is not believed, so the others have two behind their models, one too few.
    assert [file.name for file in (owners / "out" / "models").iterdir()] == ["west.model"]
    assert [name for name in NAMES if not result.outcomes[name].has("protocols.card-no-model")] == ["west"]
    code, out, _ = fedbary("rows", "west/mine.csv", "--model", "out/models/west.model", "--id", "id")
    assert code == 0
    assert "suspects, without guarantee" in out
    assert (owners / "west" / "mine-rows" / "report.html").is_file()
    rows = pd.read_csv(owners / "west" / "mine-rows" / "rows.csv")
    wrong = np.arange(200) <= 80
    assert roc_auc_score(wrong, rows["label_score"]) > 0.7  # ages of the ill and the well overlap
    ledger = owners / "west" / "ledger" / "ledger.jsonl"
    assert ledger.read_text().count("\n") == 2  # nothing was asked since the card


def test_cards_as_files_are_the_same_as_guarded_cards_in_python(cards, fedbary):
    frames = {name: pd.read_csv(f"{name}/mine.csv").set_index("id") for name in NAMES}
    made = [fb.card(frame, "ill", name=name) for name, frame in frames.items()]
    here = fb.value(made, seed=0)
    fedbary("value", cards, "-o", "out")
    there = fb.Valuation.load("out").clients.set_index("client").loc[list(NAMES)].reset_index()
    pd.testing.assert_series_equal(here.clients["wrong_labels"], there["wrong_labels"])
    pd.testing.assert_series_equal(here.clients["distance"], there["distance"])


def test_a_card_says_all_that_is_in_it(fedbary, cards):
    out = " ".join(fedbary("show", cards / "north.card")[1].split())
    for words in ("calls itself: north", "rows: 200", "city (Bern and Oslo)", "no (", "yes (", "proves nothing"):
        assert words in out
    content = json.loads(fedbary("show", cards / "north.card", "--json")[1])
    assert sum(content["arrays"]["counts"]["values"]) == 200


def test_a_card_says_how_the_table_was_read(fedbary, owners):
    own = ("--label", "ill", "--policy", "north/policy.toml", "--ledger", "north/ledger", "-o", "read.card")
    table = owners / "north" / "mine.csv"
    table.write_text(table.read_text().replace(",", ";"))
    code, out, _ = fedbary("card", "north/mine.csv", *own)
    assert (code, "separated by semicolons" in out, "'id' is left out" in out) == (0, True, True)
    assert len(json.loads(fedbary("card", "north/mine.csv", *own, "--json")[1])["guesses"]) == 2


def test_the_same_card_again_is_free_and_the_same_bytes(fedbary, cards, owners):
    own = ("--label", "ill", "--id", "id", "--policy", "north/policy.toml", "--ledger", "north/ledger")
    ledger = owners / "north" / "ledger" / "ledger.jsonl"
    lines = ledger.read_text()
    before = (cards / "north.card").read_bytes()
    assert fedbary("card", "north/mine.csv", *own, "-o", "cards/north.card")[0] == 0
    assert (cards / "north.card").read_bytes() == before
    (more,) = ledger.read_text().removeprefix(lines).splitlines()  # that it left again, and nothing is counted
    assert (json.loads(more)["what"], json.loads(more)["question"]) == ("free", 0)


def test_a_policy_without_cards_refuses_in_a_sentence(refused, owners):
    (owners / "north" / "policy.toml").write_text('protocols = ["sketch"]\n')
    own = ("--label", "ill", "--id", "id", "--policy", "north/policy.toml", "--ledger", "north/ledger")
    error = refused("card", "north/mine.csv", *own, says="what was refused")
    assert error.code == "guard.protocol-not-allowed"


def test_bad_cards_are_named_and_the_others_valued(fedbary, cards, owners):
    (cards / "cut.card").write_bytes((cards / "north.card").read_bytes()[:300])
    (cards / "other.card").write_text("no card")
    (owners / "more").mkdir()
    shutil.copy(cards / "south.card", owners / "more" / "north.card")
    shutil.copy(cards / "east.card", cards / "twin.card")
    assert fedbary("value", *sorted(cards.iterdir()), "more/north.card", "-o", "out")[0] == 3
    result = fb.Valuation.load("out")
    codes = {name: outcome.notes[0].code for name, outcome in result.outcomes.items() if not outcome.ok}
    assert codes == {
        "cut": "engines.file-damaged",
        "other": "engines.file-not-ours",
        "north": "engines.two-cards",
    }
    assert "cut.card" in result.failed["cut"]
    assert result.outcomes["twin"].has("protocols.same-card")
    assert result.outcomes["twin"].ok


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("value", "cards/*.card", "north/mine.csv"), "cli.files-mixed"),
        (("value", "none/*.card"), "engines.no-file"),
        (("value", "cards", "--protocol", "sketch"), "settings.parameter"),
        (("rows", "north/mine.csv", "--model", "cards/north.card"), "engines.file-other-kind"),
        (("answer", "north/mine.csv", "cards/north.card"), "engines.file-other-kind"),
        (("answer", "none.csv", "cards/north.card"), "engines.file-other-kind"),
        (("card", "none.csv"), "data.no-file"),
        (("card", "north/mine.csv", "-o", "north.txt"), "engines.file-suffix"),
    ],
)
def test_wrong_input_has_its_code(refused, cards, arguments, code):
    assert refused(*arguments).code == code


@pytest.mark.parametrize("lost", ["card", "second", "counts"])
def test_a_hostile_card_takes_nobody_with_it(fedbary, cards, lost):
    held = MessageFile.load(cards / "north.card").packed
    gone = ("second", "squares") if lost == "second" else (lost,)
    scalars = {name: one for name, one in held.scalars.items() if name not in gone}
    arrays = {name: one for name, one in held.arrays.items() if name not in gone}
    MessageFile.of(FileKind.CARD, Packed(held.head, scalars, arrays)).save(cards / "evil.card")
    assert fedbary("value", *sorted(cards.iterdir()), "-o", "out")[0] == 3
    result = fb.Valuation.load("out")
    assert list(result.failed) == ["evil"]
    assert result.failed["evil"].startswith("evil.card: this is no card")
    code, out, _ = fedbary("show", cards / "evil.card")
    assert code == 0
    assert "this is no card" in out
