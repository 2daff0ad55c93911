"""Persons, not rows: who is counted, and the one row of each person that ε is promised for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbary as fb
from fedbary.space.row_identity import content_digest, different_rows, one_row_each

ROWS = fb.Table({"age": [31.0, 45.0, 31.0, 52.0]}, ["ill", "ill", "ill", "well"])


def test_each_row_is_a_person_where_nobody_named_any():
    assert one_row_each(ROWS) is ROWS


def test_equal_rows_of_two_persons_are_one_different_row():
    table = ROWS.replace(persons=["ann", "ben", "cy", "ann"])
    assert different_rows(table).persons.tolist() == [0, 1, 0]


def test_whose_rows_they_are_is_part_of_what_a_table_is_known_by():
    table = ROWS.replace(persons=["ann", "ben", "cy", "ann"])
    assert content_digest(table) != content_digest(ROWS)
    assert content_digest(table) == content_digest(table.take([3, 1, 0, 2]))
    assert content_digest(table) == content_digest(ROWS.replace(persons=["x", "y", "z", "x"]))
    assert content_digest(table) != content_digest(ROWS.replace(persons=["ann", "ann", "cy", "ben"]))


# Rows of a person: what is in the one cell, and the lot that falls on the row.
OWN_ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**9)), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(people=st.lists(OWN_ROWS, min_size=1, max_size=6), other=OWN_ROWS, data=st.data())
def test_tables_that_differ_in_all_rows_of_one_person_differ_in_one_row(people, other, data):
    who = data.draw(st.integers(0, len(people) - 1))
    neighbour = [*people[:who], other, *people[who + 1 :]]
    shuffled = data.draw(st.randoms(use_true_random=False))
    first, second = _drawn(people, shuffled), _drawn(neighbour, shuffled)
    assert len(first) == len(second) == len(people)
    for person, rows in enumerate(people):
        assert first[person] in {cell for cell, _ in rows}
        assert person == who or first[person] == second[person]


def _drawn(people, shuffled):
    """The one row of each person, in the order of persons, of a table with all rows in any order."""
    rows = [(person, cell, lot) for person, own in enumerate(people) for cell, lot in own]
    shuffled.shuffle(rows)
    persons, cells, lots = (np.array(column) for column in zip(*rows, strict=True))
    table = fb.Table({"cell": cells.astype(float)}, np.zeros(len(rows), dtype=int), persons=persons)
    # Lots are of rows and not of places; equal ones are of equal rows, or are drawn by the cell.
    drawn = one_row_each(table, order=np.lexsort((cells, lots)))
    return {int(person): int(cell) for person, cell in zip(drawn.persons, drawn.columns["cell"], strict=True)}


def test_each_row_of_a_person_is_drawn_as_often_and_lots_of_two_are_independent():
    table = fb.Table({"row": np.arange(6.0)}, [0] * 6, persons=[0, 1, 0, 1, 0, 1])
    drawn = np.array([one_row_each(table).columns["row"] for _ in range(3000)])
    assert (drawn.sum(axis=1) >= 1).all()
    pairs, counts = np.unique(np.sort(drawn, axis=1), axis=0, return_counts=True)
    assert len(pairs) == 9
    assert np.abs(counts - 3000 / 9).max() < 5 * np.sqrt(3000 / 9)
