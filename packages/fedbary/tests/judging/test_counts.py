"""Counts on a public grid: merged where few rows stand behind a cell, and the p-values that they give."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbary.judging.evidence import CELLS, STEP, Groups, cells_of, counted, smooth_surprise, tail

surprises = st.lists(st.floats(0.0, 14.0), min_size=0, max_size=80).map(np.array)
nulls = st.lists(st.integers(0, 40), min_size=CELLS, max_size=CELLS).map(lambda counts: np.array(counts, dtype=float))


def test_every_surprise_has_its_cell_and_what_is_beyond_is_in_the_last():
    assert cells_of(np.array([0.0, 0.19, 0.2, 0.6, 11.9, 12.0, 99.0])).tolist() == [0, 0, 1, 3, 59, 59, 59]


@given(surprises, st.integers(2, 7), st.integers(0, 1000))
def test_no_cell_holds_fewer_different_rows_than_a_group_and_none_is_lost(surprise, least, seed):
    # Copies surprise alike.
    copies = np.random.default_rng(seed).integers(0, max(len(surprise), 1), len(surprise))
    surprise = surprise[copies] if len(surprise) else surprise
    found = counted(surprise, groups=Groups(copies, least))
    assert found.sum() == len(surprise)
    held = np.flatnonzero(found)
    if len(np.unique(copies)) >= least:
        # Whatever rows a cell was made of, these are enough of them: cells are merged with neighbours only.
        different = np.bincount(cells_of(surprise[Groups(copies, least).first()]), minlength=CELLS)
        edges = np.append(held, CELLS)
        edges[0] = 0
        assert all(different[first:last].sum() >= least for first, last in pairwise(edges))
    else:
        assert len(held) <= 1


@given(surprises)
def test_without_groups_every_row_counts_where_it_is(surprise):
    found = counted(surprise)
    expected = [(np.minimum((surprise + 1e-9) // STEP, CELLS - 1) == cell).sum() for cell in range(CELLS)]
    assert np.abs(np.cumsum(found) - np.cumsum(expected)).max() <= 1  # a surprise on an edge is in either


@given(surprises, st.integers(2, 7))
def test_nobody_looks_more_surprising_but_those_who_are_alone_in_the_lowest_cell(surprise, least):
    plain, found = counted(surprise), counted(surprise, groups=Groups(np.arange(len(surprise)), least))
    beyond, merged = (np.cumsum(counts[::-1])[::-1] for counts in (plain, found))
    assert (merged - beyond).max(initial=0.0) < least


def test_one_row_shows_neither_at_the_upper_nor_at_the_lower_end():
    usual = np.full(99, 5.0)
    for alone in (0.0, 11.0):
        found = counted(np.append(usual, alone), groups=Groups(np.arange(100), 5))
        np.testing.assert_array_equal(found, counted(np.full(100, 5.0)))
    copied = counted(np.append(usual, [11.0] * 10), groups=Groups(np.minimum(np.arange(109), 99), 5))
    np.testing.assert_array_equal(copied, counted(np.full(109, 5.0)))
    five = counted(np.append(usual, [11.0] * 5), groups=Groups(np.arange(104), 5))
    assert five[55] == 5.0


@given(nulls)
def test_p_values_are_ranks_among_the_rows_of_the_null(null):
    found = tail(null)
    for cell in (0, 17, CELLS - 1):
        assert found[cell] == pytest.approx((1.0 + null[cell:].sum()) / (1.0 + null.sum()))
    assert found[0] == 1.0
    assert (np.diff(found) <= 0.0).all()
    assert found.min() > 0.0


def test_p_values_of_rows_like_the_null_are_not_too_small():
    rng = np.random.default_rng(0)
    null, own = (rng.exponential(size=rows) for rows in (5000, 5000))
    p = tail(counted(null))[cells_of(own)]
    for level in (0.5, 0.1, 0.02):
        assert (p <= level).mean() <= level + 0.02


@given(nulls, st.lists(st.floats(0.0, 40.0), min_size=2, max_size=20))
def test_what_surprises_more_never_ranks_lower(null, surprise):
    ordered = np.sort(np.array(surprise))
    found = smooth_surprise(ordered, null)
    assert (np.diff(found) >= -1e-12).all()
    assert np.isfinite(found).all()
    beyond = ordered > CELLS * STEP
    assert np.diff(found[beyond]) == pytest.approx(np.diff(ordered[beyond]))


def test_at_the_edges_it_is_the_logarithm_of_the_p_value():
    null = counted(np.random.default_rng(0).exponential(size=1000))
    last = int(np.flatnonzero(null)[-1])
    np.testing.assert_allclose(smooth_surprise(STEP * np.arange(last), null), -np.log(tail(null)[:last]), atol=1e-9)
    assert smooth_surprise(np.array([3.0]), np.zeros(CELLS)) == pytest.approx([3.0])


def test_of_copies_the_first_counts():
    groups = Groups(np.array([4, 4, 2, 2, 9]), 2)
    assert groups.first().tolist() == [True, False, True, False, True]
    assert groups.among(np.array([False, True, True, False, True])).first().tolist() == [True, True, True]
