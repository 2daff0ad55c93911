"""Findings about a table: columns beyond the reference, labels in another coding, copies; nothing of small groups."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.notes import Note
from fedbary.protocols.messages import Reply, reply_notes
from fedbary.space.labels import other_coding
from fedbary.space.notes import FIT_CODES, MOST_COLUMNS, fit_notes


def people(rows=200, seed=0, **changes):
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    columns = {
        "age": rng.normal(40 + 20 * ill, 9),
        "income": rng.lognormal(10, 0.8, rows),
        "smoker": rng.random(rows) < 0.3,
        "scan": rng.normal(size=(rows, 3)),
        "city": rng.choice(["Rome", "Oslo"], rows).astype(object),
    }
    return fb.Table(columns | changes, np.where(ill, "yes", "no"))


SCHEMA = fb.fit_schema(people(), fb.Sketch().space(None))


def found(table, code, min_group=5, schema=SCHEMA):
    return [note.public for note in fit_notes(table, schema, min_group=min_group) if note.code == f"schema.{code}"]


def times(factor, rows=200):
    """The client's income in another unit, in the first so many rows."""
    table = people(seed=1)
    income = table.columns["income"] * np.where(np.arange(200) < rows, factor, 1.0)
    return table.replace(columns={**table.columns, "income": income})


@pytest.mark.parametrize("power", [100, 1000, 10**6])
def test_a_column_in_another_unit_is_named_with_its_power_of_ten(power):
    (one,) = found(times(float(power)), "column-beyond")
    assert (one["column"], one["times"]) == ("income", power)
    assert one["share"] > 0.5


def test_a_column_that_lies_beyond_with_another_median_of_the_same_size_has_no_power():
    table = people(seed=1)
    (one,) = found(table.replace(columns={**table.columns, "age": -table.columns["age"]}), "column-beyond")
    assert (one["column"], one["times"]) == ("age", None)


def test_a_coordinate_of_a_block_is_named_by_its_place_and_the_worst_come_first():
    table = people(seed=1)
    scan = table.columns["scan"] * [1.0, 1000.0, 30.0]
    beyond = found(table.replace(columns={**table.columns, "scan": scan}), "column-beyond")
    assert [one["column"] for one in beyond] == ["scan[1]", "scan[2]"]


def test_no_more_than_five_columns_are_named():
    table = fb.Table({f"c{k}": np.random.default_rng(k).normal(size=100) for k in range(9)}, ["a", "b"] * 50)
    far = table.replace(columns={name: column + 1e4 for name, column in table.columns.items()})
    notes = fit_notes(far, fb.fit_schema(table))
    assert sum(note.code == "schema.column-beyond" for note in notes) == MOST_COLUMNS
    assert reply_notes(Reply(0, {}, notes=notes)) == notes  # all of them arrive


def test_a_server_takes_no_more_notes_than_a_client_makes():
    notes = tuple(fb.Note("schema.column-beyond", {"column": f"c{k}", "share": 1.0}) for k in range(50))
    assert len(reply_notes(Reply(0, {}, notes=notes))) < MOST_COLUMNS + len(FIT_CODES)


@pytest.mark.parametrize(("rows", "told"), [(4, False), (9, False), (30, True)])
def test_few_rows_beyond_are_not_told(rows, told):
    assert bool(found(times(1e6, rows), "column-beyond")) == told  # nine of 200 are less than a twentieth


def test_copies_of_one_row_are_no_group():
    table = people(seed=1).take(np.r_[np.arange(100), np.zeros(20, dtype=int)])
    age = table.columns["age"].copy()
    age[[0, *range(100, 120)]] = 1e6
    assert not found(table.replace(columns={**table.columns, "age": age}), "column-beyond")


@given(st.integers(0, 10_000))
def test_clean_clients_have_no_findings(seed):
    assert not fit_notes(people(150, seed), SCHEMA, min_group=5)


def test_missing_cells_lie_beyond_nothing():
    assert not found(people(seed=1, age=np.full(200, np.nan)), "column-beyond")


def test_many_copies_are_told_by_the_share_of_different_rows():
    table = people(seed=1)
    assert not found(table.take(np.r_[np.arange(200), np.arange(20)]), "many-copies")
    assert found(table.take(np.arange(200) % 123), "many-copies") == [{"share": 0.6}]  # 123 rows, in steps of five


