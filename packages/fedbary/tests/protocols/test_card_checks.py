"""What a card may claim: everything that rows could have, and nothing that none could."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.errors import ProtocolError
from fedbary.protocols.cards.card import Release, check_card
from fedbary.protocols.cards.client import card_of, card_reply
from fedbary.protocols.cards.exact_card import exact_card
from fedbary.protocols.cards.private_card import private_card
from fedbary.space.fit import public_schema
from guarded_cards import guarded_card


def table(rows, seed, *, scale=1.0, centre=0.0):
    rng = np.random.default_rng(seed)
    numbers = centre + scale * rng.normal(size=(rows, 3)) * (1.0, 1e-3, 1e4)
    numbers[rng.random((rows, 3)) < 0.1] = np.nan
    columns = {f"x{at}": numbers[:, at] for at in range(3)}
    columns["city"] = rng.choice(["Bern", "Oslo", "Rome"], rows, p=[0.7, 0.25, 0.05]).astype(object)
    columns["flag"] = (rng.random(rows) < 0.1).astype(float)
    return fb.Table(columns, rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]))


@settings(deadline=None, max_examples=25)
@given(
    rows=st.integers(20, 300),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-6, 1.0, 1e9]),
    centre=st.sampled_from([0.0, 1e3]),
)
def test_honest_cards_pass_with_and_without_guards(rows, seed, scale, centre):
    rows_of = table(rows, seed, scale=scale, centre=centre)
    check_card(exact_card(rows_of))
    check_card(guarded_card(rows_of))


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_private_cards_pass(epsilon):
    pytest.importorskip("dp_accounting")
    schema = public_schema(table(80, 1))
    for seed in range(5):
        check_card(private_card(table(60, seed), schema, epsilon=epsilon, delta=1e-6))


@pytest.fixture
def card():
    return exact_card(table(200, 0))


def test_more_counted_than_declared(card):
    with pytest.raises(ProtocolError, check=coded("protocols.card-counts")):
        check_card(replace(card, rows=150))


def test_counts_that_are_none(card):
    for counts in (card.counts - 1000.0, card.counts + 0.5, np.zeros(3)):
        with pytest.raises(ProtocolError, check=coded("protocols.card-counts-none")):
            check_card(replace(card, counts=counts, rows=10**6))


def test_numbers_that_are_not_finite(card):
    with pytest.raises(ProtocolError, match="centre", check=coded("protocols.not-a-card")):
        card_of(card_reply(replace(card, centre=card.centre * np.nan)))


def test_a_covariance_that_is_none(card):
    worse = card.second.copy()
    worse[0, 1] = worse[1, 0] = 1.1 * np.sqrt(worse[0, 0] * worse[1, 1])
    lopsided = card.second.copy()
    lopsided[0, 1] += 0.1 * np.sqrt(lopsided[0, 0] * lopsided[1, 1])
    for second in (worse, lopsided, -card.second, np.diag(card.second) * 1e-3):
        with pytest.raises(ProtocolError, check=coded("protocols.card-not-moments")):
            check_card(replace(card, second=second))


def test_levels_in_more_than_all_rows(card):
    place = [column.name for column in card.columns].index("city")
    start = sum(column.coordinates for column in card.columns[:place])
    sums = card.sums.copy()
    sums[:, start] += 2.0 * card.counts
    with pytest.raises(ProtocolError, check=coded("protocols.card-levels")) as caught:
        check_card(replace(card, sums=sums, second=card.second * 1e3))
    assert caught.value.public["column"] == "city"


def test_noise_that_nobody_can_have_added(card):
    for release in (Release(1.0, 1e-6, 5.0, 1.0), Release(1.0, 1.0, 5.0, 1.0), Release(1.0, 1e-6, 0.0, 1.0)):
        with pytest.raises(ProtocolError, check=coded("protocols.not-a-card")):
            card_of(card_reply(replace(card, release=release)))


def test_a_bad_card_takes_nobody_else_down():
    made = {name: fb.card(table(200, seed), name=name) for seed, name in enumerate("abcd")}
    bad = replace(made["b"], card=replace(made["b"].card, rows=10))
    result = fb.value([made["a"], bad, made["c"], made["d"]], seed=0)
    assert result.clients["status"].tolist() == ["ok", "failed", "ok", "ok"]
    assert result.outcomes["b"].has("protocols.card-counts")
