"""Fidelity: truths are what was trained, and facts and pictures are means over all cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedbary_lab.experiments import fidelity, truths, worth
from fedbary_lab.experiments.truths import TRUTHS, Cell

SMALL = Cell("digits", 3, "case 4", 0, 60, 150, 2)


def test_truths_are_shapley_values_of_what_was_trained():
    """They add up to what all clients together gain, and a ceiling is the same game on other rows."""
    found = truths.truths(truths.draw(SMALL).trained(SMALL))
    assert list(found) == list(TRUTHS)
    for name in TRUTHS:
        assert found[name].clients == ("client_1", "client_2", "client_3")
        assert found[name].evaluations == 8
        assert 0.0 < found[name].values.sum() < 1.0
    assert not np.array_equal(found["pooled"].values, found["pooled" + truths.CEILING].values)


def test_facts_and_pictures_are_taken_from_the_means():
    def line(case, method, **numbers):
        place = {"dataset": "fashion-mnist", "clients": 10, "seed": 0}
        return place | {"case": case, "method": method} | dict.fromkeys(fidelity.METRICS, np.nan) | numbers

    records = [
        line("flips", "worth", pooled_spearman=0.9, spearman=0.8, seconds=2.0),
        line("pairs", "worth", pooled_spearman=0.1, spearman=0.6, seconds=4.0),
        line("flips", "pooled ceiling", pooled_spearman=0.95),
        line("pairs", "pooled ceiling", pooled_spearman=0.2),
        line("flips", "worth, game alone", seconds=0.1),
        line("flips", "exactfed", seconds=9.0),
        line("flips", "worth, ε = 8", spearman=0.3),
    ]
    final = fidelity.table(pd.DataFrame(records))
    found = fidelity.facts(final)
    assert found["pooled_fashion_10_worth"] == pytest.approx(0.5)
    assert found["exactfed_fashion_10_worth_epsilon_8"] == pytest.approx(0.3)
    assert found["slower_fashion_10_exactfed"] == pytest.approx(90.0)
    assert (found["knowable"], found["pooled_knowable_worth"]) == (1.0, pytest.approx(0.9))
    pooled, exact = fidelity.pictures(final)
    assert pooled.frame()["seconds"].tolist() == exact.frame()["seconds"].tolist() == [3.0]
    assert pooled.plot().layout.xaxis.type == "log"


@pytest.mark.parametrize("name", ["exact", "guarded", "guarded, 24 public coordinates", "ε = 8, 24 public coordinates"])
def test_every_kind_of_card_can_be_played(name):
    drawn = truths.draw(SMALL)
    scores, products = worth.played(worth.VARIANTS[name], drawn.clients, drawn.test, seed=0)
    assert scores.clients == tuple(drawn.clients)
    assert np.isfinite(scores.values).all()
    assert products == {"guarded": 0.0, "guarded, 24 public coordinates": 0.0}.get(name, 1.0)
