"""Cards: moments that add up, whatever the order, the copies and the units; placed by the receiver as rows would be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.data.table import concat
from fedbary.errors import ProtocolError
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.class_moments import ClassMoments, Holders, Sums
from fedbary.protocols.cards.exact_card import as_in, exact_card, narrowed
from fedbary.protocols.cards.placing import agreed_schema, missing_share, placed
from fedbary.space.encode import encode
from fedbary.space.labels import class_names
from fedbary.space.options import Space

seeds = st.integers(0, 2**32 - 1)


def table(seed: int, rows: int = 40, *, centre: float = 0.0, gaps: float = 0.2) -> fb.Table:
    """Numbers with gaps, categories with gaps, a block, and labels."""
    rng = np.random.default_rng(seed)
    number = centre + rng.normal(size=rows)
    number[rng.random(rows) < gaps] = np.nan
    number[0] = centre
    colour = np.array(rng.choice(["red", "green", "blue"], rows), dtype=object)
    colour[rng.random(rows) < gaps] = None
    colour[0] = "red"
    return fb.Table({"n": number, "c": colour, "x": rng.normal(size=(rows, 3))}, rng.choice(["u", "v"], rows))


def moments_of_rows(rows: fb.Table, schema: fb.Schema) -> ClassMoments:
    values, names = encode(rows, schema), class_names(rows.labels)
    sums = np.array([values[names == name].sum(axis=0) for name in schema.label.classes])
    counts = np.array([float((names == name).sum()) for name in schema.label.classes])
    return ClassMoments(counts, sums, values.T @ values)


def assert_close(found: ClassMoments, expected: ClassMoments) -> None:
    for name in ("counts", "sums", "second"):
        one, two = getattr(found, name), getattr(expected, name)
        assert np.abs(one - two).max() <= 1e-10 * max(1.0, float(np.abs(two).max())), name


@given(seed=seeds, centre=st.sampled_from([0.0, 3.0, 1e6]))
def test_what_the_receiver_makes_of_a_card_is_what_rows_would_be(seed, centre):
    parts = {str(place): table(seed + place, centre=centre) for place in range(3)}
    cards = {name: exact_card(part) for name, part in parts.items()}
    schema, reasons = agreed_schema(cards, Space())
    assert not reasons
    for name, part in parts.items():
        tolerance = 1e-10 if centre < 10.0 else 1e-8  # an input of 1e6 has so many digits after the point
        found, expected = placed(cards[name], schema), moments_of_rows(part, schema)
        assert np.allclose(found.second, expected.second, rtol=tolerance, atol=tolerance * len(part))
        assert np.allclose(found.sums, expected.sums, rtol=tolerance, atol=tolerance * len(part))
        assert missing_share(cards[name], schema) == pytest.approx(
            (np.isnan(part.columns["n"]).sum() + sum(cell is None for cell in part.columns["c"])) / (5 * len(part))
        )


@given(seed=seeds)
def test_cards_without_products_are_placed_by_what_is_known_inside_columns(seed):
    parts = {str(place): table(seed + place) for place in range(3)}
    cards = {name: exact_card(part) for name, part in parts.items()}
    schema, _ = agreed_schema(cards, Space())
    for name, part in parts.items():
        told = replace(cards[name], second=np.diag(cards[name].second).copy())
        assert_close(placed(told, schema), moments_of_rows(part, schema).diagonal())


@given(seed=seeds)
def test_cards_of_disjoint_tables_add_up_to_the_card_of_all_rows(seed):
    one, two = table(seed), table(seed + 1)
    cards = {"one": exact_card(one), "two": exact_card(two), "both": exact_card(concat([one, two]))}
    schema, _ = agreed_schema(cards, Space())
    assert_close(placed(cards["one"], schema) + placed(cards["two"], schema), placed(cards["both"], schema))


@given(seed=seeds)
def test_order_and_copies_change_nothing(seed):
    rows = table(seed)
    order = np.random.default_rng(seed).permutation(len(rows))
    one, two = exact_card(rows), exact_card(rows.take(np.concatenate([order, order[:10]])))
    assert (two.rows, one.classes) == (len(rows) + 10, two.classes)
    for name in ("centre", "counts", "sums", "second"):
        assert np.allclose(getattr(one, name), getattr(two, name), rtol=1e-12, atol=1e-12)


@given(seed=seeds, unit=st.sampled_from([1e-3, 2.54, 1000.0]), shift=st.sampled_from([0.0, 32.0]))
def test_units_change_nothing_once_all_have_them(seed, unit, shift):
    parts = {str(place): table(seed + place, gaps=0.0) for place in range(3)}
    there = {
        name: part.replace(columns={**part.columns, "n": part.columns["n"] * unit + shift})
        for name, part in parts.items()
    }
    placed_parts = []
    for tables in (parts, there):
        cards = {name: exact_card(part) for name, part in tables.items()}
        schema, _ = agreed_schema(cards, Space())
        placed_parts.append([placed(card, schema) for card in cards.values()])
    for one, two in zip(*placed_parts, strict=True):
        assert np.allclose(one.second, two.second, atol=1e-6)
        assert np.allclose(one.sums, two.sums, atol=1e-6)


@given(seed=seeds, centre=st.sampled_from([-5.0, 0.0, 100.0]))
def test_moments_about_another_centre_and_back(seed, centre):
    card = exact_card(table(seed))
    there = card.about(np.full(card.width, centre)).about(card.centre)
    assert np.allclose(there.sums, card.sums, atol=1e-8)
    assert np.allclose(there.second, card.second, atol=1e-6)


def test_a_card_is_read_back_as_it_was_written():
    card = exact_card(table(0), name="north", shared=True)
    again = Card.from_parts(*card.to_parts())
    assert (again.name, again.rows, again.columns, again.classes, again.shared) == (
        card.name,
        card.rows,
        card.columns,
        card.classes,
        card.shared,
    )
    assert np.array_equal(again.second, card.second)


@pytest.mark.parametrize(
    "broken",
    [
        lambda header, arrays: ("{}", arrays),
        lambda header, arrays: (header.replace('"rows": 40', '"rows": 0'), arrays),
        lambda header, arrays: (header.replace('"rows": 40', '"rows": "40"'), arrays),
        lambda header, arrays: (header.replace('"kind": "classes"', '"kind": "colours"'), arrays),
        lambda header, arrays: (header.replace('"classes": ["u", "v"]', '"classes": ["u", "u"]'), arrays),
        lambda header, arrays: (header, {**arrays, "sums": arrays["sums"][:, :-1]}),
        lambda header, arrays: (header, {**arrays, "second": arrays["second"][:-1]}),
    ],
)
def test_what_is_no_card_is_refused(broken):
    with pytest.raises(ProtocolError, check=coded("protocols.not-a-card")):
        Card.from_parts(*broken(*exact_card(table(0)).to_parts()))


def test_a_card_of_another_version_says_so():
    header, arrays = exact_card(table(0)).to_parts()
    with pytest.raises(ProtocolError, check=coded("protocols.card-other-version")):
        Card.from_parts(header.replace('"version": 2', '"version": 99'), arrays)


def test_wide_blocks_are_projected_by_directions_that_everybody_knows():
    rng = np.random.default_rng(0)
    wide = fb.Table.from_arrays(rng.normal(size=(20, 1500)), ["a", "b"] * 10)
    narrow = narrowed(wide)
    assert narrow.columns["x"].shape == (20, 257)
    lengths = (narrow.columns["x"] ** 2).sum(axis=1)
    assert np.allclose(lengths, (wide.columns["x"] ** 2).sum(axis=1))
    one_row = narrowed(wide.take([7]))
    assert np.allclose(one_row.columns["x"][0], narrow.columns["x"][7])
    schema, _ = agreed_schema({"a": exact_card(narrow), "b": exact_card(narrow)}, Space())
    assert as_in(wide, schema).columns["x"].shape == (20, 257)
    assert as_in(narrow, schema) is narrow


def test_a_model_without_a_client_is_the_sum_of_the_others():
    parts = [moments_of_rows(table(seed), _schema()) for seed in range(4)]
    assert_close(Sums(parts).without(2), parts[0] + parts[1] + parts[3])


def test_where_some_cards_lack_products_the_others_stand_for_them():
    parts = [moments_of_rows(table(seed), _schema()) for seed in range(4)]
    told = Sums([parts[0], parts[1].diagonal(), parts[2], parts[3]]).without(3)
    assert told.full
    assert np.allclose(told.counts, (parts[0] + parts[1] + parts[2]).counts)
    expected = (parts[0] + parts[2]).within() / (parts[0] + parts[2]).rows
    assert np.allclose(told.within() / told.rows, expected)


def test_a_class_needs_three_other_holders_of_a_tenth_or_their_consent():
    rows, closed = np.array([[50.0, 5.0], [70.0, 1.0], [15.0, 1.0], [15.0, 0.0]]), np.zeros(4, dtype=bool)
    assert Holders(rows, closed).modelled(0).tolist() == [True, False]
    assert Holders(rows, np.array([False, True, True, False])).modelled(0).tolist() == [True, True]
    assert Holders(rows[:3], closed[:3]).modelled(0).tolist() == [False, False]
    few = np.where(rows == 15.0, 8.0, rows)
    assert not Holders(few, closed).modelled(0).any()
    many = np.array([[50.0], [80.0], *[[2.0]] * 15])
    assert Holders(many, np.zeros(17, dtype=bool)).modelled(0).all(), "small ones stand together"


def test_the_covariance_is_of_three_others_too():
    """It is of all classes together: one client's large class may not be nearly all of it."""
    rows = np.array([[9.0, 9.0], [9.0, 900.0], [9.0, 0.0], [9.0, 0.0]])
    assert not Holders(rows, np.zeros(4, dtype=bool)).modelled(0).any()
    assert Holders(rows, np.zeros(4, dtype=bool)).modelled(1).tolist() == [True, False]


@given(
    rows=st.lists(st.lists(st.integers(0, 50), min_size=2, max_size=2), min_size=1, max_size=7),
    place=st.integers(0, 6),
)
def test_whichever_two_of_the_others_are_taken_away_a_tenth_of_a_model_is_left(rows, place):
    counts = np.array(rows, dtype=float)
    place %= len(counts)
    others = np.delete(counts, place, axis=0)
    for code in np.flatnonzero(Holders(counts, np.zeros(len(counts), dtype=bool)).modelled(place)):
        for held in (others[:, code], others.sum(axis=1)):
            largest = np.sort(held)[::-1]
            assert largest[2:].sum() >= 0.1 * held.sum() * (1 - 1e-6) > 0
            assert largest[1:].sum() >= 0.2 * held.sum() * (1 - 1e-6)


def _schema() -> fb.Schema:
    cards = {str(seed): exact_card(table(seed)) for seed in range(4)}
    return agreed_schema(cards, Space())[0]
