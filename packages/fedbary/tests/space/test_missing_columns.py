"""Where cells are missing is said of each column, by groups alone: in notes, by cards, and in reports."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from fedbary.protocols.cards.exact_card import exact_card
from fedbary.protocols.cards.placing import missing_of_columns, missing_share
from fedbary.space.notes import count_cells, fit_notes, told_missing
from fedbary.views.coordinator import facts, missing_by_client
from guarded_cards import guarded_card


def people(lacking=0, *, column="age", rows=200, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(["ill", "well"], rows)
    columns = {"age": rng.normal(50, 9, rows), "size": rng.normal(size=rows), "scan": rng.normal(size=(rows, 2))}
    columns[column] = columns[column].copy()
    columns[column][:lacking] = np.nan
    return fb.Table(columns, labels)


SCHEMA = fb.fit_schema(people(seed=9), fb.Sketch().space(None))


def lacking(notes):
    return {n.facts["column"]: n.facts["share"] for n in notes if n.code == "schema.column-lacks"}


@pytest.mark.parametrize("column", ["age", "scan"])
@pytest.mark.parametrize(("count", "said"), [(0, None), (4, None), (60, 0.3), (197, 1.0), (200, 1.0)])
def test_a_column_is_said_to_lack_cells_where_enough_rows_say_so(column, count, said):
    found = lacking(fit_notes(people(count, column=column), SCHEMA, min_group=5))
    assert found == ({} if said is None else {column: said})


@given(st.integers(0, 40), st.integers(2, 8))
def test_no_share_tells_of_fewer_rows_than_a_group(count, least):
    table = people(count, rows=40)
    shares = told_missing(table, SCHEMA, count_cells(table, SCHEMA), np.arange(40), least=least)
    expected = 0.0 if count < least else count / 40 if 40 - count >= least else 1.0
    assert shares == {"age": expected, "size": 0.0, "scan": 0.0}


def test_copies_of_a_row_are_no_group():
    rows = np.r_[np.zeros(20, dtype=int), np.arange(1, 181)]
    assert not lacking(fit_notes(people(1).take(rows), SCHEMA, min_group=5))


@pytest.mark.parametrize("made", [exact_card, guarded_card])
def test_a_card_says_it_of_each_column(made):
    card = made(people(60))
    assert missing_of_columns(card) == pytest.approx({"age": 0.3, "size": 0.0, "scan": 0.0})
    assert missing_share(card, SCHEMA) == pytest.approx(0.3 / 4)


def test_few_missing_cells_do_not_show_in_a_guarded_card():
    assert missing_of_columns(guarded_card(people(3)))["age"] == 0.0


@pytest.mark.parametrize("protocol", ["sketch", "cards", "interpolation"])
def test_the_coordinator_s_report_has_a_table_of_it(protocol):
    clients = {"a": people(seed=1), "b": people(60, seed=2), "c": people(100, column="size", seed=3)}
    result = fb.value(clients, people(seed=9), protocol=protocol, seed=0)
    table = missing_by_client(result)
    assert table["columns"] == ["size", "age"]
    assert table["lines"] == [["b", "–", "30 %"], ["c", "50 %", "–"]]


def test_owners_who_share_no_numbers_say_nothing_of_it():
    result = fb.value({"b": people(60, seed=2)}, people(seed=9), protocol=fb.Sketch(numbers=False), seed=0)
    assert not missing_by_client(result)["lines"]


def test_a_report_says_it_once():
    from datetime import date

    result = fb.value({"a": people(seed=1), "b": people(60, seed=2)}, people(seed=9), seed=0)
    shown = facts(result, today=date(2026, 1, 1))
    assert shown["missing"]["lines"] == [["b", "30 %"]]
    assert not any("missing in column" in note["text"] for note in shown["client_notes"])
