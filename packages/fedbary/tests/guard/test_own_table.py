"""How an owner's file is read: by the schema of a run's first message, and with ε by nothing that rows decide."""

import json
import secrets
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.columns import Category, Number
from fedbary.data import files
from fedbary.data.reading import Reading
from fedbary.engines.files.owner import card_question
from fedbary.guard.node import Envelope, Question, answer, asked_reading
from fedbary.guard.node_config import NodeConfig
from fedbary.notes import Note
from fedbary.protocols.messages import Message, Reply
from fedbary.valuation.rows import RowRules

READING = Reading({"age": Number(), "paid": Number()})


def rows(count, seed):
    rng = np.random.default_rng(seed)
    label = rng.choice(["no", "yes"], count)
    age = rng.normal(50, 9, count) + 9 * (label == "yes")
    paid = rng.integers(0, 4, count).astype(float)
    # Nobody but this owner has the last column, and nobody could read it without an encoder.
    notes = [f"Patient {row} slept badly, ate nothing and was sent home." for row in range(count)]
    return pd.DataFrame({"row": range(count), "age": age, "paid": paid, "label": label, "notes": notes})


def reference():
    frame = rows(120, 9)
    return fb.Table({"age": frame["age"], "paid": frame["paid"]}, frame["label"], reading=READING)


@pytest.fixture
def read_as(monkeypatch):
    """How the file was read, call by call: the reader's name and the reading that it was handed."""
    calls = []

    def spied(module, name):
        reader = getattr(module, name)

        def read(*arguments, reading=None, **more):
            calls.append((name, None if reading is None else dict(reading)))
            return reader(*arguments, reading=reading, **more)

        monkeypatch.setattr(module, name, read)

    spied(files, "read")
    spied(files, "read_any_cells")
    return calls


@pytest.fixture
def ask(tmp_path):
    rows(80, 1).to_csv(tmp_path / "mine.csv", index=False)
    (tmp_path / "policy.toml").write_text('protocols = ["sketch", "interpolation"]')
    config = NodeConfig.of(
        {
            "data-path": str(tmp_path / "mine.csv"),
            "policy": str(tmp_path / "policy.toml"),
            "state-path": str(tmp_path / "state"),
            "report": False,
            "id": "row",
        },
        1,
    )

    def send(message, asked, session, step=1):
        settings = Question(asked, RowRules(), {}).to_json()
        return answer(message, Envelope(session, message.kind, message.round, step, settings=settings), config)[0]

    return send


def first_message(asked, table=None):
    return asked.server(["me"], table, asked.space(None), rules=RowRules(), seed=0).tasks()["me"]


def test_the_schema_of_a_question_says_how_the_file_is_read(ask, read_as):
    message = first_message(fb.Sketch(), reference())
    assert isinstance(ask(message, fb.Sketch(), secrets.token_hex(16)), Reply)
    assert read_as == [("read", dict(READING))]


def test_with_epsilon_nothing_is_guessed(ask, read_as):
    asked = fb.Sketch(epsilon=1.0)
    assert isinstance(ask(first_message(asked, reference()), asked, secrets.token_hex(16)), Reply)
    # What the answer is made of; afterwards the owner's log hears of cells that were taken as missing.
    assert read_as == [("read_any_cells", dict(READING)), ("read", dict(READING))]


def test_with_epsilon_the_owner_s_results_name_rows_by_their_ids(ask, tmp_path):
    asked, session = fb.Sketch(epsilon=1.0), secrets.token_hex(16)
    frame = rows(80, 1).assign(row=[f"p{row}" for row in range(80)])
    frame.to_csv(tmp_path / "mine.csv", index=False)
    assert isinstance(ask(first_message(asked, reference()), asked, session), Reply)
    (kept,) = tmp_path.rglob("rows.parquet")
    assert set(pd.read_parquet(kept)["row"]) == set(frame["row"])


