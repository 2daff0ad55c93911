"""The page of wording: sentences that people read often, as they read them; everything else looks at codes."""

import pytest

from fedbary.errors import DataError, wrong_parameter
from fedbary.filling import COMMAND, PYTHON, filled
from fedbary.notes import Note
from fedbary.wording import (
    counted,
    dash,
    duration,
    headline_percent,
    listed,
    number,
    percent,
    quoted,
    shown_cell,
    sigmas,
    two_decimals,
    whole_percent,
)  # fmt: skip

FULL = [
    ("data.no-file", {"where": "ward.csv"}, "ward.csv: there is no such file; check the path"),
    (
        "data.no-such-column",
        {"role": "label", "wanted": "ill", "guess": "", "columns": 2, "names": ("Ann", "53")},
        "there is no label column 'ill'; the 2 columns are 'Ann', '53': pass one of them as label=...",
    ),
    (
        "data.mixed-column",
        {"where": "a.csv", "column": "age", "kinds": "numbers", "example": "'Ann'", "row": 3},
        "a.csv: column 'age' mixes numbers and text, such as 'Ann' in row 3 (counted from 0); correct or empty these "
        "cells, or read all as categories with options=fb.ReadOptions(categories=...)",
    ),
    (
        "data.no-finite-number",
        {"column": "x", "count": 1, "infinite": "infinite ", "beyond": None},
        "column 'x' has 1 infinite value; replace it by a number or leave it empty",
    ),
    (
        "data.no-finite-number",
        {"column": "x", "count": 2, "infinite": "", "beyond": 1e150},
        "column 'x' has 2 values beyond 1e+150; replace them by a number or leave them empty",
    ),
    (
        "data.missing-values",
        {"column": "age", "count": 1, "rows": 9},
        "column 'age' has 1 missing value in 9 rows: fill in the gaps, drop those rows, or ask for missing='indicate'.",
    ),
    (
        "schema.columns-missing",
        {"missing": ("age",), "count": 1, "extra": ("alter",)},
        "the column 'age' of the schema is missing (it has 'alter' that the schema does not know): rename or add it.",
    ),
    (
        "schema.label-holds-text",
        {"label": "y", "example": "yes"},
        "the label column 'y' holds text such as 'yes', but this federation predicts a number: convert the column, or "
        "choose the right one.",
    ),
    (
        "schema.lacks-classes",
        {"least": 5, "count": 2, "classes": ("b", "c")},
        "has fewer than 5 rows of classes b and c",
    ),
    ("schema.lacks-classes", {"least": None, "count": 1, "classes": ("b",)}, "lacks class b"),
    (
        "schema.unknown-classes",
        {"count": 2, "classes": ("y", "z")},
        "has classes unknown to the target: y and z",
    ),
    ("protocols.no-answer", {}, "no answer"),
    ("engines.no-answer", {"seconds": 600.0}, "no answer within 600 s"),
    (
        "guard.min-group",
        {"asked": 1, "least": 5},
        "The server asks for min_group = 1, the owner's policy has min_group = 5 at least.",
    ),
    (
        "guard.budget-spent",
        {"spent": 0.5, "budget": 0.7, "cost": 0.5},
        "The answer would go beyond the owner's epsilon_budget (0.5 of 0.7 is spent, it costs 0.5): ask for a smaller "
        "epsilon (the owner can allow more with 'fedbary policy allow --epsilon').",
    ),
    ("verdict.flagged", {"flagged": 1}, "1 row is flagged"),
    ("verdict.many-flags", {"flagged": 30, "rows": 200, "share": 0.15}, "30 rows of 200 (15.0 %) look wrong"),
    (
        "verdict.wrong-labels",
        {"share": 0.312, "low": 0.24, "high": 0.379},
        "about 31 % of its labels are wrong (24–38 %)",
    ),
    (
        "valuation.no-row-values",
        {"why": Note("internal.error", {"kind": "ValueError", "text": "row 7"})},
        "no row values: internal error (ValueError: row 7)",
    ),
    (
        "valuation.flags-measured",
        {"rate": 0.1},
        "of 100 flagged rows about 10 are fine after all, by measurement on many tables; it is no proof",
    ),
    (
        "judging.shift",
        {"shift": 0.52, "columns": ("glucose", "age")},
        "differs: its values lie 0.5 σ from the others', most in glucose and age (a site effect: harmonise before "
        "training)",
    ),
    (
        "judging.blur",
        {"blur": 2.41, "columns": ()},
        "its rows scatter 2.4 times as much as the others': noise, or another way of measuring",
    ),
    (
        "judging.class-labels",
        {"label": "yes", "share": 0.5, "rows": 120, "meant": "no"},
        "about 50 % of its 120 'yes' are wrong: they look like 'no'",
    ),
    (
        "judging.label-shares",
        {"label": "dead", "stated": 1.0, "looks": 0.27},
        "its labels say 100 % 'dead', its measurements look like 27 %",
    ),
    (
        "judging.label-coding",
        {"found": ("1", "2"), "meant": ("0", "1")},
        "its labels seem to be coded in another order: read 1 and 2 as 0 and 1",
    ),
    (
        "judging.reference-differs",
        {"shift": 0.8, "columns": ("glucose",), "clients": 4},
        "nearly all clients, 4 of them, differ from the reference in the same way, by 0.8 σ, most in glucose: look at "
        "the reference",
    ),
]
REDACTED = [
    (
        "data.mixed-column",
        {"where": "/home/ann/ward.csv", "column": "age", "example": "'Ann'", "row": 3},
        "column '…' mixes numbers and text; correct or empty these cells, or read all as categories with "
        "options=fb.ReadOptions(categories=...)",
    ),
    (
        "schema.columns-missing",
        {"where": "ward.csv", "missing": ("age",), "count": 1, "extra": ("Ann', Brown 1961",)},
        "the column 'age' of the schema is missing: rename or add it.",
    ),
    (
        "schema.missing-values",
        {"column": "age", "count": 3, "rows": 9},
        "column 'age' has missing values: fill in the gaps, drop those rows, or ask for missing='indicate'.",
    ),
    ("schema.too-few-rows", {"rows": 3, "least": 5},
     "the rows are fewer than min_group = 5: add rows, or lower min_group if the owner agrees."),
    ("guard.budget-spent", {"spent": 0.5, "budget": 0.7, "cost": 0.5},
     "The answer would go beyond the owner's epsilon_budget: ask for a smaller epsilon (the owner can allow more with "
     "'fedbary policy allow --epsilon')."),
    ("internal.error", {"kind": "KeyError", "text": "'Ann'"}, "internal error (KeyError)"),
    (
        "valuation.no-row-values",
        {"why": Note("internal.error", {"kind": "ValueError", "text": "row 7"})},
        "no row values: internal error (ValueError)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "facts", "sentence"), FULL, ids=[code for code, *_ in FULL])
def test_what_the_owner_of_the_rows_reads(code, facts, sentence):
    assert str(Note(code, facts)) == sentence


@pytest.mark.parametrize(("code", "facts", "sentence"), REDACTED, ids=[code for code, *_ in REDACTED])
def test_what_another_party_reads(code, facts, sentence):
    assert str(Note(code, facts).redacted()) == sentence


def test_settings_are_named_as_one_types_them():
    error = DataError("data.missing-values", column="age", count=2, rows=9)
    assert error.note.text(COMMAND).endswith("or ask for --missing indicate.")
    wrong = wrong_parameter("min_group", "Sketch", "a whole number of at least 1", 0)
    assert str(wrong) == "The 'min_group' parameter of Sketch must be a whole number of at least 1. Got 0 instead."
    assert wrong.note.text(COMMAND) == "--min-group must be a whole number of at least 1. Got 0 instead."


def test_facts_are_taken_literally():
    sneaky = "{rows} [[x]] <missing=indicate>"
    assert filled("column {column!r}", {"column": sneaky}, PYTHON) == f"column {sneaky!r}"


def test_numbers_and_lists_read_well():
    assert [counted(1, "row"), counted(1200, "row"), counted(2, "class")] == ["1 row", "1,200 rows", "2 classes"]
    assert [number(12000), number(0.5), percent(0.2175)] == ["12,000", "0.500", "21.8 %"]
    assert [whole_percent(0.3149), whole_percent(None), two_decimals(0.98765), sigmas(0.52)] == [
        "31 %",
        "–",
        "0.99",
        "0.5 σ",
    ]
    assert [headline_percent(share) for share in (0.3149, 0.0031, 1e-7)] == ["31 %", "0.3 %", "none"]
    assert [dash(None), dash(float("nan")), dash(True), shown_cell("n.d.")] == ["–", "–", "yes", "'n.d.'"]
    assert len(shown_cell({"all": "of a file" * 1000})) == 81
    assert [duration(12.4), duration(180), duration(9000)] == ["12 s", "3 min", "2.5 h"]
    assert [listed(["a", "b", "c"]), quoted(["a"] * 6)] == ["a, b and c", "'a', 'a', 'a', 'a', 'a', …"]
