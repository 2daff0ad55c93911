"""Robustness: forged cards are covariances that nobody can refuse, and honest clients do not suffer by them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.protocols.cards.client import card_of
from fedbary.protocols.messages import Message
from fedbary.valuation.rows import RowRules
from fedbary_lab.experiments import robustness
from fedbary_lab.experiments.robustness import Cell


def test_a_forged_card_is_a_card():
    table = fb.partitions.by_size(fb.datasets.load("digits").train, [200], seed=0).clients["client_1"]
    honest = fb.Cards().client(table, rules=RowRules(), seed=0).answer(Message("card", 0, {"task": "auto"}))
    card, forged = card_of(honest), card_of(robustness._forged(honest))
    assert forged.rows == 10 * card.rows
    assert np.linalg.eigvalsh(forged.second).min() > -1e-6 * np.linalg.eigvalsh(forged.second).max()
    within = forged.second - robustness._between(forged.counts, forged.sums)
    assert within == pytest.approx(card.second - robustness._between(card.counts, card.sums), abs=1e-6)


@pytest.mark.parametrize("lie", robustness.LIES)
def test_with_robust_weights_the_honest_hardly_suffer(lie):
    found = robustness.compute(Cell("digits", lie, 3, 0.0, "∞", 0, rows=80))[0]
    assert found["lost"] < 0.01
    assert found["lost"] <= found["lost_plain"] + 0.005


def test_the_table_marks_what_was_lost():
    cell = {"dataset": "digits", "epsilon": 0.0, "alpha": "1", "lie": "forged card", "liars": 4, "seed": 0}
    numbers = {"robust": 0.9, "plain": 0.8, "honest_alone": 0.95, "lost": 0.05, "lost_plain": 0.15}
    final = robustness.table(pd.DataFrame([{**cell, **numbers}]))
    assert final["robust_missed"].tolist() == [True]
    assert "| exact | forged card | 1 | 0.050 | 0.150 | 1 |" in robustness.markdown(final)
