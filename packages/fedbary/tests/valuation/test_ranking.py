"""Who is better than whom, and who cannot be told apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made_up_results import client, made

from fedbary.notes import Note
from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.result import places


def test_quality_orders_and_its_intervals_rank():
    bad = {"a": (0.02, 0.0, 0.05), "b": (0.2, 0.12, 0.28), "c": (0.01, 0.0, 0.04), "d": (0.6, 0.5, 0.7)}
    result = made(*(client(name, bad=share) for name, share in bad.items()))
    ranked = result.ranking()
    assert ranked["client"].tolist() == ["c", "a", "b", "d"]
    assert ranked["rank"].tolist() == ["1–2", "1–2", "3", "4"]


def test_equal_quality_is_ordered_by_share_and_the_unknown_come_last():
    bad = (0.02, 0.0, 0.05)
    silent = {"client": "silent", "outcome": Outcome(Status.SILENT, (Note("protocols.no-answer"),))}
    result = made(
        silent, client("far", bad=bad, distance=2.0), client("unknown"), client("near", bad=bad, distance=1.0)
    )
    ranked = result.ranking()
    assert ranked["client"].tolist() == ["near", "far", "unknown", "silent"]
    assert ranked["rank"].isna().tolist() == [False, False, False, True]
    assert ranked["rank"][2] == "1–3"  # nothing is known of it


def test_shapley_values_rank_by_two_standard_errors():
    result = made(*(client(name) for name in "abc"), values=[0.1, 0.3, 0.25], errors=[0.01, 0.02, 0.02])
    assert result.ranking()["client"].tolist() == ["b", "c", "a"]
    assert result.ranking()["rank"].tolist() == ["1–2", "1–2", "3"]


def test_distances_rank_by_their_intervals_where_there_are_any():
    ends = {"a": (1.0, 0.9, 1.1), "b": (1.2, 1.05, 1.3), "c": (3.0, 2.5, 3.5)}
    result = made(*(client(name, distance=d, low=low, high=high) for name, (d, low, high) in ends.items()))
    assert result.ranking()["rank"].tolist() == ["1–2", "1–2", "3"]
    plain = made(*(client(name, distance=d) for name, (d, *_) in ends.items()))
    assert plain.ranking()["rank"].tolist() == ["1", "2", "3"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted), min_size=1, max_size=12))
def test_a_place_is_possible_and_every_true_place_is_among_them(intervals):
    low, high = np.array(intervals).T
    ends = [tuple(map(int, (text or "").split("–"))) for text in places(low, high)]
    truth = low + (high - low) * np.random.default_rng(0).random(len(low))
    for own, place in zip(truth, ends, strict=True):
        assert 1 <= place[0] <= 1 + int((truth > own).sum())
        assert len(low) - int((truth < own).sum()) <= place[-1] <= len(low)


def test_sharp_numbers_have_sharp_places():
    values = np.array([0.3, 0.9, 0.3, 0.1])
    assert places(values, values) == ["2–3", "1", "2–3", "4"]
