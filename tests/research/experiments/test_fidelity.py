"""Fidelity: stored truths are those that are computed, and claims say what they find."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedbary.research.experiments import fidelity, truths, worth
from fedbary.research.experiments.truths import TRUTHS, Cell

SMALL = Cell("digits", 3, "case 4", 0, 60, 150, 2)


def test_stored_truths_come_back_as_they_were_computed(tmp_path, monkeypatch):
    whole = Cell("digits", 3, "case 4", 0)
    monkeypatch.setattr(truths, "FILE", tmp_path / "truths.csv")
    truths._stored.cache_clear()
    assert truths.stored(whole) is None
    records = pd.DataFrame([{**vars(whole), **record} for record in truths.compute(SMALL)])
    truths.table(records).to_csv(truths.FILE, index=False)
    truths._stored.cache_clear()
    found = truths.stored(whole)
    assert found is not None
    assert list(found) == list(TRUTHS)
    expected = truths.computed(truths.draw(SMALL).trained(SMALL))
    for name in TRUTHS:
        assert found[name].clients == expected[name].clients
        assert found[name].values == pytest.approx(expected[name].values, abs=1e-8)
    assert truths.stored(SMALL) is None  # other rows and rounds: another federation
    assert "digits, N = 3" in truths.markdown(truths.table(records))
    truths._stored.cache_clear()


def test_the_claims_say_what_was_missed():
    def line(federation, case, method, **numbers):
        unknown = dict.fromkeys(fidelity.METRICS, np.nan)
        return {"federation": federation, "case": case, "method": method, **unknown, **numbers}

    here = "fashion-mnist, N = 10"
    lines = [
        line(here, "mean", "worth", spearman=0.9, pooled_spearman=0.7),
        line(here, "mean", "worth, game alone", seconds=0.1),
        line(here, "mean", "exactfed", seconds=9.0),
        line(here, "flips", "worth", pooled_spearman=0.9),
        line(here, "flips", "pooled ceiling", pooled_spearman=0.95),
        line(here, "pairs", "worth", pooled_spearman=0.1),
        line(here, "pairs", "pooled ceiling", pooled_spearman=0.2),
    ]
    former, knowable, quick = fidelity.claims(pd.DataFrame(lines))
    assert "0.90 (0.48), 0.70 (0.74), **missed**" in former
    assert "over the 1 cases" in knowable
    assert "0.900" in knowable
    assert "1/90" in quick
    assert "missed" not in knowable + quick


@pytest.mark.parametrize("name", ["exact", "guarded", "guarded, 24 public coordinates", "ε = 8, 24 public coordinates"])
def test_every_kind_of_card_can_be_played(name):
    drawn = truths.draw(SMALL)
    scores, products = worth.played(worth.VARIANTS[name], drawn.clients, drawn.test, seed=0)
    assert scores.clients == tuple(drawn.clients)
    assert np.isfinite(scores.values).all()
    assert products == {"guarded": 0.0, "guarded, 24 public coordinates": 0.0}.get(name, 1.0)
