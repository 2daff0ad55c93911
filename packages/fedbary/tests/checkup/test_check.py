"""`fb.check`: findings are values, with or without a schema, and a clean table has none."""

import json

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.checkup.findings import Severity
from fedbary.checkup.result import of_columns
from fedbary.errors import DataError


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": np.round(rng.normal(45, 12, 200)),
            "income": np.round(rng.lognormal(8, 0.6, 200), 2),
            "city": rng.choice(["Bern", "Oslo", "Rome"], 200),
            "ill": rng.choice(["yes", "no"], 200),
        }
    )


def codes(checkup: fb.Checkup, severity: Severity | None = None) -> list[str]:
    return [one.code for one in checkup.findings if severity in (None, one.severity)]


def test_a_clean_table_has_no_findings(frame):
    found = fb.check(frame, "ill")
    assert (found.findings, found.refused, found.rows, found.copies) == ((), False, 200, 0)
    assert [column.kind for column in found.columns] == ["number", "number", "category"]
    assert dict(found.label.classes) == frame["ill"].value_counts().to_dict()
    assert "would take this table" in repr(found)


def test_all_that_is_refused_or_left_out_is_found_at_once(frame):
    spoilt = frame.astype({"age": object, "income": object, "ill": object})
    spoilt.loc[3, "age"], spoilt.loc[5, "ill"] = "old", None
    spoilt.loc[:60, "income"] = "much"
    spoilt["patient"] = [0, *range(199)]
    found = fb.check(spoilt, "ill", id="patient")
    assert codes(found, Severity.REFUSED) == ["data.ids-repeat"]
    left_out = {"data.cells-unread", "data.column-left-out", "data.rows-without-label"}
    assert set(codes(found, Severity.DOUBTFUL)) == left_out
    assert not {note.code for note in found.read} & left_out
    assert found.rows == 199


def test_with_a_schema_every_column_that_does_not_fit_is_named(frame):
    schema = fb.fit_schema(fb.Table.from_frame(frame, "ill"))
    found = fb.check(frame.assign(age="young", income="rich", ill=np.arange(200) / 7), schema=schema)
    assert codes(found, Severity.REFUSED) == [*["data.cell-does-not-fit"] * 2, "schema.label-holds-fractions"]
    assert [finding.column for finding in found.of(Severity.REFUSED)[:2]] == ["age", "income"]


def test_a_schema_may_be_a_file_and_a_reference_does_for_one(frame, tmp_path):
    fb.fit_schema(fb.Table.from_frame(frame, "ill")).save(tmp_path / "schema.json")
    found = fb.check(frame, schema=tmp_path / "schema.json")
    assert found.schema == fb.Schema.load(tmp_path / "schema.json").fingerprint
    assert found.told[0].facts == {"count": 200}
    assert fb.check(frame, "ill", reference=frame).schema is not None


@pytest.mark.parametrize("how", ["file", "table", "pair"])
def test_it_takes_what_a_client_may_be(frame, tmp_path, how):
    frame.to_csv(tmp_path / "mine.csv", index=False)
    data = {
        "file": tmp_path / "mine.csv",
        "table": fb.Table.from_frame(frame, "ill"),
        "pair": (frame.drop(columns="ill"), frame["ill"]),
    }[how]
    assert fb.check(data, "ill").rows == 200


def test_where_nothing_can_be_looked_at_the_reason_is_raised(frame):
    with pytest.raises(DataError, check=coded("data.no-such-column")):
        fb.check(frame, "sick")
    with pytest.raises(DataError, check=coded("data.mixed-column")):
        fb.check(pd.DataFrame({"age": ["1", "2", "x"] * 6, "label": [0, 1, 0] * 6}))


def test_it_is_json(frame):
    content = fb.check(frame.assign(ward=7), "ill").to_json()
    assert json.loads(json.dumps(content)) == content
    assert content["findings"][0]["column"] == "ward"


def test_it_says_which_kinds_were_guessed(frame):
    kinds = [kind for _, kind, _, _ in of_columns(fb.check(frame, "ill"))]
    assert kinds == ["number", "number", "category"]
    asked = fb.check(frame, "ill", options=fb.ReadOptions(categories=("age",)))
    assert [kind for _, kind, _, _ in of_columns(asked)] == ["category", "number, guessed", "category, guessed"]
    assert not any(column.guessed for column in fb.check(frame, "ill", reference=frame).columns)
