"""Sites are moved as said, faults are what their names say, and a floor that does not hold is named."""

import numpy as np
import pandas as pd
import pytest

from codes import coded
from fedbary.data.table import Table
from fedbary.errors import SettingsError
from fedbary_lab.experiments import natural_groups, site_floors, sites
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.site_federations import (
    AT_RANDOM,
    EVERY_ROW,
    FAULTS,
    NEAREST,
    NOISY,
    NONE,
    ONE_WAY,
    SYSTEMATIC,
    accuracy_lost,
    at_site,
    wrong_labels,
)
from fedbary_lab.experiments.site_federations import sites as federation

SEED = 1000


@pytest.fixture(scope="module")
def data():
    return split_dataset("digits", 300, seed=0, coordinates=32)


@pytest.fixture(scope="module")
def rows(data):
    return data.disjoint_rows([100] * 5, np.inf, seed=SEED)


@pytest.fixture(scope="module")
def drawn(data, rows):
    return federation(data, rows, 0.5, seed=SEED)


def test_blocks_are_reduced_to_standardised_directions(data):
    whole = np.concatenate([data.reference.columns["x"], data.pool.columns["x"]])
    assert np.cov(whole.T, ddof=0) == pytest.approx(np.eye(32), abs=1e-9)
    columns = split_dataset("breast-cancer", 100, seed=0, coordinates=2).pool.columns
    assert len(columns) == 30


def test_a_site_moves_means_and_spreads_of_what_varies_by_the_pools_deviations():
    rng = np.random.default_rng(0)
    table = Table({"x": rng.normal(3.0, 2.0, (50, 400)), "same": np.full(50, 7.0)}, np.arange(50) % 2)
    spread = {"x": np.full(400, 2.0), "same": np.array(0.0)}
    there = at_site(table, spread, 0.5, np.random.default_rng(1))
    move = (there.columns["x"].mean(axis=0) - table.columns["x"].mean(axis=0)) / 2.0
    stretch = np.log(there.columns["x"].std(axis=0) / table.columns["x"].std(axis=0))
    assert (move.mean(), move.std()) == pytest.approx((0.0, 0.5), abs=0.05)
    assert (stretch.mean(), stretch.std()) == pytest.approx((0.0, 0.5 / 3), abs=0.02)
    assert np.array_equal(there.columns["same"], table.columns["same"])
    assert at_site(table, spread, 0.0, rng).columns["x"] == pytest.approx(table.columns["x"])


def test_sites_with_another_effect_differ_in_nothing_but_its_size(data, rows, drawn):
    clean, bad = federation(data, rows, 0.0, seed=SEED)
    assert clean["clean 0"].columns["x"] == pytest.approx(data.pool.take(rows[0]).columns["x"])
    assert tuple(bad) == FAULTS
    assert all(np.array_equal(bad[fault].mask, drawn[1][fault].mask) for fault in FAULTS)


@pytest.mark.parametrize(
    ("fault", "share"), [(NONE, 0), (AT_RANDOM, 0.2), (NEAREST, 0.2), (NOISY, 0.2), (EVERY_ROW, 1)]
)
def test_so_many_rows_are_bad_and_the_others_as_they_were(drawn, fault, share):
    clean, bad = drawn[1][NONE].table, drawn[1][fault]
    changed = (bad.table.columns["x"] != clean.columns["x"]).any(axis=1) | (bad.table.labels != clean.labels)
    assert np.array_equal(changed, bad.mask)
    assert bad.mask.mean() == share


def test_systematic_faults_are_what_they_are_called(data, rows):
    found = wrong_labels(data, rows[-1], seed=SEED)
    assert len(np.unique(found["one label"])) == 1
    assert np.array_equal(found["one class off"], (found[NONE] + 1) % 10)
    coding = dict(zip(found[NONE], found["other coding"], strict=True))
    assert all(coding[coding[label]] == label != coding[label] for label in coding)
    changed = found[ONE_WAY] != found[NONE]
    ((source, count),) = pd.Series(found[NONE][changed]).value_counts().items()
    assert count == round((found[NONE] == source).sum() / 2)
    assert len(np.unique(found[ONE_WAY][changed])) == 1


def test_of_two_classes_positives_become_negatives():
    cancer = split_dataset("breast-cancer", 100, seed=0, coordinates=64)
    found = wrong_labels(cancer, np.arange(100), seed=SEED)
    assert set(found[NONE][found[ONE_WAY] != found[NONE]]) == {1}


def test_a_fifth_of_the_rows_in_another_coding_costs_accuracy(data, rows):
    lost = accuracy_lost(data, data.reference, rows, seed=SEED)
    assert set(lost) == set(SYSTEMATIC)
    assert all(0.0 < cost < 0.5 for cost in lost.values())


def test_small_tables_have_smaller_clients_and_every_federation_fits():
    cells = pd.DataFrame([vars(cell) for cell in sites.cells(smoke=False) if isinstance(cell, sites.Cell)])
    assert set(cells["dataset"]) == set(sites.DATASETS)
    most = (cells["clients"] * cells["rows"]).groupby(cells["dataset"]).max()
    for dataset, (_, references, test_rows) in sites.DATASETS.items():
        known = {"digits": 1797, "breast-cancer": 569, "dry-bean": 13543}.get(dataset, 25000)
        assert most[dataset] + max(references) + test_rows <= known
    with pytest.raises(SettingsError, check=coded("research.data-too-small")):
        sites.compute(sites.Cell("breast-cancer", 20, 100, 0.0, 0, "∞", 0))


