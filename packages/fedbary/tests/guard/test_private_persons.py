"""With ε a whole person is promised what a row was: one row of each is used, and how many it has stays at home."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.engines.coordinator import RunConfig
from fedbary.engines.files.owner import card_question, make_card
from fedbary.errors import DataError, SettingsError
from fedbary.guard.guarded_client import Declared
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_files import LOG
from fedbary.protocols.cards.client import CardsClient, card_of
from fedbary.protocols.sketch.client import SketchClient
from fedbary.space.fit import public_schema
from fedbary.valuation.rows import RowRules

PEOPLE, EACH = 40, 3
BY_PATIENT = fb.ReadOptions(person="patient_id")


def visits(seed=0, people=PEOPLE, each=EACH):
    rng = np.random.default_rng(seed)
    ill = np.repeat(rng.random(people) < 0.5, each)
    return pd.DataFrame(
        {
            "patient_id": [f"secret-{person}" for person in range(people) for _ in range(each)],
            "age": rng.normal(40 + 20 * ill, 8),
            "label": np.where(ill, "yes", "no"),
        }
    )


SCHEMA = public_schema(fb.Table.from_frame(visits(9), options=BY_PATIENT))


def test_a_private_card_is_of_persons_and_row_values_are_of_all_rows(tmp_path):
    pytest.importorskip("dp_accounting")
    table = fb.Table.from_frame(visits(), options=BY_PATIENT)
    settings = fb.Cards(epsilon=1e4, policy="dp")
    client = settings.client(table, rules=RowRules(), seed=0)
    card = card_of(client.answer(card_question(schema=SCHEMA)))
    assert card.rows == PEOPLE
    assert abs(card.counts.sum() - PEOPLE) < 2
    clients = {"north": visits(1), "south": visits(2), "west": visits(3)}
    SCHEMA.save(tmp_path / "schema.json")
    protocol = fb.Cards(epsilon=20.0, schema=str(tmp_path / "schema.json"))
    result = fb.value(clients, protocol=protocol, options=BY_PATIENT, seed=0)
    assert result.clients["rows"].tolist() == [PEOPLE] * 3
    assert [len(result.rows(name)) for name in clients] == [PEOPLE * EACH] * 3


def test_a_private_sketch_is_of_persons_and_row_values_are_of_all_rows():
    clients = {"north": visits(1), "south": visits(2), "west": visits(3)}
    protocol = fb.Sketch(epsilon=20.0)
    result = fb.value(clients, visits(9).drop(columns="patient_id"), protocol=protocol, options=BY_PATIENT, seed=0)
    assert result.clients["rows"].tolist() == [PEOPLE] * 3
    assert [len(result.rows(name)) for name in clients] == [PEOPLE * EACH] * 3


@pytest.mark.parametrize("protocol", [fb.Cards(epsilon=1.0, policy="dp"), fb.Sketch(epsilon=1.0)])
def test_few_persons_are_refused_however_many_rows_they_have(protocol):
    table = fb.Table.from_frame(visits(people=4, each=50), options=BY_PATIENT)
    client = protocol.client(table, rules=RowRules(), seed=0)
    assert isinstance(client, CardsClient | SketchClient)
    message = card_question(schema=SCHEMA) if protocol.name == "cards" else _sketch()
    with pytest.raises(DataError, check=coded("schema.too-few-rows")) as caught:
        client.answer(message)
    assert caught.value.note.facts["rows"] == 4
    assert (Declared.of(table, private=True).rows, Declared.of(table).rows) == (4, 200)


def _sketch():
    found = []

    class Engine(fb.LocalEngine):
        def exchange(self, tasks, *rest):
            found.extend(tasks.values())
            return super().exchange(tasks, *rest)

    fb.value({"a": visits(1)}, visits(9), protocol=fb.Sketch(epsilon=1.0), options=BY_PATIENT, engine=Engine(), seed=0)
    return found[0]


def test_a_node_is_told_whose_rows_are_by_its_owner_alone(tmp_path):
    pytest.importorskip("dp_accounting")
    visits().to_csv(tmp_path / "mine.csv", index=False)
    own = {"data-path": str(tmp_path / "mine.csv"), "state-path": str(tmp_path / "state"), "person": "patient_id"}
    config = NodeConfig.of(own, 1)
    assert config.reading == BY_PATIENT
    made = make_card(config, fb.Cards(epsilon=4.0, policy="dp"), schema=SCHEMA)
    file = made.save(tmp_path / "mine.card")
    assert fb.CardFile.load(file).card.rows == PEOPLE
    for word in (b"patient", b"secret"):
        assert word not in file.read_bytes()
    log = (config.home / LOG).read_text(encoding="utf-8")
    assert "with epsilon one row of each of 40 persons is used, 80 rows are left out" in log
    with pytest.raises(SettingsError, check=coded("engines.unknown-run-config")):
        RunConfig.of({"person": "patient_id"})


def test_a_name_that_repeats_is_in_the_owners_log_and_nowhere_else(tmp_path):
    visits().to_csv(tmp_path / "mine.csv", index=False)
    own = {"data-path": str(tmp_path / "mine.csv"), "state-path": str(tmp_path / "state"), "drop": "patient_id"}
    config = NodeConfig.of(own, 1)
    file = make_card(config, fb.Cards(policy="guarded")).save(tmp_path / "mine.card")
    assert b"patient" not in file.read_bytes()
    assert "data.identifier-repeats" in (config.home / LOG).read_text(encoding="utf-8")


def test_a_wrong_column_is_refused_with_epsilon_and_without(tmp_path):
    visits().to_csv(tmp_path / "mine.csv", index=False)
    own = {"data-path": str(tmp_path / "mine.csv"), "state-path": str(tmp_path / "state"), "person": "patientid"}
    with pytest.raises(DataError, match="did you mean 'patient_id'"):
        make_card(NodeConfig.of(own, 1), fb.Cards(policy="guarded"))
    with pytest.raises(DataError, match="did you mean 'patient_id'"):
        make_card(NodeConfig.of(own, 1), fb.Cards(epsilon=1.0, policy="dp"), schema=SCHEMA)


def test_the_doctor_says_that_names_repeat():
    found = fb.check(visits())
    assert "data.identifier-repeats" in [finding.note.code for finding in found.findings]
    assert "data.identifier-repeats" not in [one.note.code for one in fb.check(visits(), options=BY_PATIENT).findings]
