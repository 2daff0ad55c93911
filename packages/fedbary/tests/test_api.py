"""`fb.value`: every form of input, and every bad input with its code."""

import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
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


# What is found where the reference is known, and without one, where the clients are compared with each other.
BAD_CLIENTS = {
    "NaN": (
        lambda f: f.assign(age=[np.nan] * 3 + [1.0] * 57),
        ("schema.missing-values",) * 2,
        {"column": "age", "count": 3, "rows": 60},
    ),
    "wrong columns": (
        lambda f: f.rename(columns={"dose": "Dose", "age": "Age"}),
        ("schema.columns-unlike-the-others",) * 2,
        {"missing": ("age", "dose"), "extra": ("Age", "Dose")},
    ),
    "too few rows": (lambda f: f.head(4), ("schema.too-few-rows",) * 2, {"rows": 4, "least": 5}),
    "missing labels": (lambda f: f.assign(label=None), ("data.labels-missing",) * 2, {"name": "label", "missing": 60}),
    "few labels": (
        lambda f: f.assign(label=["ill"] * 4 + [None] * 56),
        ("schema.too-few-rows",) * 2,
        {"rows": 4, "least": 5},
    ),
    "quantities as label": (
        lambda f: f.assign(label=np.linspace(0, 1, 60)),
        ("schema.labels-unlike-the-others",) * 2,
        {"label": "label"},
    ),
    "no label": (lambda f: f.drop(columns="label"), ("data.frame-without-label",) * 2, {"label": "label"}),
    "empty": (lambda f: f.head(0), ("data.header-only",) * 2, {"columns": 4}),
}


@pytest.mark.parametrize("kind", BAD_CLIENTS)
@pytest.mark.parametrize("reference_known", [True, False])
def test_a_bad_client_is_named_with_the_reason_and_the_others_are_valued(kind, reference_known):
    change, codes, facts = BAD_CLIENTS[kind]
    clients = {"good": frame(seed=1), "fine": frame(seed=2), "bad": spoiled(change)}
    reference = frame(rows=90, seed=3) if reference_known else None
    result = fb.value(clients, reference, space=fb.Space(missing="refuse"), seed=0)
    assert list(result.failed) == ["bad"]
    why = result.outcomes["bad"].notes[0]
    assert why.code == codes[0 if reference_known else 1]
    assert facts.items() <= why.facts.items()
    assert result.clients["distance"].notna().tolist() == [True, True, False]
    assert result.clients["share"][:2].sum() == pytest.approx(1)


# What one client's column may hold without anybody being refused; the column of one that cannot be read.
ODD_COLUMNS = {
    "text for numbers": (lambda f: f.assign(age="old"), "age"),
    "mixed types": (lambda f: f.assign(age=["x"] * 20 + [1.5] * 40), "age"),
    "infinite": (lambda f: f.assign(dose=np.inf), "dose"),
    "renamed": (lambda f: f.rename(columns={"dose": "Dose"}), "dose"),
    "empty": (lambda f: f.assign(city=None), "city"),
    "names": (lambda f: frame(rows=150).assign(city=[f"a house in street {i}" for i in range(150)]), "city"),
}


@pytest.mark.parametrize("kind", ODD_COLUMNS)
@pytest.mark.parametrize("reference_known", [True, False])
def test_one_column_of_one_client_stops_nobody_and_is_named_once(kind, reference_known):
    change, column = ODD_COLUMNS[kind]
    clients = {"good": frame(seed=1), "fine": frame(seed=2), "odd": spoiled(change)}
    result = fb.value(clients, frame(rows=90, seed=3) if reference_known else None, protocol="cards", seed=0)
    assert not result.failed
    assert column not in [one.name for one in result.schema.columns]
    assert [note.facts["column"] for note in result.notes if "column" in note.facts].count(column) == 1
    assert "missing" not in str(result.outcomes["odd"].notes)


