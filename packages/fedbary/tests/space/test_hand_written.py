"""Schemas written by hand: what they become, and which mistakes are named."""

import math

import numpy as np
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import SchemaError
from fedbary.space.encode import PublicCoordinates
from fedbary.space.hand_written import hand_written_schema

CLINIC = """
label = "diagnosis"
classes = ["ill", "well"]

[columns.age]
centre = 55
scale = 15.0
may_lack = true

[columns.city]
levels = ["Rome", "Oslo"]

[columns.scan]
width = 3
centre = 0.5
scale = [0.1, 0.2, 0.4]
"""


def test_columns_become_what_is_written():
    schema = hand_written_schema(CLINIC)
    age, city, scan = schema.columns
    assert (age.kind, age.mean, age.scale, age.middle, age.may_lack) == ("numeric", (55.0,), (15.0,), (55.0,), True)
    assert (city.kind, city.categories, city.may_lack) == ("categorical", ("Oslo", "Rome"), False)
    assert (scan.kind, scan.width, scan.mean, scan.scale) == ("block", 3, (0.5,) * 3, (0.1, 0.2, 0.4))
    assert (schema.label.name, schema.label.classes) == ("diagnosis", ("ill", "well"))
    assert schema.clip == pytest.approx(0.8 * math.sqrt(5))
    assert PublicCoordinates(schema).width == schema.value_width + 2
    assert fb.Schema.from_json(schema.to_json()).fingerprint == schema.fingerprint


FILE = """
label = "diagnosis"
classes = ["ill", "well"]

[columns.admitted]
date = true
centre = 1970-01-31
scale = 20
may_lack = true

[columns.size]
ordered = ["S", "M", "L"]

[columns.smoker]
boolean = true

[columns.letter]
encoder = "hashing:16"
centre = 0
scale = 0.25
"""


def test_how_cells_are_read_is_written_down_too():
    schema = hand_written_schema(FILE)
    assert {name: column.kind for name, column in schema.reading.items()} == {
        "admitted": "date", "size": "ordered", "smoker": "boolean", "letter": "text"
    }  # fmt: skip
    assert schema.reading["size"].levels == ("S", "M", "L")
    assert schema.reading["letter"].encoder == "hashing:16"
    assert schema.reading["letter"].digest
    admitted, month, weekday, size, smoker, letter = schema.columns
    assert (admitted.mean, admitted.may_lack, month.name, weekday.width) == ((30.0,), True, "admitted (month)", 2)
    assert (size.kind, size.mean, smoker.kind, letter.kind, letter.width) == ("numeric", (1.0,), "boolean", "block", 16)
    assert hand_written_schema(CLINIC).reading["scan"].kind == "vector"
    assert {name: column.kind for name, column in hand_written_schema(CLINIC).reading.items()} == {
        "age": "number", "city": "category", "scan": "vector"
    }  # fmt: skip


def test_levels_of_equal_frequency_have_the_length_that_the_clip_norm_assumes():
    size = hand_written_schema(FILE).columns[3]
    places = (np.arange(3) - size.mean[0]) / size.scale[0]
    assert (places**2).mean() == pytest.approx(1.0)
    angles = np.linspace(0, 2 * np.pi, 13)[:-1]
    month = hand_written_schema(FILE).columns[1]
    assert ((np.column_stack([np.cos(angles), np.sin(angles)]) / month.scale) ** 2).mean() == pytest.approx(1.0)


def test_rows_that_are_as_written_have_the_length_that_the_clip_norm_assumes():
    schema = hand_written_schema(CLINIC)
    rng = np.random.default_rng(0)
    table = fb.Table(
        {
            "age": rng.normal(55, 15, 4000),
            "city": rng.choice(["Rome", "Oslo"], 4000),
            "scan": rng.normal(0.5, [0.1, 0.2, 0.4], (4000, 3)),
        },
        rng.choice(["ill", "well"], 4000),
    )
    lengths = (PublicCoordinates(schema).points(table) ** 2).sum(axis=0)
    assert 0.8 * math.sqrt(lengths.mean()) == pytest.approx(schema.clip, rel=0.02)


