"""The bad clients are bad in the way that their name says, and a number that misses a floor is marked."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from codes import coded
from fedbary.errors import SettingsError
from fedbary_lab.experiments import verdict
from fedbary_lab.experiments.federations import split_dataset


@pytest.fixture(scope="module")
def data():
    return verdict._with_texts(split_dataset("digits", 300, seed=0))


@pytest.fixture
def rows(data):
    return data.rows(200, np.inf, seed=0)


def spoilt(data, rows, fault):
    return verdict.FAULTS[fault](data, rows, seed=0), data.pool.take(rows)


@pytest.mark.parametrize(("reference_rows", "least"), [(300, 500), (verdict.NO_REFERENCE, 1600)])
def test_a_data_set_that_is_too_small_for_five_clients_is_told_how_many_rows_it_takes(reference_rows, least):
    cell = verdict.Cell("breast-cancer", reference_rows, 0)
    few = split_dataset("breast-cancer", reference_rows or verdict.SET_ASIDE, seed=0)
    few = replace(few, pool=few.pool.take(range(150)))
    with pytest.raises(SettingsError, check=coded("research.data-too-small")) as caught:
        verdict._size(cell, few, seed=0)
    assert caught.value.private["least"] == least


@pytest.mark.parametrize(("fault", "share"), [*verdict.LABELS.items(), ("pair flips 20 %", 0.2)])
def test_so_many_labels_are_wrong_and_nothing_else(data, rows, fault, share):
    bad, clean = spoilt(data, rows, fault)
    assert (bad.labels != clean.labels).mean() == share
    assert np.array_equal(bad.columns["x"], clean.columns["x"])


def test_one_coordinate_is_a_thousand_times_as_large(data, rows):
    bad, clean = spoilt(data, rows, "column × 1000")
    (place,) = np.flatnonzero((bad.columns["x"] != clean.columns["x"]).any(axis=0))
    assert bad.columns["x"][:, place] == pytest.approx(1000 * clean.columns["x"][:, place])


@pytest.mark.parametrize(("fault", "share"), [("other coding", 1.0), ("half other coding", 0.5)])
def test_labels_are_written_in_capitals(data, rows, fault, share):
    bad, clean = spoilt(data, rows, fault)
    assert np.mean(bad.labels != clean.labels) == share
    assert [label.lower() for label in bad.labels] == clean.labels.tolist()


def test_half_of_the_cells_are_missing(data, rows):
    bad, _ = spoilt(data, rows, "half of the cells missing")
    assert np.isnan(bad.columns["x"]).mean() == pytest.approx(0.5, abs=0.02)


def test_small_data_sets_keep_rows_for_clients_and_floors_get_twenty_seeds():
    cells = pd.DataFrame([vars(cell) for cell in verdict.cells(smoke=False)])
    seeds = cells.groupby(["dataset", "reference_rows"])["seed"].nunique()
    assert seeds["breast-cancer"].to_dict() == {100: 5, 300: 20}
    assert seeds["digits"].to_dict() == {0: 20, 100: 5, 300: 20, 1000: 20}
    assert seeds["mnist"].to_dict() == {0: 20, 100: 5, 300: 20, 1000: 20, 2000: 20}


def test_what_misses_a_floor_is_bold_and_listed():
    def record(reference_rows, fault, seen, off=np.nan):
        place = {"dataset": "digits", "reference_rows": reference_rows, "alpha": "∞", "fault": fault}
        return place | {"seen": seen, "wrong_labels_off": off, "wrong_labels": 0.2}

    missed = [
        record(300, "column × 1000", False),
        record(1000, "labels 10 %", False, 0.01),
        record(300, "labels 20 %", True, -0.05),
        record(300, "none", True),
    ]
    kept = [
        record(300, "labels 10 %", False, 0.01),  # the floor for few wrong labels needs more rows
        record(100, "column × 1000", False),
        record(1000, "labels 20 %", True, 0.03),
        record(1000, "none", False),
    ]
    final = verdict.table(pd.DataFrame([*missed, *kept]))
    assert (final["seen_missed"] | final["wrong_labels_missed"]).tolist() == [True] * 4 + [False] * 4
    text = verdict.markdown(final)
    assert sum(line.startswith("- digits") for line in text.splitlines()) == 4
    assert "**1.00**" in text
    assert "**0.20**" in text