def test_free_text_everywhere_is_left_out_with_the_remedy():
    rng = np.random.default_rng(0)
    told = lambda f: f.assign(comment=[" ".join(rng.choice(list("abcdefgh"), 7)) for _ in f.index])  # noqa: E731
    for reference in (None, told(frame(seed=3))):
        result = fb.value({name: told(frame(seed=seed)) for seed, name in enumerate("abc")}, reference, seed=0)
        assert not result.failed
        (note,) = [note for note in result.notes if note.facts.get("column") == "comment"]
        assert (note.code, note.facts["why"].code) == ("data.column-left-out", "data.free-text")
        assert "example" not in note.facts["why"].facts
        assert "encoder='hashing'" in str(note)


def test_a_column_that_the_reference_lacks_does_not_stop_a_run():
    for protocol in ("sketch", "cards", "interpolation"):
        result = fb.value({"a": frame(seed=1), "b": frame(seed=2)}, frame(seed=3).assign(age=np.nan), protocol=protocol)
        assert not result.failed
        assert [note.facts["column"] for note in result.notes if note.code == "schema.column-left-out"] == ["age"]


@pytest.mark.parametrize("protocol", ["sketch", "cards", "interpolation"])
def test_rows_without_a_label_are_counted_and_the_others_keep_their_names(protocol):
    some = frame(seed=1)
    some.loc[[0, 7, 9], "label"] = [None, "", None]
    result = fb.value({"a": some, "b": frame(seed=2), "c": frame(seed=4)}, frame(seed=3), protocol=protocol, seed=0)
    assert result.clients["rows"].tolist() == [57, 60, 60]
    assert fb.Note("data.rows-without-label", {"label": "label", "count": 3, "rows": 60}) in result.outcomes["a"].notes
    assert result.rows("a")["row"].tolist() == [row for row in range(60) if row not in (0, 7, 9)]


def test_where_no_other_client_is_believed_the_reference_alone_is_the_model():
    """Three hospitals, two of them spoilt: for the clean one only the reference is left to compare with."""
    folder = Path(__file__).parents[3] / "examples" / "hospitals"
    clients = fb.read_clients(str(folder / "hospital_*.parquet"), label="diagnosis", id="patient")
    reference = fb.read(folder / "validation.parquet", label="diagnosis", id="patient")
    result = fb.value(clients, reference, protocol="cards", seed=0)
    assert not result.failed
    assert result.select() == ["hospital_north"]
    assert all(result.rows(name)["flag"].notna().all() for name in clients)


def test_neither_the_order_nor_the_names_of_clients_change_a_digit(digits):
    parts = fb.partitions.by_size(digits, [60, 60, 60, 60], seed=0).clients
    renamed = {f"z{9 - int(name[-1])}": part for name, part in reversed(parts.items())}
    numbers = ["distance", "share", "quality", "wrong_labels", "odd_features"]
    one, other = (fb.value(clients, seed=0).clients[numbers] for clients in (parts, renamed))
    pd.testing.assert_frame_equal(one, other[::-1].reset_index(drop=True), check_exact=True)


BAD_REFERENCES = {
    "NaN": (lambda f: f.assign(age=np.nan), "data.missing-values"),
    "no label": (lambda f: f.drop(columns="label"), "data.frame-without-label"),
    "empty": (lambda f: f.head(0), "data.header-only"),
}


@pytest.mark.parametrize("kind", ["NaN", "no label", "empty"])
def test_a_bad_reference_stops_the_run_and_is_named(kind):
    change, code = BAD_REFERENCES[kind]
    with pytest.raises(DataError, check=coded(code)) as raised:
        fb.value({"a": frame()}, spoiled(change), space=fb.Space(missing="refuse"), seed=0)
    assert raised.value.private["where"] == "reference"


@pytest.mark.parametrize("reference_known", [True, False])
def test_missing_values_are_taken_and_never_bring_a_client_nearer(reference_known):
    holes = frame()
    holes.loc[:20, ["age", "city"]] = None
    clients = {"whole": frame(), "holes": holes, "other": frame(seed=2)}
    result = fb.value(clients, frame(seed=1) if reference_known else None, seed=0)
    assert not result.failed
    if reference_known:
        assert result.clients["distance"][0] < result.clients["distance"][1]


