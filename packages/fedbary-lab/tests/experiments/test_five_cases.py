"""The five cases: clients are what the paper says, orders are judged by what is known, and draws are independent."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.games.permutations import _orders
from fedbary.valuation.clients import ClientScores
from fedbary_lab.experiments import five_cases
from fedbary_lab.experiments.five_cases import CASES, FEATURES, LABELS, ONE_SIGMA, SIZES, Cell, clients_of
from fedbary_lab.experiments.trained import draw_seed


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(0)
    return fb.Table.from_arrays(rng.random((2000, 40)), np.arange(2000) % 10)


def test_case_5_adds_standard_noise_to_a_growing_share_of_the_rows(pool):
    clean, noisy, weaker = (
        clients_of(pool, Cell("d", 5, case, 0, rows=200)) for case in ("1 same", FEATURES, ONE_SIGMA)
    )
    for place, name in enumerate(clean):
        added = noisy[name].columns["x"] - clean[name].columns["x"]
        touched = added.any(axis=1)
        assert touched.sum() == 10 * place
        if place:
            assert added[touched].std() == pytest.approx(1.0, rel=0.1)
    # Numbers from 0 to 1 have a standard deviation of 0.29, and that is what the weaker noise has.
    spread = five_cases.spread_of(clean["client_5"])
    excess = weaker["client_5"].columns["x"].var() - clean["client_5"].columns["x"].var()
    assert excess == pytest.approx(0.2 * spread**2, rel=0.2)


def test_what_is_known_is_more_rows_or_less_noise():
    falling = ClientScores("m", tuple("abc"), np.array([3.0, 2.0, 1.0]), np.zeros(3))
    found = {case: five_cases.known_order(falling, case) for case in CASES}
    assert [found[case] for case in (SIZES, LABELS, FEATURES, ONE_SIGMA)] == [-1.0, 1.0, 1.0, 1.0]
    assert np.isnan([found[case] for case in CASES[:2]]).all()


def test_every_draw_has_permutations_of_its_own():
    """The same seed in two cases, or in two data sets, is another draw, with other permutations in every round."""
    cells = five_cases.cells(smoke=False)
    seeds = [draw_seed(cell) for cell in cells]
    assert len(set(seeds)) == len(cells)
    assert seeds == [draw_seed(cell) for cell in cells]
    same = [cell for cell in cells if (cell.dataset, cell.clients, cell.seed) == ("fashion-mnist", 5, 0)]
    drawn = set()
    for cell in same:
        orders = _orders(5, draw_seed(cell), guided=False)
        drawn.add(tuple(tuple(next(orders)) for _ in range(20)))
    assert len(drawn) == len(same) == len(CASES)


def test_facts_name_the_case_the_data_and_the_method():
    def record(case, method, **numbers):
        place = {"dataset": "fashion-mnist", "clients": 5, "case": case, "method": method, "seed": 0}
        return place | dict.fromkeys(five_cases.METRICS, np.nan) | {f"share_{i}": 0.2 for i in range(1, 6)} | numbers

    records = [
        record(CASES[0], "sketch", share_range=0.01),
        record(FEATURES, "mr", known_order=-0.5),
        record(FEATURES, "gtg-ti", known_order=0.1),
        record(ONE_SIGMA, "interpolation", known_order=0.9),
    ]
    final = five_cases.table(pd.DataFrame(records))
    assert five_cases.facts(final) == pytest.approx(
        {
            "case1_range_fashion_sketch": 0.01,
            "case5_order_fashion_mr": -0.5,
            "case5_order_fashion_gtg_ti": 0.1,
            "case5_order_fashion_approximations": -0.2,
            "case5_order_fashion_best_approximation": 0.1,
            "case5_sigma_order_fashion_interpolation": 0.9,
        }
    )
    text = five_cases.markdown(final)
    assert "| gtg-ti | – | 0.10 | – |" in text
    (picture,) = five_cases.pictures(final)
    assert set(picture.frame()["method"]) == {"sketch", "mr", "gtg-ti", "interpolation"}
    assert len(picture.plot().data) == 5 * 3


def test_a_cell_that_failed_as_a_whole_is_among_the_errors_and_nowhere_else():
    place = {"dataset": "mine", "clients": 3, "seed": 0}
    whole = place | {"case": LABELS, "method": "mr"} | dict.fromkeys((*five_cases.METRICS, "share_1"), 0.5)
    failed = place | {"case": FEATURES, "error": "SettingsError: too small"}
    text = five_cases.markdown(five_cases.table(pd.DataFrame([whole, failed])))
    assert "- mine, N = 3, 5 noisy features: SettingsError: too small" in text
    assert "nan" not in text
