"""Whom to train with, and how much each counts: by verdict and quality."""

import pytest
from made_up_results import client, made

from codes import coded, parameter
from fedbary.errors import FedbaryError, SettingsError
from fedbary.notes import Note
from fedbary.valuation.outcome import Outcome, Status


@pytest.fixture
def result():
    silent = {"client": "silent", "outcome": Outcome(Status.SILENT, (Note("protocols.no-answer"),))}
    return made(
        client("spoilt", bad=(0.7, 0.6, 0.8), rows=1000, distance=0.5),
        client("good", bad=(0.0, 0.0, 0.02), rows=100, distance=1.0),
        client("dirty", bad=(0.2, 0.15, 0.25), rows=300, distance=1.0),
        client("fair", bad=(0.05, 0.02, 0.08), rows=200, distance=2.0),
        silent,
    )


def test_without_a_criterion_the_included_are_selected(result):
    assert result.select() == ["good", "fair"]


def test_criteria_never_select_who_is_left_out_or_failed(result):
    assert result.select(k=1) == ["good"]
    assert result.select(k=9) == result.select(share=1.0) == result.select(quality=0.0) == ["good", "fair", "dirty"]
    assert result.select(quality=0.9) == ["good", "fair"]
    assert result.select(quality=1.1) == []


def test_a_part_of_the_shares_is_a_part_of_those_that_are_not_left_out(result):
    shares = result.ranking()["share"].tolist()[:3]
    first = shares[0] / sum(shares)
    assert result.select(share=first) == ["good"]
    assert result.select(share=first + 1e-6) == ["good", "fair"]


def test_weights_are_rows_times_quality_and_nothing_for_who_is_left_out(result):
    total = 100 * 1.0 + 300 * 0.8 + 200 * 0.95
    expected = {"spoilt": 0.0, "good": 100 / total, "dirty": 240 / total, "fair": 190 / total, "silent": 0.0}
    assert result.weights() == result.weights("quality") == pytest.approx(expected)


@pytest.mark.parametrize("by", ["quality", "share", "rows", "both"])
def test_weights_add_up_and_leave_out_whatever_they_go_by(result, by):
    found = result.weights(by)
    assert sum(found.values()) == pytest.approx(1.0)
    assert (found["spoilt"], found["silent"]) == (0.0, 0.0)
    assert min(found[name] for name in ("good", "dirty", "fair")) > 0
    if by == "rows":
        assert found["dirty"] == pytest.approx(0.5)
    if by == "both":
        assert found["dirty"] == pytest.approx(3 * found["good"])


def test_without_quality_weights_go_by_share():
    result = made(client("near", distance=1.0), client("far", distance=3.0))
    assert result.weights() == result.weights("share")
    assert result.weights()["near"] > result.weights()["far"]
    with pytest.raises(SettingsError, check=coded("valuation.no-quality")):
        result.select(quality=0.5)


def test_nobody_is_left_where_all_are_left_out():
    result = made(*(client(name, bad=(0.7, 0.6, 0.8)) for name in "ab"))
    assert result.select() == result.select(share=0.5) == result.select(k=1) == []
    with pytest.raises(SettingsError, check=coded("valuation.nobody-to-weigh")):
        result.weights()


@pytest.mark.parametrize("wrong", [{"k": 1, "share": 0.5}, {"k": 0}, {"share": 0.0}])
def test_a_criterion_must_be_one_and_sensible(result, wrong):
    with pytest.raises(FedbaryError, check=coded("settings.parameter", "valuation.not-one-criterion")):
        result.select(**wrong)


def test_weights_go_by_something_known(result):
    with pytest.raises(FedbaryError, check=parameter("by")):
        result.weights("distance")