def test_a_constant_column_is_left_out_and_noted():
    constant = lambda seed: frame(seed=seed).assign(height=1.7)  # noqa: E731
    result = fb.value({"a": constant(1)}, constant(2), seed=0)
    assert result.clients["distance"].notna().all()
    assert fb.Note("schema.constant-column", {"column": "height"}) in result.notes


def test_every_client_bad_gives_a_result_without_distances():
    for reference in (frame(seed=1), None):
        result = fb.value({"a": frame().head(2), "b": DataError("data.no-rows", where="b.csv")}, reference, seed=0)
        assert set(result.failed) == {"a", "b"}
        assert [outcome.status for outcome in result.outcomes.values()] == [fb.Status.FAILED, fb.Status.FAILED]
        assert result.outcomes["b"].notes == (fb.Note("data.no-rows", {"where": "b.csv"}),)
        assert result.clients["share"].isna().all()


def test_missing_and_unknown_classes_are_noted():
    client = frame().assign(label=["ill"] * 30 + ["cured"] * 30)
    result = fb.value({"a": client}, frame(seed=1), protocol="sketch", seed=0)
    lacks, unknown = result.outcomes["a"].notes
    assert (lacks.code, lacks.facts["classes"]) == ("schema.lacks-classes", ("well",))
    assert (unknown.code, unknown.facts["classes"]) == ("schema.unknown-classes", ("cured",))
    assert result.clients[["status", "notes"]].iloc[0].tolist() == ["ok", f"{lacks}; {unknown}"]


@pytest.mark.parametrize(
    ("arguments", "check"),
    [
        (dict(clients={}), coded("settings.no-client")),
        (dict(clients=[frame()]), parameter("clients")),
        (dict(clients={1: frame(), "1": frame()}), coded("settings.same-name")),
        (dict(clients={"bad\udcff": frame()}), coded("settings.not-unicode")),
        (dict(protocol="magic"), coded("settings.no-protocol")),
        (dict(protocol=3), parameter("protocol")),
        (dict(fdr=0.0), parameter("fdr")),
        (dict(rule="guess"), parameter("rule")),
        (dict(seed=-1), parameter("seed")),
        (dict(engine="ray"), parameter("engine")),
        (dict(options={"sep": ";"}), parameter("options")),
    ],
)
def test_settings_are_checked_before_anything_runs(arguments, check):
    arguments = {"clients": {"a": frame()}, "reference": frame(seed=1)} | arguments
    with pytest.raises(SettingsError, check=check):
        fb.value(**arguments)


NO_TABLES = {
    "a number": (7, "data.not-a-table", "int"),
    "an array without labels": (np.zeros((3, 2)), "data.not-a-table", "ndarray"),
    "a dictionary": ({"X": [[1.0]], "y": [0]}, "data.not-a-table", "dict"),
    "a generator": ((row for row in [1, 2]), "data.not-a-table", "generator"),
    "features of a dictionary": (({"age": [31]}, [0]), "data.not-features", "dict"),
    "features of a text": (("north.csv", [0]), "data.not-features", "str"),
    "labels of a text": (([[1.0]], "label"), "data.not-labels", "str"),
    "labels of a number": (([[1.0]], 7), "data.not-labels", "int"),
}


@pytest.mark.parametrize("kind", NO_TABLES)
def test_a_type_that_holds_no_rows_is_refused_before_anything_is_read(kind):
    data, code, found = NO_TABLES[kind]

    class Unread(fb.Table):
        def __len__(self):
            raise AssertionError("read before the types were checked")

    unread = Unread({"age": [31.0]}, [0])
    for clients, reference in (({"a": unread, "north": data}, unread), ({"a": unread, "north": data}, None)):
        with pytest.raises(DataError, check=coded(code)) as raised:
            fb.value(clients, reference, seed=0)
        assert raised.value.private["where"] == "client 'north'"
        assert raised.value.public["kind"] == found
    with pytest.raises(DataError, check=coded(code)) as raised:
        fb.value({"a": unread}, data, seed=0)
    assert raised.value.private["where"] == "reference"


