"""Rows are left out in the order of their values, and areas are what a reader expects of them."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary_lab.baselines.row_methods import ROW_METHODS
from fedbary_lab.experiments import point_removal
from fedbary_lab.experiments.federations import Spoilt
from fedbary_lab.experiments.point_removal import (
    HARDER,
    PAPER,
    STEPS,
    Cell,
    Judge,
    against_random,
    area,
    cells,
    drawn,
    facts,
    markdown,
    pictures,
    placed,
    removal_curve,
    removal_order,
    table,
)
from fedbary_lab.experiments.removal_methods import COMPARED, LEAN, METHODS, RIVALS, Draw


def test_the_worst_go_first_and_equals_in_random_order():
    assert removal_order(np.array([0.5, -2.0, 3.0, 0.0]), seed=0).tolist() == [1, 3, 0, 2]
    orders = {tuple(removal_order(np.zeros(20), seed=seed)) for seed in range(3)}
    assert len(orders) == 3
    assert tuple(range(20)) not in orders


def test_the_oracle_starts_with_the_spoilt_rows_and_random_does_not_know_them():
    mask = np.arange(40) % 5 == 0
    client = Spoilt(fb.Table.from_arrays(np.zeros((40, 1)), np.zeros(40, dtype=int)), np.zeros(40, dtype=int), mask)
    draw = Draw(client, (), client.table, client.table)
    order = removal_order(METHODS["oracle"](draw, 0), seed=1)
    assert mask[order[:8]].all()
    assert not mask[order[8:]].any()
    assert np.ptp(METHODS["random"](draw, 0)) == 0


def test_a_curve_counts_what_is_left_and_its_area_is_a_mean():
    left = removal_curve(np.arange(300), lambda kept: len(kept) / 300)
    assert left == pytest.approx([1 - step / 100 for step in STEPS])
    assert area(left) == pytest.approx(0.7)
    assert area([0.6] * len(STEPS)) == pytest.approx(0.6)


def test_the_rows_that_are_left_decide():
    order = np.array([3, 0, 1, 2])
    kept = []
    removal_curve(order, lambda rows: kept.append(rows.tolist()) or 0.0)
    assert kept[0] == [0, 1, 2, 3]
    assert kept[-1] == [1, 2]  # 60 % of four rows are two


def test_the_judge_learns_from_the_kept_rows_alone():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0], [-2.0], [-1.0], [1.0], [2.0]]) * 10
    right, wrong = [0, 0, 1, 1], [1, 1, 0, 0]
    test = fb.Table.from_arrays(X[:4], np.array(right))
    judge = Judge(fb.Table.from_arrays(X, np.array(right + wrong)), test, test)
    assert judge.accuracy(np.arange(4)) == 1.0
    assert judge.accuracy(np.arange(4, 8)) == 0.0
    assert judge.accuracy(np.array([0, 1])) == 0.5


def test_every_row_method_is_there_and_heavy_ones_are_last():
    assert set(ROW_METHODS) | {"random", "oracle", "sketch", "cards", "interpolation", "published"} <= set(METHODS)
    assert set(COMPARED) <= set(METHODS)
    methods = [cell.method for cell in cells(smoke=False)]
    assert set(methods) == set(METHODS)
    first = min(methods.index(name) for name in LEAN)
    assert set(methods[first:]) == set(LEAN)


def test_the_papers_setting_comes_first():
    settings = [cell.setting for cell in cells(smoke=False)]
    assert settings == sorted(settings, reverse=True)  # paper, then harder
    assert {cell.dataset for cell in cells(smoke=False) if cell.setting == PAPER} == {"cifar10-embeddings"}


@pytest.mark.parametrize(("setting", "share"), [(PAPER, 0.1), (HARDER, 0.2)])
@pytest.mark.parametrize("kind", ["features", "labels"])
def test_so_many_rows_are_spoilt(setting, share, kind):
    draw = drawn(Cell(setting, "digits", kind, 0, "oracle", 100, 100, 100))
    assert draw.client.mask.mean() == share
    assert draw.others == ()


def test_standard_noise_is_in_the_units_of_the_numbers():
    cell = Cell(PAPER, "digits", "features", 0, "oracle", 400, 100, 100)
    noisy, clean = drawn(cell), drawn(Cell(PAPER, "digits", "labels", 0, "oracle", 400, 100, 100))
    mask = noisy.client.mask
    added = noisy.client.table.columns["x"] - clean.client.table.columns["x"]
    assert not added[~mask].any()
    assert added[mask].std() == pytest.approx(1.0, abs=0.05)


def test_cards_judge_each_other_and_have_no_row_in_common():
    draw = drawn(Cell(PAPER, "digits", "labels", 0, "cards", 60, 100, 100))
    rows = [table.columns["x"] for table in (draw.client.table, *draw.others)]
    assert [len(part) for part in rows] == [60] * 5
    assert len(np.unique(np.vstack(rows), axis=0)) == 300


def records(**columns):
    return pd.DataFrame({"setting": PAPER, "dataset": "d", "kind": "labels", **columns})


def test_a_method_is_measured_by_the_random_order_of_its_own_draw():
    known = records(
        seed=[0, 1, 0, 1],
        method=["random", "random", "good", "good"],
        worst_first=[0.5, 0.7, 0.6, 0.75],
        best_first=[0.6, 0.7, 0.3, 0.5],
    )
    assert against_random(known)["above_random"].tolist() == pytest.approx([0.0, 0.0, 0.1, 0.05])
    assert against_random(known)["below_random"].tolist() == pytest.approx([0.0, 0.0, 0.3, 0.2])
    assert against_random(known[2:])["above_random"].isna().all()


def test_the_first_place_is_that_of_the_rows_that_the_model_misses_most():
    known = records(seed=0, method=[*RIVALS, "sketch"], best_first=[0.3, 0.4, 0.6, 0.5, 0.1])
    assert placed(known)["place"].tolist()[:4] == [1, 2, 4, 3]
    assert placed(known)["place"].isna().tolist() == [False] * 4 + [True]


def test_facts_and_pictures_say_what_the_table_says():
    steps = {f"{side}_{step}": 0.9 - step / 100 for side in ("worst", "best") for step in STEPS}
    final = table(records(seed=0, method=["random", "row-loo"], worst_first=0.6, best_first=[0.6, 0.5], **steps))
    known = facts(final)
    assert known["labels_row_loo_below_random"] == pytest.approx(0.1)
    assert known["labels_row_loo_best_55"] == pytest.approx(0.35)
    assert known["labels_row_loo_place"] == 1
    assert "labels_row_loo_auroc" not in known  # not measured here
    best, worst = pictures(final)
    assert best.frame().query("method == 'row-loo'")["accuracy"].tolist() == pytest.approx(list(steps.values())[:13])
    assert [best.name, worst.name] == ["point-removal-best-first", "point-removal-worst-first"]


def test_errors_are_named_below_the_tables(monkeypatch):
    cell = Cell(PAPER, "digits", "labels", 0, "oracle", 60, 80, 100)
    monkeypatch.setitem(METHODS, "oracle", lambda draw, _: np.full(len(draw.client.mask), np.nan))
    with pytest.raises(fb.FedbaryError, check=coded("research.rows-without-value")):
        point_removal.compute(cell)
    broken = records(seed=[0], method="oracle", error="broke")
    assert "- paper, d, labels, oracle: broke" in markdown(table(broken))
    assert facts(table(broken)) == {}