CODINGS = [
    (["GOOD", " bad"], ["bad", "good"], {"GOOD": "good", " bad": "bad"}),
    (["very-good"], ["very good", "bad"], {"very-good": "very good"}),
    (["0", "1"], ["no", "yes"], {"0": "no", "1": "yes"}),
    (["true", "FALSE"], ["0", "1"], {"true": "1", "FALSE": "0"}),
    (["1.0", "2.0"], ["1", "2"], {"1.0": "1", "2.0": "2"}),
    (["B", "M"], ["benign", "malignant"], {"B": "benign", "M": "malignant"}),
    (["a", "b"], ["a", "b", "c"], {}),
    (["red"], ["green", "blue"], {}),
    (["b"], ["benign", "bad"], {}),
    (["1", "2"], ["10", "20"], {}),
    (["GOOD"], ["good", "Good"], {}),
]


@pytest.mark.parametrize(("labels", "classes", "meant"), CODINGS)
def test_what_another_coding_means(labels, classes, meant):
    assert other_coding(labels, classes) == meant


@given(st.lists(st.text(max_size=8), max_size=6), st.lists(st.text(max_size=8), max_size=6))
def test_only_unknown_labels_mean_something_and_only_classes(labels, classes):
    meant = other_coding(labels, classes)
    assert not set(meant) & set(classes)
    assert set(meant) <= set(labels)
    assert set(meant.values()) <= set(classes)


def test_a_coding_is_told_from_a_group_of_rows_on():
    table = people(seed=1)
    mixed = np.where((np.arange(200) < 60) & (table.labels == "yes"), "YES", table.labels)
    assert found(table.replace(labels=mixed), "other-coding") == [{"found": ("YES",), "meant": ("yes",)}]
    few = np.where((table.labels == "yes") & (np.cumsum(table.labels == "yes") <= 4), "YES", table.labels)
    assert not found(table.replace(labels=few), "other-coding")


@pytest.mark.parametrize("known", [0, 4, 5])
def test_a_client_without_known_labels_is_refused_with_what_they_may_mean(known):
    reference, table = people(), people(seed=1)
    labels = np.where(table.labels == "yes", "1", "0").astype(object)
    labels[:known] = "yes"
    clients = {"coded": table.replace(labels=labels), "fine": people(seed=2)}
    result = fb.value(clients, reference, protocol="sketch", seed=0)
    assert list(result.failed) == ([] if known == 5 else ["coded"])  # a single row must not decide
    if known < 5:
        (note,) = result.outcomes["coded"].notes
        assert note.code == "schema.no-known-label"
        assert note.public["found"] == ("0", "1")
        assert note.public["meant"] == ("no for 0", "yes for 1")


def test_with_epsilon_labels_decide_nothing():
    coded_labels = people(seed=1).replace(labels=np.array(["0", "1"] * 100))
    result = fb.value({"coded": coded_labels}, people(), protocol=fb.Sketch(epsilon=1.0), seed=0)
    assert not result.failed
    assert not any(note.code in FIT_CODES for note in result.outcomes["coded"].notes)


def test_the_refusal_names_the_label_column():
    from fedbary.space.notes import require_known_labels

    table = people(seed=1).replace(labels=np.array(["cat"] * 200))
    with pytest.raises(fb.DataError, check=coded("schema.no-known-label")) as raised:
        require_known_labels(table, SCHEMA, fb.embed(table, SCHEMA), min_group=5)
    assert raised.value.public == {"label": "label", "found": ("cat",), "classes": ("no", "yes"), "meant": None}


def test_few_rows_within_the_limits_are_not_counted():
    """A server that sets the limits of a column around one row's number does not see whether it is there."""
    age = SCHEMA.columns[0]
    around = replace(SCHEMA, columns=(replace(age, low=(1e6,), high=(1e6 + 1,)), *SCHEMA.columns[1:]))
    here = people(50, 1)
    there = here.replace(columns={**here.columns, "age": np.append(here.columns["age"][:-1], 1e6)})
    notes = [fit_notes(table, around, min_group=5) for table in (here, there)]
    assert notes[0] == notes[1]


def test_one_row_that_equals_no_other_does_not_show_in_the_share_of_different_rows():
    table = people(seed=1)
    shares = {found(table.take(np.arange(100) % few), "many-copies")[0]["share"] for few in (20, 21, 24)}
    assert shares == {0.2}


@pytest.mark.parametrize(
    "fact", [float("nan"), 1e308, -1, "x" * 5000, (1, 2), True, 10**309, ("x",) * 100], ids=lambda fact: str(fact)[:9]
)
def test_notes_that_no_client_makes_are_dropped(fact):
    for code, name in [("column-beyond", "share"), ("column-beyond", "times"), ("column-beyond", "column"),
                       ("many-copies", "share"), ("other-coding", "found"), ("unknown-classes", "count")]:  # fmt: skip
        assert not reply_notes(Reply(0, {}, notes=(Note(f"schema.{code}", {name: fact}),)))
