"""What is spoilt in a table is found, named and counted; with a schema more of it is."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.checkup.check import LOOKS
from fedbary.checkup.coded import in_words
from fedbary.checkup.findings import Finding, Severity, written_differently
from fedbary.checkup.result import ColumnFacts, values_in_words
from fedbary.sentences import area

ROWS = 400


def people(seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": np.round(rng.normal(45, 12, rows)),
            "income": np.round(rng.lognormal(8, 0.5, rows), 2),
            "height": np.round(rng.normal(170, 9, rows), 1),
            "weight": np.round(rng.normal(70, 12, rows), 1),
            "sugar": np.round(rng.gamma(20, 5, rows), 1),
            "pulse": np.round(rng.normal(70, 10, rows), 1),
            "pressure": np.round(rng.normal(120, 15, rows), 1),
            "city": rng.choice(["Bern", "Oslo", "New York"], rows),
            "ill": rng.choice(["benign", "malignant"], rows, p=[0.7, 0.3]),
        }
    )


@pytest.fixture(scope="module")
def schema() -> fb.Schema:
    return fb.fit_schema(fb.Table.from_frame(people(seed=9), "ill"))


def only(found: fb.Checkup) -> Finding:
    (finding,) = found.findings
    return finding


@pytest.mark.parametrize("code", [-999.0, 9999.0, 999.0, -1.0])
@pytest.mark.parametrize("with_schema", [False, True])
def test_a_code_for_missing_values_is_found(schema, code, with_schema):
    frame = people()
    frame.loc[:11, "sugar"] = code
    finding = only(fb.check(frame, "ill", schema=schema if with_schema else None))
    assert (finding.code, finding.column, finding.count) == ("checkup.sentinel", "sugar", 12)


def test_99_is_a_code_where_nobody_is_nearly_as_old():
    frame = people()
    frame["age"] = frame["age"].clip(18, 80)
    frame.loc[:19, "age"] = 99
    assert only(fb.check(frame, "ill")).code == "checkup.sentinel"
    frame["age"] = np.random.default_rng(0).integers(18, 100, ROWS)
    assert fb.check(frame, "ill").findings == ()


@pytest.mark.parametrize(("count", "times"), [(30, 1000), (200, 1000), (200, 0.001)])
def test_another_unit_than_the_schema_s_is_named(schema, count, times):
    frame = people()
    frame.loc[: count - 1, "income"] *= times
    finding = only(fb.check(frame, schema=schema))
    code = "checkup.beyond-schema" if times > 1 else "checkup.below-schema"
    assert (finding.code, finding.column, finding.count) == (code, "income", count)
    assert finding.note.facts["times"] == times


def test_a_few_typing_errors_are_found_without_a_schema():
    frame = people()
    frame.loc[[3, 77], "income"] *= 1000
    finding = only(fb.check(frame, "ill"))
    assert (finding.code, finding.column, finding.count) == ("checkup.outliers", "income", 2)


def test_levels_in_another_spelling_are_found_with_what_is_meant(schema):
    frame = people()
    frame.loc[:4, "city"] = "OSLO"
    frame.loc[5:6, "city"] = "new_york"
    for found in (fb.check(frame, "ill"), fb.check(frame, schema=schema)):
        finding = only(found)
        assert (finding.code, finding.count) == ("checkup.level-spelling", 7)
        assert finding.note.facts["meant"] == ("Oslo", "New York")


def test_levels_that_the_schema_does_not_know_are_told_with_a_guess(schema):
    frame = people()
    frame.loc[:1, "city"] = "Newyork"
    frame.loc[2, "city"] = "Rome"
    finding = only(fb.check(frame, schema=schema))
    assert (finding.code, finding.severity) == ("checkup.unknown-levels", Severity.NOTE)
    assert finding.note.facts["levels"] == ("Newyork", "Rome")
    assert finding.note.facts["meant"] == ("New York",)


def test_labels_in_another_coding_are_found_with_what_is_meant(schema):
    frame = people()
    frame.loc[:9, "ill"] = frame.loc[:9, "ill"].str.upper()
    alone = only(fb.check(frame, "ill"))
    assert (alone.code, alone.count) == ("checkup.label-coding", 10)
    held = only(fb.check(frame, schema=schema))
    assert dict(zip(held.note.facts["found"], held.note.facts["meant"], strict=True)) == {
        "BENIGN": "benign",
        "MALIGNANT": "malignant",
    }


def test_a_misspelt_class_is_unknown_with_a_guess(schema):
    frame = people()
    frame.loc[:5, "ill"] = "malignent"
    finding = only(fb.check(frame, schema=schema))
    assert (finding.code, finding.count, finding.note.facts["meant"]) == (
        *("checkup.unknown-classes", 6),
        ("malignant",),
    )


def test_small_and_rare_classes_are_told():
    frame = people()
    frame.loc[:2, "ill"] = "unclear"
    frame.loc[3:9, "ill"] = "healthy"
    codes = {finding.code: finding for finding in fb.check(frame, "ill").findings}
    assert codes["checkup.small-classes"].note.facts["classes"] == ("unclear",)
    assert codes["checkup.rare-classes"].note.facts["classes"] == ("healthy",)
    frame["ill"] = "benign"
    assert only(fb.check(frame, "ill")).code == "checkup.one-class"


def test_copies_are_counted_and_copies_with_other_labels_told_apart():
    frame = people()
    twice = pd.concat([frame, frame[:6], frame[10:13].assign(ill="other")], ignore_index=True)
    found = {finding.code: finding.count for finding in fb.check(twice, "ill").findings}
    assert found == {"checkup.copies": 6, "checkup.copies-with-other-labels": 6, "checkup.small-classes": 1}


def test_rows_that_are_the_same_but_for_one_column_or_rounding_are_found():
    frame = people()
    moved = pd.concat([frame, frame[:5].assign(weight=lambda f: f["weight"] + 20)], ignore_index=True)
    finding = only(fb.check(moved, "ill"))
    assert (finding.code, finding.column, finding.count) == ("checkup.copies-but-one-column", "weight", 10)
    coarse = frame[:5].assign(**{name: frame[name].round(0) for name in ("height", "weight", "sugar", "pulse")})
    rounded = pd.concat([frame, coarse.assign(income=coarse["income"].round(0))], ignore_index=True)
    finding = only(fb.check(rounded, "ill"))
    assert (finding.code, finding.count) == ("checkup.copies-but-rounding", 10)


def test_a_column_that_is_the_label_once_more_is_told():
    frame = people()
    frame["code"] = frame["ill"].map({"benign": 0, "malignant": 1})
    finding = only(fb.check(frame, "ill"))
    assert (finding.code, finding.column) == ("checkup.label-again", "code")


def test_mostly_missing_and_constant_columns_are_noted():
    frame = people().assign(ward=3)
    frame.loc[50:, "sugar"] = np.nan
    found = fb.check(frame, "ill").findings
    assert [(one.code, one.column, one.severity) for one in found] == [
        ("checkup.mostly-missing", "sugar", Severity.NOTE),
        ("checkup.constant", "ward", Severity.NOTE),
    ]


def dated(seed: int = 0) -> pd.DataFrame:
    days = pd.to_timedelta(np.random.default_rng(seed).integers(0, 9000, ROWS), "D")
    return people(seed).assign(seen=pd.Timestamp("1998-01-01") + days)


def test_a_date_that_means_missing_is_found_by_its_day():
    assert fb.check(dated(), "ill").findings == ()
    frame = dated()
    frame.loc[:6, "seen"] = pd.Timestamp("1900-01-01")
    finding = only(fb.check(frame, "ill"))
    assert (finding.code, finding.column, finding.count) == ("checkup.sentinel", "seen", 7)
    assert (finding.note.facts["value"], finding.note.facts["low"][:4]) == ("1900-01-01", "1998")


def test_a_date_is_one_column_of_the_file_whatever_it_becomes():
    frame = dated()
    frame.loc[30:, "seen"] = pd.NaT
    found = fb.check(frame, "ill")
    assert [column.name for column in found.columns][-1] == "seen"
    assert (only(found).code, only(found).column) == ("checkup.mostly-missing", "seen")
    seen = found.columns[-1]
    assert (seen.kind, seen.missing, seen.low[:2]) == ("date", ROWS - 30, "19")
    assert fb.check(dated(), "ill", reference=dated(1)).findings == ()


def test_columns_by_another_name_are_refused_with_what_is_meant(schema):
    found = fb.check(people().rename(columns={"age": "Age", "income": "incomes"}), schema=schema)
    assert found.refused
    assert [(one.column, one.note.facts["meant"]) for one in found.of(Severity.DOUBTFUL)] == [
        ("Age", "age"),
        ("incomes", "income"),
    ]


def test_rows_without_any_value_are_counted():
    frame = people()
    frame.loc[[3, 9], frame.columns[:-1]] = None
    assert [(one.code, one.count) for one in fb.check(frame, "ill").findings] == [("checkup.empty-rows", 2)]


def test_names_of_one_spelling_and_short_ones_that_may_be_codes():
    counts = {"Male": 3, "female": 9, "male": 7, "Aa": 1, "aa": 1}
    assert written_differently(counts) == {"Male": "male"}


def test_values_in_words():
    assert [in_words(0.0, "date"), in_words(7.0, "number"), in_words("Oslo", "category")] == ["1970-01-01", "7", "Oslo"]
    assert values_in_words(ColumnFacts("age", "number", False, 0, 40, 18.0, 43.5, 90.0)) == "18 to 90, median 43.50"
    assert values_in_words(ColumnFacts("sex", "category", False, 0, 2, frequent=("f", "m"))) == "f and m"


def test_every_issue_has_a_sentence_and_every_code_is_one_issue():
    codes = [issue.code for look in LOOKS for issue in look.issues]
    assert len(codes) == len(set(codes)) == 20
    assert {code.removeprefix("checkup.") for code in codes} <= set(area("checkup"))
