"""Cards as files: made once behind policy and ledger, valued with nobody being asked, answered where owners like."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.engines.files.message_file import FileKind, MessageFile
from fedbary.engines.files.owner import answer_file, make_card
from fedbary.engines.packed import Packed
from fedbary.errors import DataError, PrivacyError, ProtocolError, SchemaError, SettingsError
from fedbary.guard.node_config import NodeConfig
from fedbary.protocols.messages import Failure
from fedbary.space.fit import public_schema

NAMES = ("north", "south", "west", "east", "centre")
GUARDED = fb.Cards(policy="guarded")


def people(rows, seed, flipped=0):
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    age, weight = rng.normal(40 + 20 * ill, 8), rng.normal(70, 9, rows)
    label = np.where(ill ^ (np.arange(rows) < flipped), "yes", "no")
    return pd.DataFrame({"age": age, "weight": weight, "label": label})


@pytest.fixture
def owners(tmp_path):
    configs = {}
    for seed, name in enumerate(NAMES):
        home = tmp_path / name
        home.mkdir()
        people(200, seed, flipped=60 if name == "west" else 0).to_csv(home / "mine.csv", index=False)
        configs[name] = NodeConfig(home / "state", home / "results", name, home / "mine.csv", report=False)
    return configs


@pytest.fixture
def cards(owners, tmp_path):
    """What the coordinator got."""
    return [make_card(config, GUARDED).save(tmp_path / "in" / f"{name}.card") for name, config in owners.items()]


def valued(cards, folder, answers=()):
    return fb.value(list(cards), engine=fb.FilesEngine(folder, answers=answers), seed=0)


def test_models_come_back_and_answers_improve_the_numbers(cards, owners, tmp_path):
    study = tmp_path / "out"
    alone = valued(cards, study)
    assert alone.clients["status"].tolist() == ["ok"] * 5
    assert alone.clients["odd_features"].isna().all()
    assert any(note.code == "protocols.shares-by-cards" for note in alone.notes)
    answers = []
    for name, config in owners.items():
        model = MessageFile.load(study / "models" / f"{name}.model")
        answers.append(answer_file(model, config).save(tmp_path / f"{name}.answer"))
    told = valued(cards, study, answers).clients.set_index("client")
    assert told["odd_features"].notna().all()
    assert told["wrong_labels"].idxmax() == "west"
    assert told.loc["west", "wrong_labels"] == pytest.approx(0.3, abs=0.12)


def test_the_same_numbers_as_in_one_process_behind_the_same_guards(cards, owners, tmp_path):
    tables = {name: fb.read(config.data, "label") for name, config in owners.items()}
    here = fb.value(tables, protocol=fb.Cards(policy="guarded", numbers=False), seed=0)
    there = valued(cards, tmp_path / "out")
    for column in ("rows", "distance", "wrong_labels", "missing"):
        pd.testing.assert_series_equal(here.clients[column], there.clients[column])


def test_the_same_card_again_begins_no_other_run(cards, owners, tmp_path):
    again = make_card(owners["north"], GUARDED).save(tmp_path / "north.card")
    assert again.read_bytes() == cards[0].read_bytes()
    assert [line.what for line in owners["north"].ledger.read().entries] == ["question", "reply", "free"]


def test_a_table_that_grew_by_a_row_gives_no_other_card(cards, owners, tmp_path):
    """Two cards that differ in a row would show it."""
    frame = pd.read_csv(owners["north"].data)
    pd.concat([frame, frame.tail(1).assign(age=99.0)]).to_csv(owners["north"].data, index=False)
    again = make_card(owners["north"], GUARDED)
    assert again.save(tmp_path / "north.card").read_bytes() == cards[0].read_bytes()


def test_a_model_stays_as_it_is_and_its_answer_the_same(cards, owners, tmp_path):
    valued(cards, tmp_path / "out")
    file = tmp_path / "out" / "models" / "north.model"
    before = file.read_bytes()
    valued(cards, tmp_path / "out")
    assert file.read_bytes() == before
    one, two = (answer_file(MessageFile.load(file), owners["north"]) for _ in range(2))
    assert one.digest == two.digest


def test_another_model_for_the_same_card_gets_no_second_answer(cards, owners, tmp_path):
    """A coordinator that leaves clients out in turn could subtract the answers from each other."""
    valued(cards, tmp_path / "all")
    valued([*cards[:2], *cards[3:]], tmp_path / "fewer")
    first = answer_file(MessageFile.load(tmp_path / "all" / "models" / "north.model"), owners["north"])
    second = answer_file(MessageFile.load(tmp_path / "fewer" / "models" / "north.model"), owners["north"])
    assert "likelihood" in first.packed.arrays
    assert not second.packed.arrays


def test_an_answer_to_another_model_is_not_used(cards, owners, tmp_path):
    valued(cards, tmp_path / "all")
    answer = answer_file(MessageFile.load(tmp_path / "all" / "models" / "north.model"), owners["north"])
    path = answer.save(tmp_path / "north.answer")
    fewer = valued(cards[:4], tmp_path / "fewer", [path])
    assert np.isnan(fewer.clients.set_index("client").loc["north", "odd_features"])
    (said,) = [note.facts["why"] for note in fewer.notes if note.code == "engines.file-not-used"]
    assert (said.code, said.facts["where"]) == ("engines.answer-to-another", "north.answer")


def test_a_model_for_a_card_that_was_not_made_here_is_not_answered(cards, owners, tmp_path):
    valued(cards, tmp_path / "out")
    model = MessageFile.load(tmp_path / "out" / "models" / "south.model")
    with pytest.raises(ProtocolError, check=coded("engines.model-without-card")):
        answer_file(model, owners["north"])


def test_cards_whose_columns_contradict_the_others_are_left_out(cards, tmp_path):
    renamed = {name: f"other {name}" for name in people(100, 7).columns if name != "label"}
    odd = fb.card(people(100, 7).rename(columns=renamed), name="odd")
    result = valued([*cards, odd], tmp_path / "out")
    assert result.clients.set_index("client")["status"].to_dict() == {**dict.fromkeys(NAMES, "ok"), "odd": "failed"}


def test_two_cards_of_one_client_are_named(cards, tmp_path):
    (tmp_path / "new").mkdir()
    newer = fb.card(people(150, 5), name="north").save(tmp_path / "new" / "north.card")
    result = valued([*cards, newer], tmp_path / "out")
    assert result.outcomes["north"].notes[0].facts["files"] == (str(cards[0]), str(newer))
    assert [name for name, outcome in result.outcomes.items() if outcome.ok] == list(NAMES[1:])


def test_what_a_card_calls_itself_decides_nothing(cards, tmp_path):
    false = tmp_path / "clinic.card"
    false.write_bytes(cards[0].read_bytes())
    result = valued([*cards[1:], false], tmp_path / "out")
    assert result.clients["client"].tolist() == [*NAMES[1:], "clinic"]
    assert result.outcomes["clinic"].has("engines.claims-name")


def test_a_card_that_no_rows_could_have_is_named_with_its_file(cards, tmp_path):
    own = fb.CardFile.load(cards[0])
    bad = replace(own, card=replace(own.card, second=-own.card.second)).save(tmp_path / "bad.card")
    result = valued([*cards[1:], bad], tmp_path / "out")
    assert result.outcomes["bad"].has("protocols.card-not-moments")
    assert result.failed["bad"].startswith("bad.card: ")


def test_an_owner_who_needs_epsilon_refuses_an_exact_card(owners, tmp_path):
    pytest.importorskip("dp_accounting")
    policy = tmp_path / "policy.toml"
    policy.write_text("epsilon_budget = 4.0\n", encoding="utf-8")
    config = replace(owners["north"], policy=policy)
    found = make_card(config, GUARDED)
    assert isinstance(found, Failure)
    assert found.note.code == "guard.exact-answers"
    schema = public_schema(fb.Table.from_frame(people(100, 8), "label"))
    private = fb.Cards(epsilon=4.0, policy="dp")
    assert isinstance(make_card(config, private, schema=schema), MessageFile)
    assert config.ledger.spent() == 4.0
    make_card(config, private, schema=schema)  # the card that left, again: free
    assert config.ledger.spent() == 4.0


def test_cards_in_python_pass_policy_and_ledger(tmp_path):
    ledger = fb.Ledger(tmp_path / "ledger.jsonl")
    frame = people(100, 0)
    made = fb.card(frame, name="north", ledger=ledger)
    again = fb.card(frame, name="north", ledger=ledger)
    assert made.file().digest == again.file().digest
    assert [entry.what for entry in ledger.read().entries] == ["question", "reply", "free"]
    with pytest.raises(PrivacyError, check=coded("guard.min-group")):
        fb.card(frame, min_group=2, ledger=ledger)
    with pytest.raises(SettingsError, check=parameter("ledger")):
        fb.card(frame, policy=fb.OwnerPolicy())
    with pytest.raises(PrivacyError, check=coded("protocols.card-needs-schema")):
        fb.card(frame, epsilon=1.0)


def test_what_makes_no_sense_is_refused(cards, tmp_path):
    with pytest.raises(SettingsError, check=coded("engines.card-without-name")):
        fb.value([fb.card(people(50, 0))])
    with pytest.raises(SettingsError, check=coded("settings.no-client")):
        fb.value([])
    with pytest.raises(SettingsError, check=parameter("protocol")):
        fb.value(cards, protocol="sketch")
    with pytest.raises(SettingsError, check=parameter("engine")):
        fb.value(cards, engine=fb.LocalEngine())
    with pytest.raises(DataError, check=coded("engines.no-file")):
        fb.CardFile.load(tmp_path / "none.card")


def test_a_reference_is_one_more_card_and_its_rows_flag(cards, owners, tmp_path):
    engine = fb.FilesEngine(tmp_path / "out")
    result = fb.value(cards, people(200, 9), engine=engine, seed=0)
    assert result.clients["status"].tolist() == ["ok"] * 5
    message, _ = MessageFile.load(tmp_path / "out" / "models" / "west.model").message()
    client = fb.Cards().client(fb.read(owners["west"].data, "label"), rules=_rules(), seed=0)
    client.answer(message)
    frame = client.row_values().frame
    assert frame["flag"].notna().any()
    assert frame.loc[frame["flag"].fillna(False), "row"].lt(60).mean() > 0.8


def _rules():
    from fedbary.valuation.rows import RowRules

    return RowRules()


def test_where_the_coordinator_keeps_the_schema_leaves_in_no_question(tmp_path):
    schema = tmp_path / "secret-project" / "schema.json"
    schema.parent.mkdir()
    public_schema(fb.Table.from_frame(people(100, 8), "label")).save(schema)
    asked = fb.Cards(epsilon=2.0, schema=str(schema))
    with pytest.raises(fb.Waiting):
        fb.value(None, protocol=asked, engine=fb.FilesEngine(tmp_path / "study", clients=NAMES), seed=0)
    assert b"secret-project" not in (tmp_path / "study" / "north.fb").read_bytes()


def test_cards_over_questions_too(owners, tmp_path):
    """`fedbary ask --protocol cards`: the same protocol in rounds of files."""
    study = tmp_path / "study"

    def ask():
        return fb.value(None, protocol="cards", engine=fb.FilesEngine(study, clients=NAMES), seed=0)

    for step in ("", "-2"):  # card, model
        with pytest.raises(fb.Waiting):
            ask()
        for name, config in owners.items():
            question = MessageFile.load(study / f"{name}{step}.fb")
            answer_file(question, config).save(study / "answers" / f"{name}{step}.answer")
    result = ask().clients.set_index("client")
    assert result["status"].tolist() == ["ok"] * 5
    assert result["wrong_labels"].idxmax() == "west"


def test_a_mistake_in_the_owners_command_is_named_and_counts_nothing(owners):
    config = owners["north"]
    with pytest.raises(DataError, check=coded("data.no-such-column")):
        make_card(replace(config, label="lable"), GUARDED)
    other = public_schema(fb.Table({"height": [1.0, 2.0, 3.0, 4.0]}, ["a", "b", "a", "b"]))
    with pytest.raises(SchemaError):
        make_card(config, fb.Cards(epsilon=4.0, policy="dp"), schema=other)
    assert isinstance(make_card(config, GUARDED), MessageFile)


def test_one_card_alone_has_nobody_to_be_compared_with(cards, tmp_path):
    with pytest.raises(SettingsError, check=coded("settings.one-client")):
        valued(cards[:1], tmp_path / "out")


HOSTILE = {
    "no header": lambda scalars, arrays: (without(scalars, "card"), arrays),
    "a number as header": lambda scalars, arrays: ({**scalars, "card": 3}, arrays),
    "no rows": lambda scalars, arrays: (without(scalars, "rows"), arrays),
    "no arrays": lambda scalars, arrays: (scalars, {}),
    "no counts": lambda scalars, arrays: (scalars, without(arrays, "counts")),
    "no second moment": lambda scalars, arrays: (scalars, without(arrays, "second", "squares")),
    "two second moments": lambda scalars, arrays: (scalars, {**arrays, "squares": np.diag(arrays["second"])}),
    "whole numbers": lambda scalars, arrays: (scalars, {**arrays, "sums": arrays["sums"].astype(np.int8)}),
    "a field more": lambda scalars, arrays: (scalars, {**arrays, "more": np.zeros(3)}),
    "a header with a field twice": lambda scalars, arrays: (twice(scalars, '"rows"'), arrays),
}


def without(content, *names):
    return {name: value for name, value in content.items() if name not in names}


def twice(scalars, field):
    return {**scalars, "card": scalars["card"].replace(field, f"{field}: 7, {field}", 1)}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_card_is_its_own_clients_failure(cards, tmp_path, how):
    held = MessageFile.load(cards[0]).packed
    odd = Packed(held.head, *HOSTILE[how](dict(held.scalars), dict(held.arrays)))
    evil = MessageFile.of(FileKind.CARD, odd).save(tmp_path / "in" / "evil.card")
    with pytest.raises(ProtocolError, check=coded("protocols.not-a-card")) as caught:
        fb.CardFile.load(evil)
    assert str(caught.value).startswith("evil.card: this is no card (")
    result = valued([*cards, evil], tmp_path / "out")
    assert list(result.failed) == ["evil"]
    assert "evil.card" in result.failed["evil"]
    assert "have it made again" in result.failed["evil"]
