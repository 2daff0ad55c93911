"""Every bad table through the command line, with the code of what is wrong."""

import json

import numpy as np
import pytest

from fedbary.filling import COMMAND

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
REFUSE = ("--missing", "refuse")

BAD = {
    "nan": (lambda f: f.assign(age=f["age"].where(f.index > 1)), "schema.missing-values"),
    "columns": (lambda f: f.rename(columns={"city": "town", "age": "years"}), "schema.columns-missing"),
    "duplicate": (lambda f: f.assign(id=f["id"].replace("p5", "p4")), "data.ids-repeat"),
    "no-label": (lambda f: f.drop(columns="ill"), "data.no-such-column"),
    "label-kind": (lambda f: f.assign(ill=np.arange(len(f)) / 7), "schema.label-holds-fractions"),
    "few": (lambda f: f.head(3), "schema.too-few-rows"),
    "no-rows": (lambda f: f.head(0), "data.header-only"),
    "missing-label": (lambda f: f.assign(ill=None), "data.labels-missing"),
}


@pytest.mark.parametrize("reference", [True, False], ids=["reference", "no-reference"])
def test_each_bad_client_fails_with_its_reason_and_the_others_are_valued(fedbary, sites, spoil, reference):
    for name, (change, _) in BAD.items():
        spoil(name, change)
    options = REFERENCE if reference else ("--label", "ill", "--id", "id", "--protocol", "interpolation", "--rounds", 1)
    code, out, err = fedbary("value", sites, *options, *REFUSE, "--json")
    clients = {client["client"]: client for client in json.loads(out)["clients"]}
    assert (code, err) == (3, "")
    assert {name for name, client in clients.items() if client["status"] == "ok"} == {"north", "south"}
    assert sorted(clients.keys() - {"north", "south"}) == sorted(BAD)
    if reference:
        assert {name: clients[name]["notes"][0]["code"] for name in BAD} == {
            name: why for name, (_, why) in BAD.items()
        }


def test_a_bad_reference_stops_the_run_and_is_named(refused, sites, spoil):
    bad = spoil("bad", BAD["nan"][0])
    error = refused("value", sites, "--label", "ill", "--id", "id", "--reference", bad, "--protocol", "sketch", *REFUSE)
    assert (error.code, error.private["where"], error.private["count"]) == ("data.missing-values", "bad.csv", 2)


def test_missing_values_are_taken_unless_they_are_to_be_refused(fedbary, sites, spoil):
    spoil("nan", BAD["nan"][0])
    assert fedbary("value", sites, *REFERENCE)[0] == 0


def test_a_constant_column_is_fine_but_noted(fedbary, sites, spoil):
    for path in (*sites.glob("*.csv"), sites.parent / "reference.csv"):
        text = path.read_text().splitlines()
        path.write_text("\n".join([f"{text[0]},ward", *(f"{line},7" for line in text[1:])]))
    code, out, _ = fedbary("value", sites, *REFERENCE, "--json")
    assert code == 0
    assert [(note["code"], note["facts"]) for note in json.loads(out)["notes"]] == [
        ("schema.constant-column", {"column": "ward"}),
        ("protocols.few-points", {"support": 8}),
    ]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--metric", "manhattan"),
        ("--projection", "some"),
        ("--t", "1.5"),
        ("--rule", "best"),
        ("--workers", "0"),
        ("--device", "tpu"),
        ("--min-group", "0"),
        ("--label-weight", "-1"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named_as_the_option_that_was_typed(refused, sites, option, value):
    error = refused("value", sites, *REFERENCE, option, value)
    assert error.code == "settings.parameter"
    assert error.note.text(COMMAND).startswith(f"{option} must be ")


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("--interpolation", "exact", "protocols.exact-shows-rows"),
        ("--labels", "numeric", "schema.numeric-labels-of-classes"),
        ("--label", "il", "data.no-such-column"),
    ],
)
def test_a_sentence_on_the_command_line_speaks_of_options(refused, sites, option, value, code):
    error = refused("value", sites, *REFERENCE, option, value)
    words = error.note.text(COMMAND)
    assert error.code == code
    assert option in words
    assert "=" not in words