def test_a_number_as_label_and_random_directions():
    text = "label_centre = 200\nlabel_scale = 50\ncoordinates = 2\nseed = 7\nclip = 3\n" + CLINIC.replace(
        'classes = ["ill", "well"]', ""
    )
    schema = hand_written_schema(text)
    assert (schema.label.kind, schema.label.mean, schema.label.scale, schema.clip) == ("number", 200.0, 50.0, 3.0)
    assert schema.value_width == 3  # two directions and what they leave out
    assert hand_written_schema(text).fingerprint == schema.fingerprint
    assert hand_written_schema(text.replace("seed = 7", "seed = 8")).fingerprint != schema.fingerprint


def written(old: str, new: str) -> str:
    assert old in CLINIC
    return CLINIC.replace(old, new)


@pytest.mark.parametrize(
    ("text", "code", "place", "key"),
    [
        (written("scale = 15.0", "scale = 0"), "value", "column 'age'", "scale"),
        (written("scale = 15.0", "scale = inf"), "value", "column 'age'", "scale"),
        (written("scale = 15.0", ""), "lacks", "column 'age'", "scale"),
        (written("centre = 55", ""), "lacks", "column 'age'", "centre"),
        (written("centre = 55", "center = 55"), "unknown-key", "column 'age'", "center"),
        (written("may_lack = true", 'may_lack = "yes"'), "value", "column 'age'", "may_lack"),
        (written('levels = ["Rome", "Oslo"]', "levels = []"), "value", "column 'city'", "levels"),
        (written('levels = ["Rome", "Oslo"]', 'levels = ["Rome", "Rome"]'), "value", "column 'city'", "levels"),
        (written('levels = ["Rome", "Oslo"]', "levels = [1.5]"), "value", "column 'city'", "levels"),
        (written("[0.1, 0.2, 0.4]", "[0.1, 0.2]"), "value", "column 'scan'", "scale"),
        (written("[0.1, 0.2, 0.4]", "[0.1, 0.2, -1]"), "value", "column 'scan'", "scale"),
        (written("width = 3", "width = 0"), "value", "column 'scan'", "width"),
        (FILE.replace("date = true", 'date = "yes"'), "value", "column 'admitted'", "date"),
        (FILE.replace("scale = 20", "spread = 20"), "unknown-key", "column 'admitted'", "spread"),
        (FILE.replace('["S", "M", "L"]', '["S"]'), "value", "column 'size'", "ordered"),
        (FILE.replace("boolean = true", "boolean = 1"), "value", "column 'smoker'", "boolean"),
        (FILE.replace("hashing:16", "magic"), "value", "column 'letter'", "encoder"),
        (written('label = "diagnosis"', ""), "value", "the schema", "label"),
        (written('classes = ["ill", "well"]', 'classes = ["ill"]'), "value", "the schema", "classes"),
        (written('classes = ["ill", "well"]', ""), "lacks", "the schema", "classes"),
        ("clip = -1\n" + CLINIC, "value", "the schema", "clip"),
        ("coordinates = 99\n" + CLINIC, "value", "the schema", "coordinates"),
        ("klip = 3\n" + CLINIC, "unknown-key", "the schema", "klip"),
        ("columns = 3\nlabel = 'y'\nclasses = ['a', 'b']", "lacks", "the schema", "[columns.NAME]"),
        ("label = 'y'\nclasses = ['a', 'b']\n[columns]\nage = 3", "value", "the schema", "columns.age"),
    ],
)
def test_mistakes_are_named_with_their_column(text, code, place, key):
    with pytest.raises(SchemaError, check=coded(f"schema.written-{code}")) as caught:
        hand_written_schema(text)
    assert (caught.value.private["place"], caught.value.private["key"]) == (place, key)


def test_what_is_not_toml_says_so():
    with pytest.raises(SchemaError, check=coded("schema.written-not-toml")):
        hand_written_schema("label = ")


def test_a_column_that_another_one_becomes_cannot_be_written():
    with pytest.raises(SchemaError, check=coded("schema.impossible")):
        hand_written_schema(FILE.replace("[columns.smoker]", '[columns."admitted (month)"]'))
