"""Every bad table through the command line, with the sentence its owner reads."""

import numpy as np
import pytest

import fedbary as fb

pytest_plugins = ["cli_fixtures"]

REFERENCE = (
    "--label",
    "ill",
    "--id",
    "id",
    "--reference",
    "reference.csv",
    "--protocol",
    "interpolation",
    "--rounds",
    1,
)

BAD = {
    "nan": (lambda f: f.assign(age=f["age"].where(f.index > 1)), "column 'age' has 2 missing values in 30 rows"),
    "columns": (lambda f: f.rename(columns={"city": "town"}), "the column 'city' of the schema is missing"),
    "duplicate": (lambda f: f.assign(id=f["id"].replace("p5", "p4")), "the id column 'id' repeats an earlier id"),
    "mixed": (
        lambda f: f.assign(age=f["age"].astype(object).where(f.index != 3, "old")),
        "column 'age' mixes numbers and text, such as 'old'",
    ),
    "no-label": (lambda f: f.drop(columns="ill"), "there is no label column 'ill'"),
    "label-kind": (lambda f: f.assign(ill=np.arange(len(f)) / 7), "the label column 'ill' holds fractions"),
    "few": (lambda f: f.head(3), "3 rows are fewer than min_group = 5"),
    "no-rows": (lambda f: f.head(0), "there are no rows under the 4 column names"),
    "infinite": (lambda f: f.assign(age=np.inf), "column 'age' has 30 infinite values"),
    "missing-label": (lambda f: f.assign(ill=f["ill"].where(f.index > 0)), "the label column 'ill' is missing in 1"),
}


@pytest.mark.parametrize("reference", [True, False], ids=["reference", "no-reference"])
def test_each_bad_client_fails_with_its_reason_and_the_others_are_valued(fedbary, sites, spoil, reference):
    for name, (change, _) in BAD.items():
        spoil(name, change)
    options = REFERENCE if reference else ("--label", "ill", "--id", "id", "--protocol", "interpolation", "--rounds", 1)
    code, out, err = fedbary("value", sites, *options, "-o", "out")
    failed = fb.Valuation.load("out").failed
    assert (code, err) == (3, "")
    assert sorted(failed) == sorted(BAD)
    assert "2 of 12 clients valued" in out
    if reference:
        for name, (_, sentence) in BAD.items():
            assert sentence in failed[name], name


def test_a_bad_reference_stops_the_run_with_one_sentence(fedbary, sites, spoil):
    path = spoil("bad", BAD["nan"][0])
    code, out, err = fedbary("value", sites, "--label", "ill", "--id", "id", "--reference", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: bad.csv: column 'age' has 2 missing values in 30 rows")


def test_impute_takes_missing_values(fedbary, sites, spoil):
    spoil("nan", BAD["nan"][0])
    assert fedbary("value", sites, *REFERENCE, "--missing", "impute")[0] == 0


def test_a_constant_column_is_fine_but_noted(fedbary, sites, spoil):
    for path in (*sites.glob("*.csv"), sites.parent / "reference.csv"):
        text = path.read_text().splitlines()
        path.write_text("\n".join([f"{text[0]},ward", *(f"{line},7" for line in text[1:])]))
    code, out, _ = fedbary("value", sites, *REFERENCE)
    assert code == 0
    assert "column 'ward' is constant in the target" in out


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--metric", "manhattan", "The 'metric' parameter of Space must be one of euclidean, within, total."),
        ("--projection", "some", "The 'projection' parameter of Space must be 'auto', 'none' or a positive"),
        ("--t", "1.5", "The 't' parameter of Interpolation must lie strictly between 0 and 1"),
        ("--interpolation", "exact", "interpolation='exact' lets the server read every row"),
        ("--rule", "best", "The 'rule' parameter must be 'bh' or 'sign'."),
        ("--workers", "0", "The 'workers' parameter of LocalEngine must be at least 1."),
        ("--labels", "numeric", "--labels numeric needs a number, but 'ill' holds classes"),
    ],
)
def test_a_setting_that_makes_no_sense_is_one_sentence(fedbary, sites, option, value, sentence):
    code, out, err = fedbary("value", sites, *REFERENCE, option, value)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {sentence}")
