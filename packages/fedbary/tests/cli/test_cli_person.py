"""`--person`: an owner says whose each row is, wherever a table is read."""

import json

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.space.fit import public_schema

pytest_plugins = ["cli_fixtures"]


@pytest.fixture
def ward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(30), 3)
    frame = pd.DataFrame({"patient_id": people, "age": rng.normal(50, 9, 90), "label": people % 2})
    frame.to_csv("ward.csv", index=False)
    public_schema(fb.Table.from_frame(frame.drop(columns="patient_id"))).save("schema.json")
    return "ward.csv"


def test_the_doctor_names_the_option_and_is_content_with_it(fedbary, ward):
    out = " ".join(fedbary("check", ward)[1].split())
    assert "'patient_id' repeats: if it names persons, one has up to 3 rows, and min_group counts rows" in out
    assert "name it with --person" in out
    assert "repeats" not in fedbary("check", ward, "--person", "patient_id")[1]


def test_a_private_card_says_what_persons_cost(fedbary, ward):
    pytest.importorskip("dp_accounting")
    asked = ("--schema", "schema.json", "--epsilon", "2", "--ledger", "ledger", "--json")
    code, out, _ = fedbary("card", ward, "--person", "patient_id", *asked)
    told = json.loads(out)
    assert code == 0
    assert told["guesses"] == ["with epsilon one row of each of 30 persons is used, 60 rows are left out"]
    assert told["scalars"]["rows"] == 30


@pytest.mark.parametrize("command", ["check", "card", "preview"])
def test_a_column_that_is_not_there_is_named_with_the_nearest_one(fedbary, ward, command):
    more = ("--reference", ward) if command == "preview" else ()
    code, out, err = fedbary(command, ward, *more, "--person", "patient")
    assert code != 0
    assert "there is no person column 'patient' (did you mean 'patient_id'?)" in " ".join((out + err).split())