def test_with_epsilon_a_file_of_other_columns_is_refused_by_their_names(ask, tmp_path):
    rows(80, 1).rename(columns={"age": "years", "paid": "pays"}).to_csv(tmp_path / "mine.csv", index=False)
    asked = fb.Sketch(epsilon=1.0)
    found = ask(first_message(asked, reference()), asked, secrets.token_hex(16))
    assert found.note == Note("schema.columns-missing", {"missing": ("age", "paid"), "count": 2})


def test_columns_of_which_nobody_said_how_they_are_read_are_read_as_what_they_are_in_the_schema():
    table = reference().replace(reading=Reading({"age": Number()}))
    table = table.replace(columns={**table.columns, "city": np.array(["Oslo"] * 120, dtype=object)})
    schema = fb.fit_schema(table)
    kinds = {name: column.kind for name, column in schema.whole_reading.items()}
    assert kinds == {"age": "number", "paid": "number", "city": "category"}
    assert asked_reading(Message("card", 0, {"schema": schema.to_json()})) == schema.whole_reading
    assert asked_reading(Message("card", 0)) is None


def test_rows_that_were_described_by_guesses_are_read_as_nothing_else_later(ask, read_as, tmp_path):
    """A server that could have numbers read as categories later would count the rows that have a chosen number."""
    rows(80, 1).drop(columns="notes").to_csv(tmp_path / "mine.csv", index=False)
    asked, session = fb.Interpolation(rounds=2), secrets.token_hex(16)
    asked_first = first_message(asked)
    assert asked_first.kind == "describe"
    assert isinstance(ask(asked_first, asked, session), Reply)
    chosen = reference().replace(
        columns={**reference().columns, "paid": np.array(["0", "1", "2"] * 40, dtype=object)},
        reading=replace(READING, of={**READING, "paid": Category()}),
    )
    schema = replace(fb.fit_schema(chosen, fb.Space(labels="onehot")), shared_mark=False)
    found = ask(Message("moments", 0, {"schema": schema.to_json()}), asked, session, step=2)
    assert not isinstance(found, Reply)
    assert read_as == [("read", None), ("read", None)]


ODD = {
    "json": {"age": "\ud800", "paid": [10**400], "city": "\ud800", "label": "\ud800"},
    "list": {"row": [1]},
    "no": {},
}


@pytest.mark.parametrize("odd", list(ODD))
@pytest.mark.parametrize("protocol", ["sketch", "cards"])
def test_with_epsilon_one_row_of_anything_is_answered_like_any_other(tmp_path, protocol, odd):
    if protocol == "cards":
        pytest.importorskip("dp_accounting")
    frame = rows(80, 1).assign(city=["Oslo", "Rome"] * 40)
    records = [*frame.to_dict("records"), ODD[odd]]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "policy.toml").write_text(f'protocols = ["{protocol}"]')
    config = NodeConfig.of(
        {
            "data-path": str(tmp_path / "mine.jsonl"),
            "policy": str(tmp_path / "policy.toml"),
            "state-path": str(tmp_path / "state"),
            "id": "row",
        },
        1,
    )
    city = np.array(["Oslo", "Rome"] * 60, dtype=object)
    public = reference().replace(columns={**reference().columns, "city": city}, reading=Reading())
    if protocol == "sketch":
        asked = fb.Sketch(epsilon=1.0)
        message = first_message(asked, public)
    else:
        asked = fb.Cards(epsilon=1.0, delta=1e-6, policy="dp")
        schema = replace(fb.fit_schema(public, fb.Space(labels="onehot")), clip=3.0)
        message = card_question("classification", schema)
    settings = Question(asked, RowRules(), {}).to_json()
    envelope = Envelope(secrets.token_hex(16), message.kind, message.round, 1, settings=settings)
    found = answer(message, envelope, config)[0]
    assert isinstance(found, Reply), found
    if protocol == "sketch":
        assert list(tmp_path.rglob("rows.parquet"))