def test_the_label_of_frames_can_be_named():
    named = {seed: frame(seed=seed).rename(columns={"label": "y"}) for seed in range(3)}
    result = fb.value({"a": named[0], "b": named[1]}, named[2], label="y", seed=0)
    assert not result.failed
    both = frame().assign(y=frame(seed=5)["label"])
    assert "'y'" in repr(fb.card(both, "y"))
    misspelt = fb.value({"a": named[0], "b": frame()}, named[2], label="y", seed=0)
    assert misspelt.outcomes["b"].notes[0].code == "data.no-such-column"
    with pytest.raises(DataError, check=coded("data.no-such-column")) as raised:
        fb.value({"a": named[0]}, frame(), label="y", seed=0)
    assert raised.value.private["where"] == "reference"


def test_one_frame_may_hold_the_rows_of_many_clients():
    whole = pd.concat([frame(seed=seed).assign(site=site) for seed, site in enumerate(["oslo", "bergen", None])])
    reference = frame(seed=9)
    options = fb.ReadOptions(client_column="site")
    result = fb.value(whole, reference, options=options, seed=0)
    apart = fb.value({"oslo": frame(seed=0), "bergen": frame(seed=1)}, reference, seed=0)
    assert result.clients["client"].tolist() == ["oslo", "bergen"]
    assert result.clients["distance"].tolist() == apart.clients["distance"].tolist()
    again = fb.value({"a": whole[whole["site"] == "oslo"]}, whole.assign(site="x"), options=options, seed=0)
    assert not again.failed
    with pytest.raises(DataError, check=coded("formats.no-client-column")):
        fb.value(whole, reference, options=fb.ReadOptions(client_column="town"), seed=0)
    with pytest.raises(DataError, check=coded("data.not-a-frame")):
        fb.value(table(), reference, options=options, seed=0)
    with pytest.raises(SettingsError, check=parameter("clients")):
        fb.value(whole, reference, seed=0)


def test_clients_and_reference_may_be_files(tmp_path):
    for seed, name in enumerate(["a", "b", "reference"]):
        frame(seed=seed).to_csv(tmp_path / f"{name}.csv", index=False)
    files = {"a": tmp_path / "a.csv", "b": str(tmp_path / "b.csv"), "gone": tmp_path / "c.csv"}
    result = fb.value(files, tmp_path / "reference.csv", label="label", seed=0)
    assert result.outcomes["gone"].notes[0].code == "data.no-file"
    tables = {name: fb.read(files[name], "label") for name in ("a", "b")}
    again = fb.value(tables, fb.read(tmp_path / "reference.csv", "label"), seed=0)
    assert result.clients["distance"].tolist()[:2] == again.clients["distance"].tolist()


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


# What stands for several public classes: a protocol's settings, and whatever carries messages.
PORTS = {"Settings": fb.Sketch, "Engine": fb.LocalEngine}


def test_every_class_that_a_public_parameter_takes_is_public():
    functions = {name: getattr(fb, name) for name in fb.__all__ if inspect.isfunction(getattr(fb, name))}
    built = (fb.Space, fb.LocalEngine, fb.OwnerPolicy, fb.Ledger, fb.Outcome, fb.Note)
    built += (fb.Sketch, fb.Cards, fb.Interpolation, fb.RowValues, fb.FlagFilter)
    functions |= {kind.__name__: kind.__init__ for kind in built}
    taken = {
        kind
        for call in functions.values()
        for given in inspect.signature(call).parameters.values()
        for kind in re.findall(r"(?<![\w\"'])[A-Z]\w+", str(given.annotation))
        if inspect.isclass(found := inspect.unwrap(call).__globals__.get(kind))
        and found.__module__.startswith("fedbary")
    }
    assert {"Table", "FedbaryError", "Status"} <= taken
    assert taken - PORTS.keys() <= set(fb.__all__)


def test_one_client_without_a_reference_has_nobody_to_be_compared_with():
    with pytest.raises(fb.FedbaryError, check=coded("settings.one-client")):
        fb.value({"a": (np.zeros((9, 2)), [0] * 9)})
