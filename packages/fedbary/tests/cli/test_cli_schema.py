"""`fedbary schema make`: public coordinates from a table or from a description."""

import json

import pytest

import fedbary as fb

pytest_plugins = ["cli_fixtures"]

DESCRIPTION = """
label = "ill"
classes = ["no", "yes"]
[columns.age]
centre = 50
scale = 20
[columns.city]
levels = ["Rome", "Oslo"]
"""


def test_from_a_public_table(fedbary, sites):
    code, out, err = fedbary("schema", "make", "reference.csv", "--label", "ill", "--id", "id", "-o", "public.json")
    assert (code, err) == (0, "")
    assert "written  public.json" in out
    schema = fb.Schema.load("public.json")
    assert schema.clip > 0
    assert {column.name for column in schema.columns} == {"age", "city"}
    assert schema.whitening is None


def test_fewer_coordinates_for_programs(fedbary, sites):
    code, out, _ = fedbary(
        "schema", "make", "reference.csv", "--label", "ill", "--id", "id", "--coordinates", 2, "--json"
    )
    told = json.loads(out)
    assert (code, told["file"], told["coordinates"]) == (0, "schema.json", 4)  # a residual and missing cells, too
    assert told["fingerprint"] == fb.Schema.load("schema.json").fingerprint


def test_from_a_description(fedbary, sites):
    (sites / "written.toml").write_text(DESCRIPTION)
    code, out, _ = fedbary("schema", "make", sites / "written.toml", "-o", "public.json")
    assert code == 0
    assert "2 columns in 5 coordinates" in out
    assert fb.Schema.load("public.json").label.classes == ("no", "yes")


def test_mistakes_name_the_file_and_the_column(fedbary, sites):
    (sites / "written.toml").write_text(DESCRIPTION.replace("scale = 20", "scale = -1"))
    code, _, err = fedbary("schema", "make", sites / "written.toml")
    assert code == 2
    assert "written.toml" in err
    assert "'scale' of column 'age'" in err


@pytest.mark.parametrize("option", [("--label", "ill"), ("--coordinates", 2), ("--seed", 3)])
def test_a_description_says_everything_itself(fedbary, sites, option):
    (sites / "written.toml").write_text(DESCRIPTION)
    code, _, err = fedbary("schema", "make", sites / "written.toml", *option)
    assert (code, option[0] in err) == (2, True)


def test_a_missing_file_is_named(fedbary, sites):
    assert fedbary("schema", "make", "nothing.toml")[0] == 2
    assert fedbary("schema", "make", "nothing.csv", "--label", "ill")[0] == 2
