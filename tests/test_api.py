"""`fb.value`: every form of input, and every bad input with its sentence."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, SettingsError


def frame(rows=60, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40 + shift, 10, rows),
            "dose": rng.normal(size=rows),
            "city": rng.choice(["Rome", "Lima"], rows),
            "label": rng.choice(["ill", "well"], rows),
        }
    )


def table(**arguments):
    return fb.Table.from_frame(frame(**arguments))


def test_arrays_frames_and_tables_give_the_same_result():
    numbers = frame().drop(columns="city")
    reference = frame(seed=9).drop(columns="city")
    X, y = numbers[["age", "dose"]], numbers["label"]
    forms = {
        "frame": numbers,
        "pair": (X, y),
        "table": fb.Table.from_frame(numbers),
        "named": fb.Table.from_arrays(X.to_numpy(), y.to_numpy(), columns=["age", "dose"]),
    }
    distances = fb.value(forms, reference, seed=0).clients["distance"]
    np.testing.assert_allclose(distances, distances[0], rtol=1e-12)


def test_plain_arrays_work_on_both_sides():
    rng = np.random.default_rng(0)
    pair = lambda n: (rng.normal(size=(n, 3)), rng.integers(0, 2, n))  # noqa: E731
    result = fb.value({"a": pair(50), 7: pair(60)}, pair(80), seed=0)
    assert result.clients["client"].tolist() == ["a", "7"]
    assert result.clients["rows"].tolist() == [50, 60]


def test_rows_carry_the_owners_ids():
    named = frame().assign(patient=[f"p{i:03d}" for i in range(60)])
    result = fb.value({"a": fb.Table.from_frame(named, id="patient")}, table(seed=1), seed=0)
    assert result.rows("a")["row"].tolist() == named["patient"].tolist()


def spoiled(change):
    return change(frame())


BAD_CLIENTS = {
    "NaN": (lambda f: f.assign(age=[np.nan] * 3 + [1.0] * 57), "column 'age' has 3 missing values in 60 rows"),
    "wrong columns": (lambda f: f.rename(columns={"dose": "Dose"}), "the column 'dose' of the schema is missing"),
    "too few rows": (lambda f: f.head(4), "4 rows are fewer than min_group = 5"),
    "text for numbers": (lambda f: f.assign(age="old"), "must be numeric, but holds text such as 'old'"),
    "mixed types": (lambda f: f.assign(age=["x"] + [1.5] * 59), "'age' mixes numbers and text"),
    "infinite": (lambda f: f.assign(dose=np.inf), "'dose'"),
    "missing labels": (lambda f: f.assign(label=[None] + ["ill"] * 59), "label"),
    "quantities as label": (lambda f: f.assign(label=np.linspace(0, 1, 60)), "holds fractions such as"),
    "no label": (lambda f: f.drop(columns="label"), "label"),
    "empty": (lambda f: f.head(0), "no rows"),
}


@pytest.mark.parametrize("kind", BAD_CLIENTS)
@pytest.mark.parametrize("reference_known", [True, False])
def test_a_bad_client_is_named_with_the_reason_and_the_others_are_valued(kind, reference_known):
    change, sentence = BAD_CLIENTS[kind]
    clients = {"good": frame(seed=1), "fine": frame(seed=2), "bad": spoiled(change)}
    reference = frame(rows=90, seed=3) if reference_known else None
    result = fb.value(clients, reference, seed=0)
    assert list(result.failed) == ["bad"]
    others = {
        "wrong columns": "its columns differ from the other clients' (lacks dose; has Dose)",
        "text for numbers": "another kind or width of age",
        "quantities as label": "holds a number, the other clients have classes",
    }
    assert (sentence if reference_known else others.get(kind, sentence)) in result.failed["bad"]
    assert result.clients["distance"].notna().tolist() == [True, True, False]
    assert result.clients["share"][:2].sum() == pytest.approx(1)


BAD_REFERENCES = {
    "NaN": (lambda f: f.assign(age=np.nan), "reference: column 'age' has 60 missing values"),
    "no label": (lambda f: f.drop(columns="label"), "reference: "),
    "empty": (lambda f: f.head(0), "reference: "),
}


@pytest.mark.parametrize("kind", BAD_REFERENCES)
def test_a_bad_reference_stops_the_run_in_words(kind):
    change, sentence = BAD_REFERENCES[kind]
    with pytest.raises(DataError) as raised:
        fb.value({"a": frame()}, spoiled(change), seed=0)
    assert sentence in str(raised.value)


def test_missing_values_are_imputed_on_request():
    holes = frame()
    holes.loc[:5, ["age", "city"]] = None
    result = fb.value({"a": holes}, frame(seed=1), space=fb.Space(missing="impute"), seed=0)
    assert not result.failed


def test_a_constant_column_is_valued_and_noted():
    constant = lambda seed: frame(seed=seed).assign(height=1.7)  # noqa: E731
    result = fb.value({"a": constant(1)}, constant(2), seed=0)
    assert result.clients["distance"].notna().all()
    assert any("'height' is constant in the target" in note for note in result.notes)


def test_every_client_bad_gives_a_result_without_distances():
    for reference in (frame(seed=1), None):
        result = fb.value({"a": frame().head(2), "b": DataError("b.csv: empty")}, reference, seed=0)
        assert set(result.failed) == {"a", "b"}
        assert result.failed["b"] == "failed: b.csv: empty"
        assert result.clients["share"].isna().all()


def test_missing_and_unknown_classes_are_noted_in_the_status():
    client = frame().assign(label=["ill"] * 30 + ["cured"] * 30)
    status = fb.value({"a": client}, frame(seed=1), seed=0).clients["status"][0]
    assert status == "ok; has fewer than 5 rows of class well; has class unknown to the target: cured"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(clients={}), "at least one"),
        (dict(clients=[frame()]), "must map names to data"),
        (dict(clients={1: frame(), "1": frame()}), "same name"),
        (dict(clients={"bad\udcff": frame()}), "is not valid Unicode"),
        (dict(protocol="magic"), "There is no protocol 'magic'; there is sketch, consensus, coalition, interpolation"),
        (dict(protocol=3), "protocol's settings or name"),
        (dict(fdr=0.0), "'fdr' parameter must lie between 0 and 1"),
        (dict(rule="guess"), "'rule' parameter must be 'bh' or 'sign'"),
        (dict(calibration="none"), "'calibration' parameter"),
        (dict(seed=-1), "'seed' parameter must be a non-negative whole number"),
        (
            dict(clients={"a": frame(), "b": frame()}, protocol=fb.Interpolation(gradient="access"), reference=None),
            "needs a reference",
        ),
    ],
)
def test_settings_are_checked_before_anything_runs(arguments, message):
    arguments = {"clients": {"a": frame()}, "reference": frame(seed=1)} | arguments
    with pytest.raises(SettingsError) as raised:
        fb.value(**arguments)
    assert message in str(raised.value)


def test_a_protocol_may_be_given_by_name():
    result = fb.value({"a": frame()}, frame(seed=1), protocol="interpolation", seed=0)
    assert result.settings["protocol"] == "interpolation"


def test_the_public_names_exist_and_the_import_is_light():
    import subprocess
    import sys

    for name in fb.__all__:
        assert getattr(fb, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        fb.nonsense  # noqa: B018
    code = "import sys, fedbary; print(sorted({'numpy', 'pandas', 'ot', 'sklearn', 'typer'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_one_client_without_a_reference_has_nobody_to_be_compared_with():
    with pytest.raises(fb.FedbaryError, check=coded("settings.one-client")):
        fb.value({"a": (np.zeros((9, 2)), [0] * 9)})
