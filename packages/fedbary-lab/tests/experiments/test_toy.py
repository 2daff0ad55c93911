"""Three Gaussians: barycenters that are known, and numbers that pages quote."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from fedbary_lab.experiments import toy
from fedbary_lab.experiments.gaussians import gaussians, tables_of
from fedbary_lab.experiments.toy import PAPER, SETTINGS


def test_means_are_apart_and_covariances_the_same_only_where_said():
    same, other = (gaussians(2000, seed=3, same_covariance=same) for same in (True, False))
    for a, b in combinations(same, 2):
        assert np.linalg.norm(a.mean(axis=0) - b.mean(axis=0)) > 1.8
        assert np.cov(a.T) == pytest.approx(np.cov(b.T), abs=0.15)
    spreads = [np.trace(np.cov(own.T)) for own in other]
    assert max(spreads) > 1.3 * min(spreads)
    assert [len(table) for table in tables_of(same).values()] == [2000] * 3


def test_of_translated_clients_the_pooled_barycenter_is_the_translate_to_the_mean():
    rng = np.random.default_rng(0)
    own, steps = rng.standard_normal((12, 2)), np.array([[0.0, 0.0], [60.0, 0.0], [0.0, 90.0]])
    found = toy.pooled_barycenters([own + step for step in steps], 12, seed=0)[0]
    assert toy.squared_error(found, own + np.array([20.0, 30.0])) == pytest.approx(0.0, abs=1e-6)
    least = sum(((step - [20.0, 30.0]) ** 2).sum() for step in steps)
    assert toy.objective([own + step for step in steps], found) == pytest.approx(least)


def test_the_federated_barycenter_is_seen_after_each_round_of_one_run():
    points = gaussians(100, seed=1)
    runs = [toy.federated(points, SETTINGS[PAPER], rounds, seed=1) for rounds in (1, 2)]
    first, second = (run.history.sort_values(["client", "round"]) for run in runs)
    same = second[second["round"] <= 1]
    assert same["estimate"].tolist() == first["estimate"].tolist()
    assert len(runs[0].target) == 100
    assert SETTINGS["All three"].protocol.allow_reconstruction is False


def test_facts_are_those_of_the_rounds_that_the_paper_shows():
    place = {"setting": PAPER, "round": 10, "squared_error": 5.0, "between_starts": 3.0}
    numbers = {"bound": 11.0, "exact": 10.0, "rose": 1.0}
    records = [{**place, **numbers, "ratio": ratio, "seed": seed} for seed, ratio in enumerate((1.002, 1.006))]
    final = toy.table(pd.DataFrame(records))
    facts = toy.facts(final)
    assert facts["ratio_paper_round_10"] == pytest.approx(1.004)
    assert facts["largest_ratio_paper_round_10"] == 1.006
    assert facts["gap_of_bound_paper_round_10"] == pytest.approx(0.1)
    assert facts["rounds_risen_paper"] == 2.0
    assert "1.0040 ± 0.0028 | 1.0060 | 5.00" in toy.markdown(final)


def test_what_went_wrong_is_in_the_table():
    final = toy.table(pd.DataFrame([{"setting": PAPER, "seed": 0, "error": "broke"}]))
    assert f"- {PAPER}: broke" in toy.markdown(final)
    assert toy.facts(final) == {}