def record(fault, seed=0, **known):
    place = {"dataset": "digits", "clients": 5, "rows": 400, "effect": 0.5, "reference_rows": 0, "alpha": "∞"}
    return place | {"fault": fault, "seed": seed, "blamed": 0.0, "clean": 5} | known


def lines(records):
    final = sites.table(pd.DataFrame(records))
    return final[final["part"] == "floor"].set_index("name"), final


def test_a_floor_is_about_its_own_cells_and_says_where_it_fails():
    records = [record(AT_RANDOM, seed, seen=seed > 0) for seed in range(4)]
    records += [record(AT_RANDOM, seed, seen=True, effect=0.0) for seed in range(4)]
    records += [
        record("one label", seen=True, accuracy_lost=0.2),
        record("one class off", seen=False, accuracy_lost=0.05),
    ]
    found, final = lines(records)
    assert found.loc["random", ["cells", "mean", "worst", "missed"]].tolist() == [2, 0.875, 0.75, 1]
    assert found["holds"].to_dict() == {
        "clean": True, "random": False, "one_label": True, "one_class_off_mild": True,
    }  # fmt: skip
    assert f"**{AT_RANDOM} seen**" in sites.markdown(final)
    assert sites.facts(final)["random_mean"] == 0.875


def test_clean_clients_are_counted_by_a_test_corrected_for_the_cells():
    one_of_five = [record(NONE, seed, blamed=0.2 * (seed == 0)) for seed in range(12)]
    found, _ = lines(one_of_five)
    assert found.loc["clean", ["missed", "holds"]].tolist() == [
        0,
        False,
    ]  # 1 of 60 is chance, but the mean is above 0.01
    found, _ = lines([record(NONE, seed, blamed=0.4) for seed in range(12)])
    assert found.loc["clean", "missed"] == 1


def test_a_reference_may_not_cost_more_than_it_may_cost():
    def runs(gain):
        pairs = ((0, 0.9), (300, 0.9 + gain), (1000, 0.95))
        return [
            record(AT_RANDOM, s, reference_rows=r, auroc=a + s / 1000, recall=a) for r, a in pairs for s in range(3)
        ]

    assert lines(runs(-0.004))[0].loc["auroc_reference_rows_300", "holds"]
    found = lines(runs(-0.02))[0]
    assert found.loc["auroc_reference_rows_300", ["mean", "holds"]].tolist() == [pytest.approx(-0.02), False]
    assert found.loc["recall", "mean"] == pytest.approx(0.9 / 0.95)


def test_rates_of_flags_are_judged_by_their_mean_and_by_each_cell():
    rates = [record(AT_RANDOM, seed, false_rate=rate) for seed, rate in enumerate((0.4, 0.41, 0.42, 0.43))]
    found = lines([*rates, *(record(AT_RANDOM, seed, effect=0.0, false_rate=0.0) for seed in range(40))])[0]
    assert found.loc["false", ["cells", "missed", "holds"]].tolist() == [2, 1, False]


def test_a_cell_that_failed_is_said_and_the_others_count():
    failed = {key: value for key, value in record(NONE).items() if key not in ("fault", "blamed", "clean")}
    found, final = lines([record(AT_RANDOM, seen=True), failed | {"error": "ValueError: no"}])
    assert found.loc["random", "holds"]
    assert "ValueError: no" in sites.markdown(final)


def test_natural_groups_are_at_least_fifty_with_what_every_installation_has():
    always = [one for one in natural_groups.NATURAL if one.package in ("sklearn", "plotly")]
    groups = {str(one): one.groups() for one in always}
    assert len(groups) == len(always)
    assert sum(map(len, groups.values())) >= 50
    assert all(len(table) >= natural_groups.LEAST_ROWS for of in groups.values() for table in of.values())
    assert "alcohol" not in next(iter(groups["wine, target by alcohol"].values())).column_names
    assert sum(map(len, groups["diabetes, target by sex"].values())) == 442


def test_tables_of_packages_that_are_not_installed_are_left_out_with_a_line(monkeypatch, capsys):
    natural_groups._is_installed.cache_clear()
    monkeypatch.setattr(natural_groups, "find_spec", lambda package: None if package == "plotly" else package)
    names = {one.name for one in natural_groups.installed()}
    assert "wine" in names
    assert not names & {"tips", "gapminder"}
    assert capsys.readouterr().err == "without tips, gapminder: plotly is not installed\n"
    natural_groups._is_installed.cache_clear()


def test_blamed_groups_are_counted_by_judge():
    blamed = [{"natural": "wine", "reference": sites.NO_REFERENCE, "group": str(n), "blamed": n == 0} for n in range(4)]
    found, final = lines([record(NONE), *(group | {"advice": "include", "why": "so"} for group in blamed)])
    assert found.loc["natural_no_reference", ["cells", "mean", "missed", "holds"]].tolist() == [4, 0.25, 1, False]
    assert "| wine | no reference | 4 | 1 | 0 | 0: so |" in sites.markdown(final)
    assert site_floors.FLOORS[0].bound == "at most 0.01, no cell above 0.05"
