"""Points and rounds: distances after K of a longer run, and orders that are known."""

from itertools import pairwise

import pandas as pd
import pytest

from fedbary_lab.experiments import support_rounds
from fedbary_lab.experiments.support_rounds import OWN, Cell, compared, distances_after


def test_a_longer_run_tells_what_shorter_ones_would_have_said():
    history = pd.DataFrame(
        {"client": ["a"] * 3 + ["b"] * 3, "round": [0, 1, 2] * 2, "estimate": [9.0, 3.0, 4.0, 9.0, 5.0, 2.0]}
    )
    assert distances_after(history, 1) == {"a": 3.0, "b": 5.0}
    assert distances_after(history, 2) == {"a": 3.0, "b": 2.0}  # the lowest so far


def test_distances_twice_as_large_keep_the_order():
    exact = dict(zip(OWN, (1.0, 2.0, 4.0, 3.0, 5.0), strict=True))
    found = compared({name: 2.0 * distance for name, distance in exact.items()}, exact, noisy=True)
    assert (found["relative_error"], found["same_order"], found["distance"]) == (1.0, 1.0, 6.0)
    assert found["spearman_exact"] == pytest.approx(1.0)
    assert found["spearman_noise"] == found["exact_noise"] == pytest.approx(0.9)
    assert (found["client_3"], found["exact_client_3"]) == (8.0, 4.0)
    turned = compared({name: 1.0 / distance for name, distance in exact.items()}, exact, noisy=False)
    assert turned["spearman_exact"] == pytest.approx(-1.0)
    assert turned["same_order"] == 0.0
    assert "spearman_noise" not in turned


def test_estimates_are_upper_ends_that_fall_from_round_to_round():
    records = support_rounds.compute(Cell("digits", 5, "random t", 20, 0, rows=60, rounds=3))
    assert [record["K"] for record in records] == [1, 2, 3]
    for one, next_one in pairwise(records):
        assert all(next_one[name] <= one[name] for name in OWN)
    assert all(records[-1][name] >= records[-1][f"exact_{name}"] for name in OWN)


def record(K, distance, S=100, case=4):
    own = dict.fromkeys(OWN, distance) | {f"exact_{name}": 1.0 for name in OWN}
    place = {"dataset": "digits", "case": case, "t": "t = 0.5", "support": S, "rows": 500, "seed": 0, "K": K}
    numbers = {"relative_error": distance - 1.0, "spearman_exact": 0.9, "same_order": 0.0, "spearman_noise": 0.8}
    return {**place, **own, **numbers, "distance": distance, "exact_noise": 1.0}


def test_facts_say_what_points_and_rounds_change():
    records = [record(10, 2.0), record(50, 1.5), record(10, 1.25, S=500), record(50, 1.25, S=500)]
    records.append(record(10, 7.0, case=2))
    final = support_rounds.table(pd.DataFrame(records))
    facts = support_rounds.facts(final)
    assert facts["falls_from_10_to_50_fixed"] == pytest.approx(0.125)
    assert (facts["error_s_100_fixed"], facts["error_s_m_fixed"]) == (1.0, 0.25)
    assert facts["spearman_noise_case4_s_m_fixed"] == 0.8
    assert facts["spearman_exact_case2_s_100_fixed"] == 0.9
    assert "| t = 0.5 | m | 0.25 | 0.25 |" in support_rounds.markdown(final)
    clients, support, rounds = support_rounds.pictures(final)
    assert set(clients.frame()["S"]) == {"100", "m", "exact"}
    assert len(support.frame()) == len(rounds.frame()) == 2
