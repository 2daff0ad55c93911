"""Rare levels are one, an unknown level moves nothing else, and a column is constant only where all of it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from fedbary.protocols.cards.exact_card import exact_card
from fedbary.protocols.cards.placing import agreed_schema
from fedbary.space.columns import MOST_LEVELS, named_levels
from fedbary.space.description import describe
from fedbary.space.encode import row_points
from fedbary.space.fit import agree

RNG = np.random.default_rng(0)
AGE, LABELS = RNG.normal(50.0, 9.0, 80), np.array(["ill", "well"] * 40)


def table(cities, **more):
    return fb.Table({"age": AGE[: len(cities)], "city": np.array(cities, dtype=object), **more}, LABELS[: len(cities)])


CITIES = ["Rome"] * 40 + ["Oslo"] * 34 + ["Bonn", "Bonn", "Bonn", "Rmoe", "Olso", "Paris"]
SCHEMA = fb.fit_schema(table(CITIES), fb.Space(labels="onehot"))


def test_levels_of_few_reference_rows_count_as_any_other_and_a_note_says_so():
    assert SCHEMA.columns[1].categories == ("Oslo", "Rome")
    (note,) = SCHEMA.notes
    assert (note.code, note.facts) == ("schema.pooled-levels", {"column": "city", "count": 4})
    assert fb.fit_schema(table(CITIES), min_group=1).columns[1].categories == tuple(sorted(set(CITIES)))


@given(st.dictionaries(st.text("ab", max_size=6), st.integers(0, 50), max_size=40), st.integers(1, 10))
def test_named_are_the_frequent_levels(counts, least):
    named = named_levels(counts, least)
    assert list(named) == sorted(name for name in counts if counts[name] >= least)


def test_beyond_a_hundred_levels_only_the_most_frequent_are_named():
    counts = {f"city {number:03}": 300 - number for number in range(150)}
    assert named_levels(counts, 5) == tuple(sorted(counts))[:MOST_LEVELS]


@given(st.text(max_size=8).filter(lambda text: text.strip() not in ("Rome", "Oslo")), st.integers(0, 79))
def test_a_level_that_the_schema_does_not_know_moves_nothing_else(level, row):
    """All unknown levels lie at one place, and other rows and columns stay where they are to the last bit."""
    cities = np.array(["Rome", "Oslo"] * 40, dtype=object)
    known, other = table(cities.tolist()), cities.copy()
    other[row] = level
    before, after = (row_points(one, SCHEMA) for one in (known, table(other.tolist())))
    moved = np.flatnonzero((before != after).any(axis=0))
    assert moved.tolist() == [row]
    city = slice(1, 1 + SCHEMA.columns[1].coordinates)
    np.testing.assert_array_equal(np.delete(before, city, axis=0), np.delete(after, city, axis=0))
    np.testing.assert_array_equal(after[city, row], [0.0, 0.0, 1.0])


def test_a_rare_level_and_an_unknown_one_are_the_same():
    rare, unknown = (row_points(table(["Rome"] * 79 + [name]), SCHEMA) for name in ("Bonn", "Timbuktu"))
    np.testing.assert_array_equal(rare, unknown)


def test_levels_of_cards_are_counted_over_all_of_them():
    """Two rows with each of three clients are six of all."""
    cards = {name: exact_card(table(["Rome"] * 38 + ["Bonn", "Bonn"])) for name in "abc"}
    cards["d"] = exact_card(table(["Rome"] * 38 + ["Olso", "Oslo"]))
    assert agreed_schema(cards, fb.Space(), min_group=5)[0].columns[1].categories == ("Bonn", "Rome")
    assert agreed_schema(cards, fb.Space())[0].columns[1].categories == ("Bonn", "Olso", "Oslo", "Rome")


def described(*columns):
    settings = fb.Space(labels="onehot")
    tables = {str(at): fb.Table({"age": AGE, "year": year}, LABELS) for at, year in enumerate(columns)}
    return agree({name: describe(one, settings) for name, one in tables.items()}, settings)[0]


def test_a_column_that_is_constant_everywhere_is_left_out():
    schema = described(*[np.full(80, 2024.0)] * 3)
    assert len(schema.columns) == 1
    assert [note.code for note in schema.notes] == ["schema.constant-column"]


def test_a_column_that_is_constant_with_most_clients_has_the_spread_of_all():
    years = [2024.0, 2024.0, 2024.0, 1024.0]
    schema = described(*(np.full(80, year) for year in years))
    assert schema.columns[1].scale == pytest.approx((500.0,))
    assert not schema.notes
    varying = described(np.full(80, 3.0), np.full(80, 3.0), np.tile([1.0, 5.0], 40))
    assert varying.columns[1].scale == pytest.approx((np.sqrt(4.0 / 3.0),))
