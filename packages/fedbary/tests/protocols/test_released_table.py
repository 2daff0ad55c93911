"""Released rows: what every exact answer is made of, and what is in none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbary as fb
from fedbary.protocols.released_table import ReleasedTable, guarded_card
from fedbary.space.row_identity import row_keys

ROWS = 120


def people(seed: int = 0, rows: int = ROWS) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 95, rows).astype(float),
        "income": rng.normal(50.0, 9.0, rows).round(2),
        "smoker": (rng.random(rows) < 0.4).astype(float),
        "job": rng.choice(np.array(["nurse", "clerk"], dtype=object), rows),
    }


def labels(seed: int = 0, rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng([seed, 1]).choice(np.array(["ill", "well"], dtype=object), rows)


def released(columns: dict[str, np.ndarray], label: np.ndarray, least: int = 5, **more: object) -> ReleasedTable:
    return ReleasedTable.guarded(fb.Table(columns, label, **more), "classes", least)


def test_a_plain_table_is_released_as_it_is():
    table = fb.Table(people(), labels())
    made = ReleasedTable.guarded(table, "classes", 5)
    assert made.rows is table
    assert made.places.tolist() == list(range(ROWS))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), cells=st.tuples(st.integers(18, 95), st.floats(0, 1e6), st.booleans()))
def test_what_the_only_row_of_a_class_holds_is_nowhere(seed, cells):
    """Whatever its cells are, the released rows are the same to the last bit."""
    columns, label = people(seed), labels(seed)
    label[0] = "alone"
    before = released(columns, label)
    for name, cell in zip(("age", "income", "smoker"), cells, strict=True):
        columns[name] = np.where(np.arange(ROWS) == 0, float(cell), columns[name])
    after = released(columns, label)
    assert 0 not in before.places
    np.testing.assert_array_equal(row_keys(before.rows), row_keys(after.rows))


def test_a_combination_that_one_row_breaks_leaves_the_row_out():
    columns = people()
    columns["total"] = columns["age"] + columns["income"]
    columns["total"][7] += 60.0
    assert 7 not in released(columns, labels()).places


@settings(max_examples=12, deadline=None)
@given(cell=st.floats(20, 80))
def test_no_cell_is_moved_by_a_row_that_is_left_out(cell):
    """A large cell was moved to where all rows said, before the one that breaks a combination was left out."""
    made = []
    for income in (50.0, cell):
        columns = people()
        columns["total"] = columns["age"] + columns["smoker"]
        columns["total"][7] += 60.0
        columns["income"][3], columns["income"][7] = 900.0, income
        made.append(released(columns, labels()))
    assert 7 not in made[0].places
    np.testing.assert_array_equal(made[0].places, made[1].places)
    np.testing.assert_array_equal(row_keys(made[0].rows), row_keys(made[1].rows))


def test_columns_that_name_rows_are_empty_and_in_no_card():
    columns = people(rows=300) | {"who": np.array([f"No. {row}" for row in range(300)], dtype=object)}
    made = released(columns, labels(rows=300))
    assert set(made.rows.columns["who"]) == {"(rare)"}
    assert [column.name for column in guarded_card(made).columns] == ["age", "income", "job", "smoker"]


def test_a_very_wide_block_is_released_as_it_is_and_narrowed_in_the_card():
    rng = np.random.default_rng(0)
    table = fb.Table.from_arrays(rng.normal(size=(60, 1100)), labels(rows=60))
    made = ReleasedTable.guarded(table, "classes", 5)
    assert made.rows.columns["x"].shape[1] == 1100
    assert guarded_card(made).columns[0].width == 257


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), most=st.integers(1, 6))
def test_any_group_of_released_rows_is_one_of_enough_persons(seed, most):
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(ROWS), rng.integers(1, most + 1, ROWS))[:ROWS]
    try:
        made = released(people(seed), labels(seed), persons=persons)
    except fb.DataError:
        return
    assert made.rows.persons is not None
    _, counts = np.unique(made.rows.persons, return_counts=True)
    assert counts.max() <= made.each
    assert made.least == 5 * made.each
    for name in np.unique(made.rows.labels.astype(str)):
        assert len(np.unique(made.rows.persons[made.rows.labels == name])) >= 5


def test_a_class_of_one_person_is_no_class():
    """Five rows of one patient were a group, as long as rows were counted."""
    columns, label = people(rows=205), labels(rows=205)
    label[200:] = "rare"
    assert "rare" in released(columns, label).rows.labels
    persons = np.append(np.arange(200), np.full(5, 200))
    assert "rare" not in released(columns, label, persons=persons).rows.labels
    every = np.repeat(np.arange(41), 5)
    assert "rare" not in released(columns, label, persons=every).rows.labels


def test_a_label_of_another_kind_is_refused():
    from fedbary.protocols.released_table import OneRelease

    one = OneRelease(fb.Table(people(), np.arange(ROWS) % 7), ReleasedTable.guarded, min_group=5)
    one.of("classes")
    with pytest.raises(fb.PrivacyError):
        one.of("number")


def test_moments_of_few_rows_are_without_products():
    """One of fifty rows breaks a combination of twelve columns: it was read off its moments, which no card tells."""
    from fedbary.protocols.agreement import SchemaAgreement, answer_agreement
    from fedbary.protocols.released_table import OneRelease
    from fedbary.space.options import Space

    table = fb.Table.from_arrays(np.random.default_rng(0).normal(size=(50, 12)), labels(rows=50))
    one, server = OneRelease(table, ReleasedTable.guarded, min_group=5), SchemaAgreement(Space(metric="within"), seed=0)
    server.absorb({"me": answer_agreement(table, one, server.message())})
    told = answer_agreement(table, one, server.message())
    for name in ("second", "between"):
        assert np.count_nonzero(told.arrays[name]) == 12
    assert server.absorb({"me": told}) == {}
    assert server.schema is not None
