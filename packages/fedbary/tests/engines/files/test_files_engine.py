"""The files engine: the same numbers as over any other engine, in as many calls as answers take to come."""

import shutil

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.engines.files.message_file import MessageFile, save_answer
from fedbary.errors import ProtocolError, SettingsError
from fedbary.guard.node import answer
from fedbary.guard.node_config import NodeConfig

NAMES = ["north", "south"]


def people(rows, seed):
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    age, weight = rng.normal(40 + 10 * ill, 8), rng.normal(70, 9, rows)
    return pd.DataFrame({"age": age, "weight": weight, "label": np.where(ill, "yes", "no")})


@pytest.fixture
def owners(tmp_path):
    """Each owner's config: a table, a policy and a ledger of its own."""
    configs = {}
    for seed, name in enumerate([*NAMES, "west"]):
        home = tmp_path / name
        home.mkdir()
        people(60, seed).to_csv(home / "mine.csv", index=False)
        text = 'protocols = ["sketch", "interpolation"]\nmax_questions = 3\n'
        (home / "policy.toml").write_text(text, encoding="utf-8")
        data, policy = home / "mine.csv", home / "policy.toml"
        configs[name] = NodeConfig(home / "state", home / "results", name, data, policy=policy, report=False)
    return configs


@pytest.fixture
def reference():
    return people(80, 9)


def answered(config, question, to):
    """What an owner does with a question that came."""
    message, envelope = MessageFile.load(question).message()
    found, own = answer(message, envelope, config)
    return save_answer(found, own, to)


def by_hand(study, owners, names, ask):
    """Carry files until the run is done; how many rounds that took."""
    for rounds in range(1, 30):
        try:
            return ask(), rounds
        except fb.Waiting as error:
            waiting = error.names
        assert waiting == tuple(names)
        for file in study.glob("*.fb"):
            name = file.stem.partition("-")[0]
            target = study / "answers" / f"{file.stem}.answer"
            if not target.exists():
                answered(owners[name], file, target)
    raise AssertionError("it goes on for ever")


def test_a_sketch_takes_one_round_and_gives_the_numbers_of_any_engine(tmp_path, owners, reference):
    study = tmp_path / "study"
    engine = fb.FilesEngine(study, clients=NAMES)
    result, rounds = by_hand(
        study, owners, NAMES, lambda: fb.value(None, reference, protocol="sketch", engine=engine, seed=3)
    )
    assert rounds == 2
    tables = {name: pd.read_csv(owners[name].data) for name in NAMES}
    here = fb.value(tables, reference, protocol=fb.Sketch(policy="coarsen"), seed=3)
    for column in ("distance", "low", "high", "closeness", "wrong_labels", "rows"):
        pd.testing.assert_series_equal(result.clients[column], here.clients[column])
    assert result.settings["engine"] == "files"
    assert len(list((owners["north"].output).glob("*/rows.csv"))) == 1  # the owner has its own results at once


def test_interpolation_goes_on_over_its_rounds_and_gives_its_result_again(tmp_path, owners, reference):
    study, asked = tmp_path / "study", fb.Interpolation(rounds=3, support=10, tolerance=0.0)

    def ask():
        # A new engine each time, as a new process would have.
        engine = fb.FilesEngine(study, clients=NAMES)
        return fb.value(None, reference, protocol=asked, engine=engine)

    result, rounds = by_hand(study, owners, NAMES, ask)
    assert rounds == 5
    assert result.clients["status"].tolist() == ["ok", "ok"]
    tables = {name: pd.read_csv(owners[name].data) for name in NAMES}
    true = fb.value(tables, reference, protocol=fb.Interpolation(rounds=30, support=12), seed=0).clients["low"]
    assert (result.clients["high"] >= true).all()
    again = ask()
    pd.testing.assert_frame_equal(again.clients, result.clients)
    for name in NAMES:  # nobody waits for the last question, by which owners get their row values
        answered(owners[name], study / f"{name}-5.fb", tmp_path / f"{name}.answer")
        assert len(list(owners[name].output.glob("*/rows.csv"))) == 1


def test_whoever_is_silent_can_be_left_out(tmp_path, owners, reference):
    study = tmp_path / "study"
    with pytest.raises(fb.Waiting) as caught:
        fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES), seed=0)
    assert caught.value.names == tuple(NAMES)
    answered(owners["north"], study / "north.fb", study / "answers" / "from-north.answer")
    with pytest.raises(fb.Waiting) as caught:
        fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES), seed=0)
    assert caught.value.names == ("south",)
    early = fb.value(
        None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES, wait=False), seed=0
    )
    assert early.clients["status"].tolist() == ["ok", "silent"]
    answered(owners["south"], study / "south.fb", study / "answers" / "south.answer")
    late = fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES), seed=0)
    assert late.clients["status"].tolist() == ["ok", "ok"]


