"""Readings side by side: differences name both sides and the option, and an agreement is no matter of arrival."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.columns import BY_NAME, Boolean, Category, Date, Dropped, Identifier, Image, Number, Ordered, Text, Vector
from fedbary.data.files import read_alike
from fedbary.data.reading import Difference, Reading, agreed_reading, differences
from fedbary.errors import DataError

NUMBER, CATEGORY, DATE = Number(), Category(), Date()
SIZES = Ordered(levels=("S", "M", "L"))
encoders, digests = st.sampled_from(["", "hashing", "pixels"]), st.sampled_from(["", "ab12", "cd34"])
columns = st.one_of(
    st.sampled_from([NUMBER, CATEGORY, DATE, Boolean(), Identifier(), Dropped(), Number(","), Date("dmy")]),
    st.builds(Ordered, st.lists(st.text("SML<=1", max_size=3), max_size=3).map(tuple)),
    st.builds(Text, encoders, digests),
    st.builds(Image, encoders, digests),
    st.builds(Vector, st.integers(0, 3)),
)
readings = st.dictionaries(st.sampled_from("abcd"), columns, max_size=4).map(Reading)


@pytest.mark.parametrize(
    ("own", "agreed", "option"),
    [
        (CATEGORY, NUMBER, ("categories", "zip")),
        (NUMBER, CATEGORY, ("categories", "zip")),
        (NUMBER, DATE, ("dates", "zip")),
        (Identifier(), NUMBER, ("numeric", "zip")),
        (NUMBER, SIZES, ("ordered", "zip=S<M<L")),
        (Text(encoder="hashing"), Text(encoder="words:a"), ("encoder", "words:a")),
        (Text("hashing", "ab"), Text("hashing", "cd"), (None, None)),
        (Vector(), Image(encoder="pixels"), ("encoder", "pixels")),
    ],
)
def test_a_difference_names_the_option_that_ends_it(own, agreed, option):
    facts = Difference("zip", own, agreed).facts()
    assert (facts["name"], facts["value"]) == option
    assert facts["own"] != facts["agreed"]


def test_booleans_and_numbers_mean_the_same():
    assert not differences(Reading({"paid": NUMBER}), Reading({"paid": Boolean()}))
    assert agreed_reading([Reading({"paid": NUMBER}), Reading({"paid": Boolean()})])["paid"] in (
        NUMBER,
        Boolean(),
    )


@given(st.lists(readings, min_size=1, max_size=4))
def test_an_agreement_does_not_depend_on_who_comes_first(found):
    agreed = {repr(sorted(agreed_reading(order).items())) for order in itertools.permutations(found)}
    assert len(agreed) == 1


@given(readings)
def test_nobody_differs_from_itself_or_from_its_json(reading):
    assert not differences(reading, reading)
    assert agreed_reading([reading]) == reading
    assert not differences(reading, Reading.from_json(reading.to_json()))


@given(readings, readings)
def test_two_that_differ_do_so_both_ways(one, other):
    there = [found.column for found in differences(one, other)]
    assert sorted(there) == sorted(found.column for found in differences(other, one))


def reader(cells, guess, calls=None):
    """A file with one column, read as agreed, or by its own guess; numbers take no other texts."""

    def read(agreed):
        kind = guess if agreed is None else agreed["bed"].kind
        if calls is not None:
            calls.append(kind)
        try:
            values = [str(cell) if kind == "category" else float(cell) for cell in cells]
        except ValueError as error:
            raise DataError("data.no-rows") from error
        return fb.Table({"bed": values}, ["a"] * len(cells), reading=Reading({"bed": BY_NAME[kind]()}))

    return read


def test_who_differs_is_read_again_as_most_are():
    calls = []
    readers = {
        "north": reader(["1", "2"], "number"),
        "south": reader(["3", "4"], "number"),
        "west": reader(["5", "6"], "category", calls),
    }
    tables = read_alike(readers)
    assert {name: table.reading["bed"].kind for name, table in tables.items()} == dict.fromkeys(readers, "number")
    assert calls == ["category", "number"]


def test_what_cannot_be_read_as_agreed_is_that_clients_error():
    readers = {name: reader(["1"], "number") for name in "ab"} | {"odd": reader(["1b"], "category")}
    found = read_alike(readers, "collect")
    assert isinstance(found["odd"], DataError)
    assert isinstance(found["a"], fb.Table)
    with pytest.raises(DataError, check=coded("data.no-rows")):
        read_alike(readers)


def test_a_file_whose_guesses_fail_is_read_as_the_others_are():
    readers = {"a": reader(["x"], "category"), "b": reader(["2b"], "number")}
    assert read_alike(readers)["b"].columns["bed"].tolist() == ["2b"]


def test_what_one_client_has_and_all_leave_out_is_no_error_of_the_others(tmp_path):
    for name, ward in {"a": ",ward", "b": "", "c": ""}.items():
        cell = ",east" if ward else ""
        rows = [f"{age},{'no' if age % 2 else 'yes'}{cell}" for age in range(30, 36)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"age,ill{ward}", *rows]))
    tables = fb.read_clients(tmp_path, "ill", options=fb.ReadOptions(drop=("ward",)))
    assert {tuple(table.columns) for table in tables.values()} == {("age",)}
    with pytest.raises(DataError, check=coded("data.option-without-column")):
        fb.read_clients(tmp_path, "ill", options=fb.ReadOptions(drop=("bed",)))
