"""Cards that were forged to keep the server busy, or to make others look bad."""

from dataclasses import replace

import numpy as np
import pytest

import fedbary as fb
from fedbary.protocols.cards.card import Card, CardColumn
from fedbary.protocols.cards.exact_card import exact_card
from fedbary.protocols.cards.models import Models
from fedbary.protocols.cards.placing import MOST_CLASSES, MOST_LEVELS, agreed_schema
from fedbary.protocols.cards.private_card import private_card
from fedbary.space.fit import public_schema
from fedbary.space.options import Space


def table(seed, rows=200):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, rows)
    numbers = rng.normal(size=(rows, 3)) + codes[:, None]
    columns = {f"x{at}": numbers[:, at] for at in range(3)}
    return fb.Table({**columns, "city": np.array(["Bern", "Oslo", "Rome"])[codes]}, np.array(["a", "b", "c"])[codes])


@pytest.fixture
def honest():
    return {f"honest{seed}": exact_card(table(seed)) for seed in range(4)}


def made_up(card, *, classes=3, levels=3):
    """A card of names that nobody else has, each of which a row may have."""
    columns = (*card.columns[:3], CardColumn("city", "categorical", 1, tuple(f"level {at}" for at in range(levels))))
    width = 3 + levels
    names = tuple(f"class {at}" for at in range(classes))
    moments = np.zeros(width), np.ones(classes), np.zeros((classes, width)), np.ones(width)
    return Card("", 10**6, card.label, "classes", columns, names, *moments)


@pytest.mark.parametrize("many", [{"classes": 20 * MOST_CLASSES}, {"levels": 5 * MOST_LEVELS}])
def test_made_up_names_do_not_keep_the_server_busy(honest, many):
    schema, reasons = agreed_schema({"liar": made_up(honest["honest0"], **many), **honest}, Space())
    assert {name: note.code for name, note in reasons.items()} == {"liar": "protocols.card-too-many-names"}
    assert schema.label.classes == ("a", "b", "c")
    assert schema.encoded_width < 10


def test_several_liars_have_no_more_room_together(honest):
    liars = {f"liar{at}": made_up(honest["honest0"], classes=MOST_CLASSES // 2 + at) for at in range(5)}
    liars = {
        name: replace(card, classes=tuple(f"{name} {own}" for own in card.classes)) for name, card in liars.items()
    }
    schema, reasons = agreed_schema({**liars, **honest}, Space())
    assert set(reasons) == {"liar1", "liar2", "liar3", "liar4"}
    assert len(schema.label.classes) <= MOST_CLASSES


@pytest.mark.parametrize("times", [1.5, 3.0])
@pytest.mark.parametrize("far", [0.0, 1e30])
def test_two_who_claim_too_much_do_not_make_the_labels_of_others_look_wrong(honest, times, far):
    own = honest["honest0"]
    about = own.about(own.centre + own.sums.sum(axis=0) / own.counts.sum())
    centre = about.centre + np.array([far, 0.0, 0.0, 0.0, 0.0, 0.0])
    liar = replace(about, sums=times * about.sums, second=times**2 * about.second, centre=centre)
    cards = {**honest, "liar1": liar, "liar2": liar}
    schema, _ = agreed_schema(cards, Space())
    shares = Models(cards, schema, None, robust=True).relative_shares()
    assert max(shares[name].share for name in honest) < 0.05


def test_one_card_in_other_public_coordinates_does_not_take_the_others_out():
    pytest.importorskip("dp_accounting")
    agreed, other = public_schema(table(50)), public_schema(table(51))
    cards = {"liar": private_card(table(9), other, epsilon=1.0, delta=1e-6)}
    cards |= {f"honest{at}": private_card(table(at), agreed, epsilon=1.0, delta=1e-6) for at in range(3)}
    schema, reasons = agreed_schema(cards, Space())
    assert (schema.fingerprint, set(reasons)) == (agreed.fingerprint, {"liar"})
