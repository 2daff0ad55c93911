"""`fedbary check`: what an owner sees before taking part."""

import json
from pathlib import Path

import numpy as np
import pytest

import fedbary as fb

pytest_plugins = ["cli_fixtures"]


@pytest.fixture
def schema(sites):
    fb.fit_schema(fb.read("reference.csv", label="ill", id="id"), fb.Sketch().space(None)).save("schema.json")
    return "schema.json"


def test_it_describes_the_table_and_says_that_nothing_was_sent(fedbary, sites):
    code, out, err = fedbary("check", sites / "north.csv", "--label", "ill", "--id", "id")
    assert (code, err) == (0, "")
    assert "40 rows, none twice; 2 feature columns." in out
    assert [line.split()[:3] for line in out.splitlines() if line.startswith(("age", "city"))] == [
        ["age", "number", "0"],
        ["city", "category", "0"],
    ]
    assert "Bern and Oslo" in out or "Oslo and Bern" in out
    assert "Label 'ill': 2 classes" in out
    assert "would take this table" in out
    assert "Nothing was sent" in out
    assert max(map(len, out.splitlines())) <= 80


def test_it_says_what_is_missing_and_what_is_odd(fedbary, spoil):
    def change(frame):
        frame = frame.assign(age=frame["age"].where(frame.index > 1), city=frame["city"].where(frame.index > 0), ward=7)
        frame.iloc[-1] = frame.iloc[-2]
        return frame.drop(columns="id")

    code, out, _ = fedbary("check", spoil("odd", change), "--label", "ill")
    told = " ".join(out.split())
    assert code == 0
    assert "1 row repeating an earlier one" in told
    assert "age number 2" in told
    assert "city category 1" in told
    assert "column 'ward' is 7 in every row" in told
    assert "would take this table" in told


def test_a_number_label_is_described_by_its_range(fedbary, spoil):
    path = spoil("rent", lambda f: f.assign(ill=np.linspace(1.5, 9.5, len(f))))
    assert "a number from 1.50 to 9.50, on average 5.50." in fedbary("check", path, "--label", "ill", "--id", "id")[1]


def test_too_few_rows_are_refused_with_and_without_a_schema(refused, spoil, schema):
    path = spoil("few", lambda f: f.head(3))
    bare = refused("check", path, "--label", "ill", "--id", "id", says="3 rows are fewer than min_group = 5")
    assert bare.code == "schema.too-few-rows"
    error = refused("check", path, "--id", "id", "--schema", schema, says="3 different rows are fewer than min_group")
    assert (error.code, error.private["count"]) == ("checkup.few-different-rows", 3)


def test_all_that_is_refused_is_told_at_once(refused, spoil):
    def change(frame):
        return frame.assign(id=frame["id"].replace("p5", "p4"), ill=[f"{'very ' * 50}{one}" for one in frame["ill"]])

    error = refused("check", spoil("odd", change), "--label", "ill", "--id", "id", says="would refuse")
    assert (error.code, error.private["count"]) == ("checkup.refused", 2)


def test_a_reference_does_for_a_schema(fedbary, spoil):
    path = spoil("odd", lambda f: f.assign(age=1000 * f["age"]), rows=80)
    code, out, _ = fedbary("check", path, "--label", "ill", "--id", "id", "--reference", "reference.csv")
    assert (code, "The table fits the schema" in out) == (0, True)
    assert "its median is 1,000 times the reference's" in " ".join(out.split())


def test_a_table_that_fits_the_schema(fedbary, sites, schema):
    code, out, _ = fedbary("check", sites / "north.csv", "--id", "id", "--schema", schema)
    assert code == 0
    assert f"The table fits the schema {fb.Schema.load(schema).fingerprint}." in out


def test_notes_tell_what_the_coordinator_would_learn(fedbary, spoil, schema):
    path = spoil("new", lambda f: f.assign(ill=np.where(f.index < 10, "maybe", "yes"), extra=1.0))
    _, out, _ = fedbary("check", path, "--id", "id", "--schema", schema)
    assert "• ignores 1 column" in " ".join(out.split())
    assert "• has class unknown to the target: maybe" in " ".join(out.split())
    assert "• has fewer than 5 rows of class no" in " ".join(out.split())


def test_findings_are_told_before_anybody_else_sees_them(fedbary, spoil, schema):
    def change(frame):
        upper = frame["ill"].where(frame.index % 2 == 0, frame["ill"].str.upper())
        return frame.assign(age=1000 * frame["age"].where(frame.index > 2), ill=upper)

    code, out, _ = fedbary("check", spoil("odd", change, rows=80), "--id", "id", "--schema", schema)
    told = " ".join(out.split())
    assert code == 0
    assert "• 1.9 % of the cells have no value" in told
    assert "• 100 % of its rows lie beyond anything in the reference in column 'age'" in told
    assert "its median is 1,000 times the reference's" in told
    assert "• has labels NO and YES (did you mean no and yes?): use the names of the target's classes" in told


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda f: f.drop(columns="city"), "schema.columns-missing"),
        (lambda f: f.assign(ill=f["ill"].str.upper()), "schema.no-known-label"),
        (lambda f: f.assign(ill=np.arange(len(f)) / 7), "schema.label-holds-fractions"),
        (lambda f: f.assign(age="young"), "data.cell-does-not-fit"),
        (lambda f: f.drop(columns="ill"), "data.no-such-column"),
    ],
)
def test_a_table_that_does_not_fit_ends_with_2_and_names_the_file(refused, spoil, schema, change, code):
    error = refused("check", spoil("odd", change), "--id", "id", "--schema", schema, hides="fits")
    assert (error.code, error.private["where"]) == (code, "odd.csv")


def test_a_schema_that_is_none_is_refused(refused, sites):
    assert refused("check", sites / "north.csv", "--schema", "reference.csv").code == "schema.not-a-schema"


def test_a_corrected_copy_and_a_page_are_written_and_the_table_stays(fedbary, spoil, schema):
    path = spoil("odd", lambda f: f.assign(ill=f["ill"].where(f.index > 3, f["ill"].str.upper())))
    before = path.read_bytes()
    options = ("--id", "id", "--schema", schema, "--fix", "fixed.csv", "--html", "check.html")
    code, out, err = fedbary("check", path, *options)
    assert (code, err) == (0, "")
    assert "label 'ill': 4 cells are respelled" in " ".join(out.split())
    assert path.read_bytes() == before
    code, out, _ = fedbary("check", "fixed.csv", *options[:4], "--json")
    content = json.loads(out)
    assert (code, content["findings"], content["fixed"]) == (0, [], [])
    assert "FedBary: a check of odd.csv" in Path("check.html").read_text()


def test_how_it_was_read_is_told_and_options_decide(fedbary, spoil):
    path = spoil("read", lambda f: f.assign(born=f["age"].map(lambda age: f"{2020 - round(age)}-03-01"), zip=range(30)))
    code, out, _ = fedbary("check", path, "--label", "ill", "--id", "id", "--drop", "zip")
    told = " ".join(out.split())
    assert (code, "'born' is read as dates" in told) == (0, True)
    assert "zip dropped – left out" in told
    assert "born date 0 19" in told
