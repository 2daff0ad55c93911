"""How columns are read is stated, bounded, part of the schema, and a conflict is named with both sides."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.columns import BY_NAME, Category, Date, Identifier, Image, Number, Ordered, Text, Vector
from fedbary.data.reading import Reading
from fedbary.errors import ProtocolError, SchemaError
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.exact_card import exact_card
from fedbary.protocols.cards.placing import agreed_schema
from fedbary.space.description import Description, describe, stated_reading
from fedbary.space.fit import agree

DAYS = np.arange(40.0)
CIRCLE = np.column_stack([np.cos(DAYS), np.sin(DAYS)])


def table(zip_code="number", *, reading=True, extra=(), **kinds):
    """Forty rows whose columns are of the kinds that they were read as."""
    texts = np.array([str(int(day) % 4) for day in DAYS], dtype=object)
    columns = {"age": DAYS, "zip": texts if zip_code == "category" else DAYS % 4, **dict(extra)}
    read = {"age": Number(), "zip": BY_NAME[zip_code]()} | kinds
    return fb.Table(columns, ["ill", "well"] * 20, reading=Reading(read) if reading else Reading())


def described(**tables):
    return {name: describe(one, fb.Space()) for name, one in tables.items()}


def test_a_schema_says_how_columns_are_read_and_its_fingerprint_depends_on_it():
    schema = fb.fit_schema(table())
    assert schema.reading == Reading({"age": Number(), "zip": Number()})
    again = fb.Schema.from_json(schema.to_json())
    assert (again.reading, again.fingerprint) == (schema.reading, schema.fingerprint)
    levels = Ordered(levels=("S", "M"))
    other = replace(schema, reading=Reading({**schema.reading, "zip": levels}))
    assert other.fingerprint != schema.fingerprint
    backwards = replace(schema, reading=Reading(dict(reversed(list(schema.reading.items())))))
    assert backwards.fingerprint == schema.fingerprint


def test_only_columns_that_are_still_as_they_were_read_are_stated():
    identifier, gone = Identifier(), Number()
    assert list(stated_reading(table(id=identifier, gone=gone))) == ["age", "zip"]
    changed = table().replace(columns={**table().columns, "zip": table("category").columns["zip"]})
    assert list(stated_reading(changed)) == ["age"]
    assert list(stated_reading(table(age=Date()))) == ["zip"]
    dated = table(extra={"age (month)": CIRCLE, "age (weekday)": CIRCLE}.items(), age=Date())
    assert stated_reading(dated)["age"].kind == "date"


@pytest.mark.parametrize(
    "reading",
    [
        {"zip": Category()},
        {"zip": Identifier()},
        {"age": Date()},
        {"no such column": Number()},
        {"zip": Text(encoder="hashing")},
    ],
)
def test_a_reading_that_makes_other_columns_is_refused_wherever_it_comes_from(reading):
    odd = Reading(reading)
    schema = replace(fb.fit_schema(table()), reading=odd)
    with pytest.raises(SchemaError, check=coded("schema.impossible")):
        fb.Schema.from_json(schema.to_json())
    description = replace(describe(table(), fb.Space()), reading=odd)
    with pytest.raises(SchemaError, check=coded("schema.description-unreadable")):
        Description.from_json(description.to_json())
    with pytest.raises(ProtocolError, check=coded("protocols.not-a-card")):
        Card.from_parts(*replace(exact_card(table()), reading=odd).to_parts())


@pytest.mark.parametrize(
    "odd", [None, 7, "", "[]", '{"age": {"kind": "magic"}}', '{"age": {"kind": "number", "x": 1}}']
)
def test_what_is_no_reading_is_refused(odd):
    content = json.loads(describe(table(), fb.Space()).to_json())
    with pytest.raises(SchemaError, check=coded("schema.description-unreadable")):
        Description.from_json(json.dumps({**content, "reading": odd}))
    header, arrays = exact_card(table()).to_parts()
    with pytest.raises(ProtocolError, check=coded("protocols.not-a-card")):
        Card.from_parts(json.dumps({**json.loads(header), "reading": odd}), arrays)
    written = json.loads(fb.fit_schema(table()).to_json())
    with pytest.raises(SchemaError, check=coded("schema.not-a-schema")):
        fb.Schema.from_json(json.dumps({**written, "reading": odd}))


def test_descriptions_and_cards_carry_the_reading():
    description = describe(table(), fb.Space())
    assert Description.from_json(description.to_json()) == description
    card = Card.from_parts(*exact_card(table()).to_parts())
    assert card.reading == description.reading == stated_reading(table())


def test_a_column_that_one_client_reads_in_another_way_is_left_out_with_both_sides_named():
    found = described(a=table(), b=table(), c=table(), odd=table("category"))
    schema, out = agree(found, fb.Space())
    assert not out
    assert (list(schema.reading), [column.name for column in schema.columns]) == (["age"], ["age"])
    (note,) = schema.notes
    facts = note.facts
    assert (note.code, facts["column"], facts["otherwise"], facts["own"], facts["agreed"]) == (
        "schema.column-left-out", "zip", ("odd",), "categories", "numbers",
    )  # fmt: skip
    assert (facts["name"], facts["value"]) == ("categories", "zip")
    assert "odd" not in str(note.redacted())


def test_who_has_another_table_is_refused_and_takes_no_column_from_the_others():
    alike = {name: table(extra={"size": DAYS % 5, "dose": DAYS % 3}.items()) for name in "abc"}
    other = fb.Table({"age": DAYS, "crop": DAYS % 7}, ["ill", "well"] * 20)
    schema, out = agree(described(**alike, other=other), fb.Space())
    assert {name: (note.code, note.facts["missing"]) for name, note in out.items()} == {
        "other": ("schema.columns-unlike-the-others", ("dose", "size", "zip"))
    }
    assert (len(schema.columns), schema.notes) == (4, ())


def test_who_is_refused_has_no_say_in_how_columns_are_read():
    blocks = {name: fb.Table({"x": CIRCLE}, ["ill", "well"] * 20) for name in "abc"}
    texts = np.array(["left", "right"] * 20, dtype=object)
    odd = fb.Table({"x": texts}, ["ill", "well"] * 20, reading=Reading({"x": Category()}))
    schema, out = agree(described(**blocks, odd=odd), fb.Space())
    assert (list(out), schema.reading) == (["odd"], Reading())
    assert fb.Schema.from_json(schema.to_json()).fingerprint == schema.fingerprint


def test_clients_that_lack_different_columns_cannot_take_all_of_them():
    columns = {name: DAYS % (3 + place) for place, name in enumerate("pqrs")}
    labels = ["ill", "well"] * 20
    whole = {f"whole{place}": fb.Table(columns, labels) for place in range(5)}
    lacking = {f"no {one}": fb.Table({n: c for n, c in columns.items() if n != one}, labels) for one in columns}
    schema, out = agree(described(**whole, **lacking), fb.Space())
    assert [column.name for column in schema.columns] == ["r", "s"]
    assert sorted(out) == ["no r", "no s"]


def test_a_date_is_left_out_with_its_month_and_weekday():
    dated = table(extra={"age (month)": CIRCLE, "age (weekday)": CIRCLE}.items(), age=Date())
    schema, out = agree(described(a=dated, b=dated, c=table()), fb.Space())
    assert (out, [column.name for column in schema.columns]) == ({}, ["zip"])
    assert [note.facts["column"] for note in schema.notes] == ["age"]


def test_the_same_columns_may_mean_something_else():
    """Numbers of levels are numbers, and texts by another encoder vectors: only what was read tells."""
    sizes = Ordered(levels=("S", "M", "L", "XL"))
    other = Ordered(levels=("XL", "L", "M", "S"))
    found = described(a=table(zip=sizes), b=table(zip=sizes), c=table(zip=other), d=table())
    schema, out = agree(found, fb.Space())
    assert (out, [note.facts["otherwise"] for note in schema.notes]) == ({}, [("c", "d")])
    block = {"note": CIRCLE}.items()
    notes = [Text("hashing:2", digest) for digest in ("ab12", "ab12", "cd34")]
    texts = described(**{name: table(extra=block, note=note) for name, note in zip("abc", notes, strict=True)})
    schema, out = agree(texts, fb.Space())
    (note,) = schema.notes
    assert (out, note.facts["column"], note.facts["otherwise"]) == ({}, "note", ("c",))
    assert "cd34" in note.facts["own"]
    assert "ab12" in note.facts["agreed"]


def test_who_says_nothing_of_its_reading_is_in():
    schema, out = agree(described(a=table(), b=table(reading=False)), fb.Space())
    assert not out
    assert schema.reading["zip"].kind == "number"


def test_cards_differ_from_the_reference_even_where_most_of_them_do_not_differ_from_each_other():
    cards = {name: exact_card(table("category")) for name in "abc"} | {"d": exact_card(table())}
    schema, out = agreed_schema(cards, fb.Space(), reference=exact_card(table()))
    assert (out, [note.facts["otherwise"] for note in schema.notes]) == ({}, [("a", "b", "c")])
    schema, out = agreed_schema(cards, fb.Space())
    assert (out, [note.facts["otherwise"] for note in schema.notes]) == ({}, [("d",)])


@pytest.mark.parametrize("protocol", ["sketch", "interpolation"])
def test_a_table_that_was_read_in_another_way_than_the_reference_is_refused_with_both_sides(protocol):
    clients = {"a": table(), "b": table(), "odd": table("category")}
    result = fb.value(clients, table(), protocol=protocol, seed=0)
    assert list(result.failed) == ["odd"]
    (note,) = result.outcomes["odd"].notes
    assert (note.code, note.facts["own"], note.facts["agreed"]) == ("schema.read-otherwise", "categories", "numbers")


def test_an_identifier_here_is_a_number_there():
    left_out = table(reading=False).replace(columns={"age": DAYS}, reading=Reading({"zip": Identifier()}))
    with pytest.raises(SchemaError, check=coded("schema.read-otherwise")) as caught:
        fb.embed(left_out, fb.fit_schema(table()))
    assert (caught.value.public["name"], caught.value.public["value"]) == ("numeric", "zip")


@given(st.text(max_size=30))
def test_names_in_a_reading_must_be_those_of_columns(name):
    schema = replace(fb.fit_schema(table()), reading=Reading({name: Number()}))
    if name in ("age", "zip"):
        assert fb.Schema.from_json(schema.to_json()).reading == schema.reading
        return
    with pytest.raises(SchemaError, check=coded("schema.impossible", "schema.not-a-schema")):
        fb.Schema.from_json(schema.to_json())


@pytest.mark.parametrize(
    "column",
    [
        Vector(width=10**6),
        Text(encoder="hashing:4096"),
        Image(encoder="pixels:256x256x3"),
        Text(encoder="pixels:1x1x1"),
        Text(encoder="hashing:99999999"),
    ],
)
def test_a_reading_makes_no_more_numbers_than_its_schema_has_places_for(column):
    schema = fb.fit_schema(table(extra={"x": CIRCLE}.items()))
    fitting = replace(schema, reading=Reading({"x": Vector(width=2)}))
    assert fb.Schema.from_json(fitting.to_json()).fingerprint == fitting.fingerprint
    with pytest.raises(SchemaError, check=coded("schema.impossible")):
        fb.Schema.from_json(replace(schema, reading=Reading({"x": column})).to_json())
