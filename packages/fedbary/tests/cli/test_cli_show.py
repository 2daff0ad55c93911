"""`fedbary show`: nothing in a file stays unsaid."""

import json

import numpy as np
import pytest

import fedbary as fb
from fedbary.engines.files.message_file import save_answer, save_question
from fedbary.guard.node import Envelope, Question
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Reply
from fedbary.valuation.rows import RowRules

pytest_plugins = ["cli_fixtures"]


@pytest.fixture
def question(sites):
    asked = fb.Sketch(epsilon=1.0)
    reference = fb.read("reference.csv", label="ill", id="id")
    server = asked.server(["north"], reference, asked.space(None), rules=RowRules(), seed=0)
    settings = Question(asked, RowRules(), {}).to_json()
    return save_question(
        server.tasks()["north"], Envelope("ab" * 16, "sketch", step=1, settings=settings), "question.fb"
    )


def test_a_question_is_shown_in_words(fedbary, question):
    code, out, err = fedbary("show", question)
    assert (code, err) == (0, "")
    assert "protocol: sketch with epsilon = 1.0" in out
    assert "columns: 2 columns: age and city (Bern and Oslo)" in out
    assert "label: ill, 2 classes: no and yes" in out
    assert "points" in out


def test_every_number_is_in_the_json(fedbary, question):
    content = json.loads(fedbary("show", question, "--json")[1])
    assert content["kind"] == "question"
    assert np.shape(content["arrays"]["points"]["values"]) == tuple(content["arrays"]["points"]["shape"])


def test_an_answer_and_why_there_is_none(fedbary, sites):
    own = Envelope("ab" * 16, "sketch", step=1, name="north")
    save_answer(Reply(0, {"rows": 40, "cost": 0.25}), own, "north.answer")
    save_answer(Failure(Note("guard.min-group", {"asked": 2, "least": 5})), own, "south.answer")
    out = fedbary("show", "north.answer")[1]
    assert "calls itself: north" in out
    assert "0.25" in out
    assert "min_group = 5" in " ".join(fedbary("show", "south.answer")[1].split())


def test_what_is_no_such_file_is_refused(refused, sites):
    assert refused("show", "reference.csv").code == "engines.file-not-ours"
