"""A noisy client of five: what stands out, by numbers that are known."""

import numpy as np
import pandas as pd
import pytest

from fedbary_lab.experiments import no_validation
from fedbary_lab.experiments.no_validation import CARDS, CLIENTS, INTERPOLATION, NOISY, Cell, federation


def test_only_the_fifth_is_noisy_and_nobody_shares_a_row():
    clean = federation(Cell("digits", "nobody", 0.0, 0), 60)
    wrong = federation(Cell("digits", "labels", 0.5, 0), 60)
    noisy = federation(Cell("digits", "features", 1.0, 0), 60)
    for name in CLIENTS[:-1]:
        assert (wrong[name].labels == clean[name].labels).all()
        assert (noisy[name].columns["x"] == clean[name].columns["x"]).all()
    assert (wrong[NOISY].labels != clean[NOISY].labels).sum() == 30
    assert (noisy[NOISY].columns["x"] != clean[NOISY].columns["x"]).any(axis=1).all()
    assert len(np.unique(np.concatenate([table.columns["x"] for table in clean.values()]), axis=0)) == 300


def test_the_fifth_stands_out_by_deviations_of_the_four_others():
    assert no_validation.standing_out([1.0, 3.0, 1.0, 3.0, 4.0]) == pytest.approx(
        {"farthest": 1.0, "times": 2.0, "deviations": 2.0 / np.std([1, 3, 1, 3], ddof=1)}
    )
    assert no_validation.standing_out([1.0, 3.0, 1.0, 3.0, 3.0])["farthest"] == 0.0


def record(method, noise, share, distances, **found):
    place = {"dataset": "digits", "noise": noise, "share": share, "seed": 0, "method": method}
    return {**place, **dict(zip(CLIENTS, distances, strict=True)), **no_validation.standing_out(distances), **found}


def test_facts_pictures_and_page_come_from_the_table():
    far, alike = [1.0, 1.0, 2.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0, 1.5]
    records = [
        record(INTERPOLATION, "labels", 0.1, alike, seen=0.0, others_seen=0.0),
        record(CARDS, "labels", 0.1, far, seen=1.0, others_seen=0.0, estimated=0.12, lowest_quality=1.0),
        record(INTERPOLATION, "nobody", 0.0, alike, seen=0.0, others_seen=0.0),
        {"dataset": "digits", "noise": "labels", "share": 0.1, "seed": 1, "method": CARDS, "error": "broke"},
    ]
    final = no_validation.table(pd.DataFrame(records))
    facts = no_validation.facts(final)
    assert (facts["farthest_interpolation_labels_10"], facts["farthest_cards_labels_10"]) == (0.0, 1.0)
    assert facts["times_cards_labels_10"] == pytest.approx(2.0)
    assert facts["estimated_cards_labels_10"] == pytest.approx(0.12)
    assert "estimated_interpolation_labels_10" not in facts
    assert facts["farthest_interpolation_nobody"] == 0.0
    assert "| wrong labels | 10 % | 0.00 | 1.00 |" in no_validation.markdown(final)
    assert "- digits, cards: broke" in no_validation.markdown(final)
    (histogram,) = no_validation.pictures(final)
    assert histogram.name == "no-validation-labels"
    assert histogram.frame()["times"].tolist() == pytest.approx([2 / 3, 2 / 3, 4 / 3, 4 / 3, 1.0])
