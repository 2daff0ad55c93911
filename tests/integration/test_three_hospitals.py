"""Three hospitals and an e-mail account (docs/files.md): real processes, folders and ledgers of each party's own.

Every process sees its own folder alone: it runs there with relative paths, and mail is a copy of one file.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import fedbary as fb
from fedbary.engines.files.message_file import MessageFile
from fedbary.guard.ledger import Ledger

HOSPITALS = Path(__file__).resolve().parents[2] / "examples" / "hospitals"
NAMES = ("south", "north", "west")
FEDBARY = Path(sys.executable).with_name("fedbary")


class Party:
    """Somebody with a folder, in which commands run; its home is inside, so that nothing is shared."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "home").mkdir(parents=True)

    def fedbary(self, *arguments: object, code: int = 0) -> str:
        own = {"HOME": str(self.folder / "home"), "COLUMNS": "100"}
        done = subprocess.run(
            [FEDBARY, *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return " ".join(done.stdout.split())

    def mail(self, file: str, to: "Party", name: str | None = None) -> None:
        target = to.folder / (name or Path(file).name)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(self.folder / file, target)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """What the party's ledger has: lines and the kinds of messages that they are about."""
        (ledger,) = (self.folder / "home" / ".fedbary").glob("*/ledger.jsonl")
        return [(entry.what, entry.kind) for entry in Ledger(ledger).read().entries]


@pytest.fixture
def parties(tmp_path):
    made = {name: Party(tmp_path / name) for name in (*NAMES, "coordinator")}
    for name in NAMES:
        table = pd.read_parquet(HOSPITALS / f"hospital_{name}.parquet")
        table.to_parquet(made[name].folder / "patients.parquet", index=False)
        # Three are so few that a model may be made of one card alone.
        (made[name].folder / "policy.toml").write_text("share_card_with_others = true\n", encoding="utf-8")
    return made


def test_cards_go_out_models_come_back_and_answers_improve_the_numbers(parties):
    coordinator = parties["coordinator"]
    mine = ("patients.parquet", "--id", "patient")
    for name in NAMES:
        own = ("--label", "diagnosis", "--policy", "policy.toml")
        said = parties[name].fedbary("card", *mine, *own, "-o", f"{name}.card")
        assert "written" in said
        parties[name].mail(f"{name}.card", coordinator, f"cards/{name}.card")
    coordinator.fedbary("value", "cards/south.card", "cards/north.card", "cards/west.card", "-o", "out")
    alone = fb.Valuation.load(coordinator.folder / "out")
    assert alone.ranking()["client"].tolist()[-1] == "south"

    for name in NAMES:
        coordinator.mail(f"out/models/{name}.model", parties[name])
        if name == "south":  # looking at one's rows leaves nothing
            parties[name].fedbary("rows", *mine, "--model", f"{name}.model")
        assert parties[name].lines == [("question", "card"), ("reply", "card")]
        own = ("--policy", "policy.toml")
        parties[name].fedbary("answer", *mine, f"{name}.model", *own, "-o", f"{name}.answer")
        assert parties[name].lines[2:] == [("reply", "model")]
        parties[name].mail(f"{name}.answer", coordinator, f"cards/{name}.answer")
    coordinator.fedbary("value", "cards/*.card", "cards/*.answer", "-o", "out")
    told = fb.Valuation.load(coordinator.folder / "out").clients.set_index("client")["wrong_labels"]

    truth = pd.read_csv(HOSPITALS / "truth.csv").query("trouble == 'wrong diagnosis'")
    bad = set(truth.loc[truth["hospital"] == "hospital_south", "patient"])
    rows = pd.read_csv(parties["south"].folder / "patients-rows" / "rows.csv")
    assert told["south"] == pytest.approx(len(bad) / len(rows), abs=0.1)
    assert told["north"] < 0.1
    assert told["west"] < 0.1
    found = set(rows.nlargest(len(bad), "label_score")["row"])
    assert len(found & bad) / len(bad) > 0.7  # a third of all would be by chance


def test_no_row_is_in_any_file_that_left(parties):
    """A card has sums of classes; a cell of a patient is in no file as a number or a text."""
    south = parties["south"]
    south.fedbary("card", "patients.parquet", "--id", "patient", "--label", "diagnosis", "-o", "south.card")
    table = pd.read_parquet(HOSPITALS / "hospital_south.parquet")
    file = MessageFile.load(south.folder / "south.card")
    numbers = {round(float(x), 9) for array in file.packed.arrays.values() for x in array.ravel()}
    cells = {round(float(x), 9) for x in table.select_dtypes("number").to_numpy().ravel()}
    assert not {number for number in numbers & cells if number not in (0.0, 1.0) and not number.is_integer()}
    text = str(file.packed.scalars["card"]) + str(file.packed.head)
    assert not [patient for patient in table["patient"].astype(str) if f'"{patient}"' in text]


def test_a_question_with_a_reference_and_an_owner_who_refuses(parties):
    coordinator, south = parties["coordinator"], parties["south"]
    shutil.copy(HOSPITALS / "validation.parquet", coordinator.folder)
    coordinator.fedbary(
        "ask", "--reference", "validation.parquet", "--label", "diagnosis", "--id", "patient", "-o", "study"
    )
    (south.folder / "policy.toml").write_text('protocols = ["cards"]\n', encoding="utf-8")
    for name in NAMES:
        coordinator.mail("study/question.fb", parties[name])
        own = ("--policy", "policy.toml") if name == "south" else ()
        mine = ("patients.parquet", "question.fb", "--id", "patient", "-o", f"{name}.answer")
        said = parties[name].fedbary("answer", *mine, *own, code=3 if name == "south" else 0)
        assert ("report.html" in said) is (name != "south")
        parties[name].mail(f"{name}.answer", coordinator, f"study/answers/{name}.answer")
    assert south.lines == [("refusal", "sketch")]
    assert parties["north"].lines == [("question", "sketch"), ("reply", "sketch")]
    coordinator.fedbary("value", "study", "-o", "out", code=3)
    result = fb.Valuation.load(coordinator.folder / "out")
    assert result.clients.set_index("client")["status"].to_dict() == {"north": "ok", "south": "refused", "west": "ok"}
