"""What pages quote of a table is what the table says: known answers."""

import pandas as pd
import pytest

from fedbary_lab.experiments import (
    accuracy,
    cards,
    detection_facts,
    empirical_epsilon,
    find,
    frontier,
    privacy,
    robustness,
    verdict,
)


def test_the_verdict_is_counted_with_and_without_a_reference():
    def record(rows, alpha, fault, seen):
        place = {"dataset": "digits", "reference_rows": rows, "alpha": alpha, "fault": fault}
        return place | {"seen": seen, "clients_seen": seen / 4, "wrong_labels_off": 0.02}

    records = [
        *(record(300, "∞", "labels 40 %", seen) for seen in (1.0, 1.0, 0.0, 0.0)),
        record(300, "0.3", "labels 40 %", 1.0),
        record(1000, "∞", verdict.FEW, 0.7),
        record(100, "∞", verdict.FEW, 0.4),
        record(0, "0.3", verdict.NONE, 0.08),
        record(0, "∞", verdict.NONE, 0.0),
    ]
    found = verdict.facts(verdict.table(pd.DataFrame(records)))
    assert (found["seen_cells"], found["seen_mean"], found["seen_worst"], found["seen_missed"]) == (2, 0.75, 0.5, 1)
    assert (found["few_cells"], found["few_worst"], found["few_missed"], found["few_small_most"]) == (1, 0.7, 1, 0.4)
    assert (found["without_clean_mean"], found["without_clean_worst"], found["without_clean_missed"]) == (0.04, 0.08, 1)
    assert (found["without_clean_worst_no_skew"], found["without_clean_clients_worst"]) == (0.0, 0.02)
    assert found["off_mean"] == pytest.approx(0.02)


def test_cards_are_ahead_or_behind():
    judges = {"5 cards": (0.9, 0.8), "100 reference rows": (0.85, 0.85)}
    final = pd.DataFrame(
        {"dataset": dataset, "alpha": "1", "judge": judge, "label_score": scores[place]}
        for place, dataset in enumerate(("digits", "mnist"))
        for judge, scores in judges.items()
    )
    assert cards.facts(final) == {"cards_5_ahead_100": 1, "cards_5_beside_100": 2, "clean_100_ahead_5": 1}


def test_the_default_is_held_against_each_rival_where_labels_are_wrong():
    aurocs = {"sketch": (0.99, 0.9), "cleanlab": (0.98, 0.95), "logistic": (0.9, 0.9)}
    rows = [
        {"dataset": "digits", "block": block, "noise": noise, "alpha": "∞", "method": method, "auroc": scores[place]}
        for block in ("digits", "digits, 300 reference rows")
        for method, scores in aurocs.items()
        for place, noise in enumerate(("labels 10 %", "labels 30 %"))
    ]
    final = pd.DataFrame(rows).assign(clients=float("nan"), behind=0.01, power=0.9, fdr=0.08, auroc_missed=False)
    found = detection_facts.facts(final)
    assert (found["auroc_digits_alpha_inf_cleanlab"], found["labels_mean_logistic"]) == (0.98, 0.9)
    assert (found["labels_settings"], found["behind_cleanlab"], found["behind_logistic"]) == (2, 1, 0)
    assert found["few_behind_cleanlab_most"] == pytest.approx(0.05)
    assert (found["behind_score_most"], found["power_least"], found["fdr_mean"]) == (0.01, 0.9, 0.08)


def test_ranges_go_over_data_sets():
    final = pd.DataFrame(
        {
            "dataset": ["a", "b"],
            "S": "100",
            "protocol": "interpolation, random t",
            "relative_error": [0.6, 0.7],
            "coverage": [1.0, float("nan")],
        }
    )
    assert accuracy.facts(final) == {
        "coverage_least": 1.0,
        "error_interpolation_random_t_100_low": 0.6,
        "error_interpolation_random_t_100_high": 0.7,
    }


def test_games_that_measure_more_than_is_claimed_are_counted():
    games = {"epsilon": [0.1, 0.1, 1.0], "measured": [0.05, 0.2, 0.5], "floats": [1.0, 9.0, 5.0], "integers": 1.0}
    found = empirical_epsilon.facts(pd.DataFrame(games))
    assert found == {"measured_eps_0_1": 0.2, "measured_eps_1": 0.5, "above": 1, "floats": 9.0, "integers": 1.0}


def test_liars_cost_most_where_they_cost_most():
    final = pd.DataFrame(
        {
            "liars": [0, 1, 4],
            "lie": ["random labels", "forged card", "forged card"],
            "epsilon": [0.0, 0.0, 8.0],
            "lost": [0.0, 0.001, 0.002],
            "lost_plain": [0.0, 0.12, 0.4],
            "robust_missed": False,
        }
    )
    assert robustness.facts(final) == {
        "settings": 2,
        "lost_most": 0.002,
        "nobody_lost_most": 0.0,
        "missed": 0,
        "plain_forged_exact": 0.12,
        "plain_forged_eps": 0.4,
    }


def test_private_numbers_have_names_by_place_and_epsilon():
    row = {"dataset": "dry-bean", "noise": "labels", "rows": 500, "epsilon": 1.0, "quality": 0.98, "distance": 0.95}
    found = privacy.facts(pd.DataFrame([row | {"advantage": 0.1}]))
    assert (found["quality_dry_bean_labels_500_eps_1"], found["quality_least"]) == (0.98, 0.98)
    assert (found["distance_most"], found["advantage_eps_1"]) == (0.95, 0.1)
    assert found["bound_eps_1"] == pytest.approx(0.4621, abs=1e-4)
    cell = {"dataset": "mnist", "coordinates": "32", "rows": 300, "epsilon": "no ε", "auroc": 0.99}
    table = pd.DataFrame([cell]).reindex(columns=[*cell, *frontier.METRICS[1:]])
    assert find("frontier").facts(table) == {"auroc_mnist_32_300_no_eps": 0.99}