def test_one_question_for_anybody_names_clients_by_their_files(tmp_path, owners, reference):
    study = tmp_path / "study"
    with pytest.raises(fb.Waiting) as caught:
        fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study), seed=0)
    assert caught.value.names == ()
    for name, config in owners.items():
        answered(config, study / "question.fb", tmp_path / "in" / f"clinic_{name}.answer")
    files = sorted((tmp_path / "in").iterdir())
    result = fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, answers=files), seed=0)
    assert result.clients["client"].tolist() == ["clinic_north", "clinic_south", "clinic_west"]
    assert result.outcomes["clinic_north"].has("engines.claims-name")  # what it calls itself decides nothing
    fewer = fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, answers=files[:2]), seed=0)
    assert len(fewer.clients) == 2


def test_the_same_answer_under_two_names_is_said(tmp_path, owners, reference):
    study = tmp_path / "study"
    with pytest.raises(fb.Waiting):
        fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study), seed=0)
    answered(owners["north"], study / "question.fb", study / "answers" / "a.answer")
    shutil.copy(study / "answers" / "a.answer", study / "answers" / "b.answer")
    result = fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study), seed=0)
    assert [note.facts["names"] for note in result.outcomes["a"].notes if note.code == "engines.same-file"] == [("b",)]
    assert result.outcomes["b"].ok


def test_what_cannot_be_used_is_named_and_takes_nobody_down(tmp_path, owners, reference):
    study, other = tmp_path / "study", tmp_path / "other"
    for folder in (study, other):
        with pytest.raises(fb.Waiting):
            fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(folder), seed=0)
    answers = study / "answers"
    answered(owners["north"], study / "question.fb", answers / "north.answer")
    cut = answered(owners["south"], study / "question.fb", answers / "cut.answer")
    cut.write_bytes(cut.read_bytes()[:-20])
    answered(owners["west"], other / "question.fb", answers / "stray.answer")
    result = fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study), seed=0)
    assert {name: outcome.ok for name, outcome in result.outcomes.items()} == {
        "cut": False,
        "north": True,
        "stray": False,
    }
    assert result.outcomes["cut"].has("engines.file-damaged")
    assert "cut.answer" in result.failed["cut"]
    assert result.outcomes["stray"].has("engines.reply-of-another-run")
    assert "stray.answer" in result.failed["stray"]


def test_two_answers_of_one_client_are_named_and_neither_is_believed(tmp_path, owners, reference):
    study = tmp_path / "study"
    with pytest.raises(fb.Waiting):
        fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES), seed=0)
    for name in NAMES:
        answered(owners[name], study / f"{name}.fb", study / "answers" / f"{name}.answer")
    answered(owners["west"], study / "north.fb", study / "answers" / "north-2.answer")
    result = fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES), seed=0)
    assert result.clients["status"].tolist() == ["failed", "ok"]
    (note,) = result.outcomes["north"].notes
    assert (note.code, note.facts["files"]) == ("engines.two-answers", ("north-2.answer", "north.answer"))


def test_an_owner_who_refuses_says_so_and_its_ledger_has_it(tmp_path, owners, reference):
    study = tmp_path / "study"
    asked = fb.Sketch(min_group=2)
    engine = fb.FilesEngine(study, clients=["north"])
    with pytest.raises(fb.Waiting):
        fb.value(None, reference, protocol=asked, engine=engine, seed=0)
    answered(owners["north"], study / "north.fb", study / "answers" / "north.answer")
    result = fb.value(None, reference, protocol=asked, engine=engine, seed=0)
    assert result.clients["status"].tolist() == ["refused"]
    assert result.outcomes["north"].has("guard.min-group")
    assert owners["north"].ledger.read().entries[-1].what == "refusal"


def test_a_study_stays_the_same_study(tmp_path, reference):
    study = tmp_path / "study"
    with pytest.raises(fb.Waiting):
        fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES), seed=0)
    before = (study / "north.fb").read_bytes()
    with pytest.raises(fb.Waiting):
        fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES), seed=0)
    assert (study / "north.fb").read_bytes() == before
    for changed in ({"seed": 1, "protocol": "sketch"}, {"seed": 0, "protocol": fb.Sketch(epsilon=1.0)}):
        with pytest.raises(ProtocolError, check=coded("engines.study-of-another-run")):
            fb.value(None, reference, engine=fb.FilesEngine(study, clients=NAMES), **changed)


def test_without_a_seed_the_first_one_stays(tmp_path, owners, reference):
    study = tmp_path / "study"
    result, _ = by_hand(
        study,
        owners,
        NAMES,
        lambda: fb.value(None, reference, protocol="sketch", engine=fb.FilesEngine(study, clients=NAMES)),
    )
    assert result.settings["seed"] == int((study / "seed").read_text())


def test_what_makes_no_sense_is_refused(tmp_path, reference):
    with pytest.raises(SettingsError, check=parameter("clients")):
        fb.FilesEngine(tmp_path, clients=["a", "a"])
    with pytest.raises(SettingsError, check=parameter("clients")):
        fb.FilesEngine(tmp_path, clients="north")
    with pytest.raises(SettingsError, check=coded("engines.files-need-names")):
        fb.value(None, reference, protocol="interpolation", engine=fb.FilesEngine(tmp_path))
    with pytest.raises(SettingsError, check=coded("engines.rows-are-at-the-nodes")):
        fb.value({"a": reference}, reference, engine=fb.FilesEngine(tmp_path))
