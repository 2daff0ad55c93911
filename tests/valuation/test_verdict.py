"""Verdicts on made-up clients, and how results show themselves in notebooks and wikis."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.notes import Note
from fedbary.valuation.contribution import client_frame, outcomes_of
from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.result import Valuation
from fedbary.valuation.scores import ClientScores
from fedbary.valuation.verdict import Advice

INCLUDE, LOOK, LEAVE = Advice.INCLUDE, Advice.LOOK, Advice.LEAVE


def made(quality=None, distance=None, flagged=None, values=None, errors=None) -> Valuation:
    count = len(quality or distance or flagged or values)
    records = [
        {
            "client": f"c{place}",
            "rows": 100,
            "distance": 1.0 if distance is None else distance[place],
            "quality": np.nan if quality is None else quality[place],
            "outcome": Outcome(),
        }
        for place in range(count)
    ]
    clients = client_frame(records, spread=1.0)
    clients["flagged"] = pd.array(flagged or [None] * count, dtype="Int64")
    scores = None
    if values is not None:
        names = tuple(f"c{place}" for place in range(count))
        scores = ClientScores("coalition", names, np.array(values), np.array(errors or [0.0] * count))
    history = pd.DataFrame(columns=["client", "round", "estimate", "support"])
    return Valuation(clients, history, {"protocol": "sketch"}, scores=scores, outcomes=outcomes_of(records))


def advice(result: Valuation) -> dict[str, Advice]:
    return {opinion.client: opinion.advice for opinion in result.verdict()}


def reasons(result: Valuation) -> dict[str, list[str]]:
    return {opinion.client: [note.code for note in opinion.reasons] for opinion in result.verdict()}


def test_flags_from_five_per_cent_on_are_worth_a_look():
    assert advice(made(flagged=[4, 5])) == {"c0": INCLUDE, "c1": LOOK}


def test_low_quality_is_worth_a_look_and_distance_is_then_no_reproach():
    result = made(quality=[0.9, 0.89, 0.91, 0.6], distance=[1.0, 1.0, 9.0, 1.0])
    assert advice(result) == {"c0": INCLUDE, "c1": INCLUDE, "c2": INCLUDE, "c3": LOOK}
    assert "verdict.other-mix" in reasons(result)["c2"]
    assert reasons(result)["c3"] == ["verdict.less-clean"]
    (noted,) = (one.reasons[0].facts for one in result.verdict() if one.client == "c3")
    assert noted == {"quality": 0.6, "median": pytest.approx(0.895)}


def test_small_differences_are_none():
    assert set(advice(made(quality=[0.90, 0.90, 0.90, 0.88])).values()) == {INCLUDE}


def test_without_quality_the_distance_decides():
    assert advice(made(distance=[1.0, 1.1, 0.9, 5.0]))["c3"] == LOOK


def test_clear_harm_is_left_out_and_nothing_added_is_looked_at():
    result = made(values=[0.3, 0.0, -0.1, -0.1], errors=[0.0, 0.0, 0.2, 0.01])
    assert advice(result) == {"c0": INCLUDE, "c1": LOOK, "c2": LOOK, "c3": LEAVE}


@pytest.mark.parametrize("status", [Status.FAILED, Status.REFUSED, Status.SILENT])
def test_a_failed_client_has_its_reason_without_what_is_private(status):
    history = pd.DataFrame(columns=["client", "round", "estimate", "support"])
    why = Note("schema.too-few-rows", {"where": "ward.csv", "rows": 3, "least": 5})
    records = [{"client": "x", "outcome": Outcome(status, (why,))}]
    (opinion,) = Valuation(client_frame(records, spread=1.0), history, {}, outcomes=outcomes_of(records)).verdict()
    assert (opinion.advice, opinion.reasons) == (Advice.NOT_VALUED, (why.redacted(),))
    assert "ward" not in opinion.why


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a|b", "*x*", "`x`", "[x](y)", "line\nbreak", "\u202ex"])
def test_notebooks_and_wikis_show_names_as_text(name):
    scores = ClientScores("mr", (name,), np.array([0.3]), np.zeros(1))
    result = made(quality=[0.9])
    result = Valuation(result.clients.assign(client=[name]), result.history, result.settings)
    for shown in (scores._repr_html_(), result._repr_html_()):
        assert "<script" not in shown
        assert "<bdi>" in shown
    for shown in (scores.to_markdown(), result.to_markdown()):
        _summary, empty, header, _, *rows = shown.splitlines()
        assert (len(rows), empty) == (1, "")
        unescaped = rows[0].replace("\\|", "")
        assert unescaped.count("|") == header.count("|")
        assert "<script" not in shown.replace("\\<", "")


def test_many_clients_are_cut_in_notebooks_but_not_in_markdown():
    names = tuple(f"c{place}" for place in range(80))
    scores = fb.ClientScores("mr", names, np.linspace(1, 0, 80), np.zeros(80))
    assert "30 more clients" in scores._repr_html_()
    assert len(scores.to_markdown().splitlines()) == 84


def test_words_of_praise_claim_no_more_than_is_known():
    assert reasons(made(quality=[0.4, 0.4], flagged=[1, 0])) == {
        "c0": ["verdict.few-flags", "verdict.as-clean"],
        "c1": ["verdict.no-flag", "verdict.as-clean"],
    }
    assert reasons(made(quality=[0.4])) == {"c0": ["verdict.quality-alone"]}
    assert reasons(made(distance=[9.0])) == {"c0": ["verdict.distance-alone"]}


def test_markdown_makes_no_link_and_keeps_the_direction_of_the_line():
    scores = ClientScores("mr", ("https://evil.example", "WWW.evil.example", "\u202ea\x00b"), np.ones(3), np.zeros(3))
    text = scores.to_markdown()
    assert [line.split(" | ")[0] for line in text.splitlines()[4:]] == [
        "| https\\://evil.example",
        "| WWW\\.evil.example",
        "| a b",
    ]


def test_labels_that_are_written_otherwise_are_worth_a_look():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["benign", "malignant"], 30)
    loud = np.array([label.upper() for label in y])
    result = fb.value({"same": (X, y), "loud": (X, loud)}, (X + 0.01, y), seed=0)
    advised = advice(result)
    assert advised["loud"] == LOOK
    assert "how its labels are written" in {one.client: one.why for one in result.verdict()}["loud"]
    assert repr(result) == "Valuation(2 clients, protocol 'sketch')"
