"""Whose each row is: read from a column that becomes no feature, and carried by whatever holds the rows."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.columns import Number
from fedbary.data.corruptions import duplicate_rows
from fedbary.data.files import read, read_any_cells, read_clients
from fedbary.data.options import ReadOptions
from fedbary.data.persons import REPEATS, person_codes
from fedbary.data.reading import Reading
from fedbary.data.table import changed, concat
from fedbary.errors import DataError

PATIENTS = ["p7", "p3", "p7", None, "p3", " ", "p7 ", "p9"]
CODES = [0, 1, 0, 2, 1, 3, 0, 4]
FRAME = pd.DataFrame(
    {"patient": PATIENTS, "age": [31.5, 45, 52, 60, 28, 33, 41, 39], "label": ["ill", "well"] * 4},
)
BY_PATIENT = ReadOptions(person="patient")
AGE = Reading({"age": Number()})


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "jsonl", "xlsx"])
def test_every_format_knows_whose_a_row_is_and_empty_cells_are_persons_of_their_own(tmp_path, suffix):
    file = tmp_path / f"ward.{suffix}"
    write = {
        "csv": lambda: FRAME.to_csv(file, index=False),
        "parquet": lambda: FRAME.to_parquet(file),
        "feather": lambda: FRAME.to_feather(file),
        "jsonl": lambda: FRAME.to_json(file, orient="records", lines=True),
        "xlsx": lambda: FRAME.to_excel(file, index=False),
    }
    write[suffix]()
    tables = [read(file, "label", options=BY_PATIENT), read_any_cells(file, "label", options=BY_PATIENT, reading=AGE)]
    if suffix in ("parquet", "feather"):
        tables.append(read(file, "label", options=BY_PATIENT, stored=True))
    for table in tables:
        assert table.column_names == ("age",)
        assert table.persons.dtype == np.int64
        assert table.persons.tolist() == CODES
        assert "patient" not in table.to_frame()
        assert "patient" not in table.reading


@pytest.mark.parametrize("cells", [["007", "7", "8", "007"], ["007", "x", "8", "007"]])
def test_no_row_decides_who_another_one_is(tmp_path, cells):
    file = tmp_path / "ward.csv"
    FRAME.head(4).assign(patient=cells).to_csv(file, index=False)
    for table in (read(file, "label", options=BY_PATIENT), read_any_cells(file, "label", options=BY_PATIENT)):
        assert table.persons.tolist() == [0, 1, 2, 0]


def test_whatever_is_in_a_cell_names_somebody():
    cells = [7, 7.0, "7 ", [1, 2], [1, 2], b"id", 10**5000, 10**5000]
    frame = FRAME.assign(patient=pd.Series(cells, dtype=object))
    assert fb.Table.from_frame(frame, options=BY_PATIENT).persons.tolist() == [0, 0, 0, 1, 1, 2, 3, 3]


def test_an_index_may_say_it(tmp_path):
    frame = FRAME.dropna().set_index("patient")
    assert fb.Table.from_frame(frame, options=BY_PATIENT).persons.tolist() == [0, 1, 0, 1, 2, 0, 3]
    frame.to_parquet(tmp_path / "ward.parquet")
    stored = read(tmp_path / "ward.parquet", "label", options=BY_PATIENT, stored=True)
    private = read_any_cells(tmp_path / "ward.parquet", "label", options=BY_PATIENT, reading=AGE)
    assert stored.persons.tolist() == private.persons.tolist() == [0, 1, 0, 1, 2, 0, 3]


def test_a_column_that_is_not_there_is_named_with_the_nearest_one(tmp_path):
    wrong = ReadOptions(person="patients")
    FRAME.to_csv(tmp_path / "ward.csv", index=False)
    FRAME.to_parquet(tmp_path / "ward.parquet")
    for make in (
        lambda: fb.Table.from_frame(FRAME, options=wrong),
        lambda: fb.Table.from_arrays(FRAME[["patient", "age"]], FRAME["label"], options=wrong),
        lambda: fb.Table.from_arrays([[1.0, 2.0]], [0], options=wrong),
        lambda: read(tmp_path / "ward.csv", "label", options=wrong),
        lambda: read(tmp_path / "ward.parquet", "label", options=wrong, stored=True),
        lambda: read_any_cells(tmp_path / "ward.csv", "label", options=wrong),
    ):
        with pytest.raises(DataError, check=coded("data.no-such-column")):
            make()
    with pytest.raises(DataError, match=r"no person column 'patients' \(did you mean 'patient'\?\)"):
        fb.Table.from_frame(FRAME, options=wrong)
    with pytest.raises(DataError, check=coded("data.label-is-id")):
        fb.Table.from_frame(FRAME, options=ReadOptions(person="label"))


def test_a_pair_of_a_frame_and_labels_and_named_arrays_have_persons_too():
    table = fb.Table.from_arrays(FRAME[["patient", "age"]], [*FRAME["label"][:7], None], options=BY_PATIENT)
    assert (table.persons.tolist(), table.column_names) == (CODES[:7], ("age",))
    table = fb.Table.from_arrays([[9, 1.5], [9, 2.5]], [0, 1], columns=["patient", "age"], options=BY_PATIENT)
    assert (table.persons.tolist(), table.column_names) == ([0, 0], ("age",))


def test_rows_without_a_label_take_their_persons_along(tmp_path):
    frame = FRAME.assign(label=["ill", None, "well", "ill", "ill", "well", "", "well"])
    frame.to_parquet(tmp_path / "ward.parquet")
    for table in (
        fb.Table.from_frame(frame, options=BY_PATIENT),
        read(tmp_path / "ward.parquet", "label", options=BY_PATIENT, stored=True),
    ):
        assert table.persons.tolist() == [0, 0, 1, 2, 3, 4]


def test_persons_go_where_their_rows_go(tmp_path):
    FRAME.to_parquet(tmp_path / "ward.parquet")
    codes = np.array(CODES)
    for table in (
        fb.Table.from_frame(FRAME, options=BY_PATIENT),
        read(tmp_path / "ward.parquet", "label", options=BY_PATIENT, stored=True),
    ):
        assert table.take([6, 1, 1]).persons.tolist() == codes[[6, 1, 1]].tolist()
        assert table.take(codes == 0).persons.tolist() == [0, 0, 0]
        assert [part.persons.tolist() for part in table.batches(3)] == [CODES[:3], CODES[3:6], CODES[6:]]
        assert table.replace(origin="ward").persons.tolist() == CODES
        assert table.head().persons.tolist() == CODES[: len(table.head())]
        assert concat(table.batches(3)).persons.tolist() == CODES
        assert changed(table, lambda part: part.replace(columns={"x": part.columns["age"]})).persons.tolist() == CODES
    longer = duplicate_rows(fb.Table.from_frame(FRAME, options=BY_PATIENT), 0.5, seed=0)[0]
    assert len(longer.persons) == len(longer)
    assert concat([table.take([0]), table.take([0]).replace(persons=None)]).persons is None


def test_a_table_takes_names_or_numbers_of_persons():
    table = fb.Table({"age": [1.0, 2.0, 3.0]}, [0, 1, 1], persons=["ann", "ben", "ann"])
    assert table.persons.tolist() == [0, 1, 0]
    assert table.replace(persons=[4, 4, 2]).persons.tolist() == [4, 4, 2]
    with pytest.raises(DataError, check=coded("data.lengths-differ")):
        table.replace(persons=[1, 2])
    with pytest.raises(DataError, check=coded("data.persons-shape")):
        table.replace(persons=[[1], [2], [3]])


def test_clients_of_one_file_have_their_own_persons(tmp_path):
    FRAME.assign(site=["oslo", "bergen"] * 4).to_csv(tmp_path / "all.csv", index=False)
    options = ReadOptions(person="patient", client_column="site")
    tables = read_clients(tmp_path / "all.csv", "label", options=options)
    assert {name: table.persons.tolist() for name, table in tables.items()} == {
        "oslo": [0, 0, 1, 0],
        "bergen": [0, 1, 2, 3],
    }


@pytest.mark.parametrize("name", ["patient_id", "ID", "CustomerNumber"])
@pytest.mark.parametrize("cells", [[f"P{row // 3:03}" for row in range(60)], list(range(20)) * 3])
def test_names_that_repeat_are_a_warning_to_the_owner(tmp_path, name, cells):
    frame = pd.DataFrame({name: cells, "age": np.arange(60) + 0.5, "label": [0, 1] * 30})
    frame.to_parquet(tmp_path / "ward.parquet")
    for table in (fb.Table.from_frame(frame), read(tmp_path / "ward.parquet", "label", stored=True)):
        note = next(note for note in table.notes if note.code == REPEATS)
        assert note.facts == {"column": name, "most": 3}
    named = fb.Table.from_frame(frame, options=ReadOptions(person=name))
    assert REPEATS not in [note.code for note in named.notes]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("patient_id", list(range(60))),  # nobody twice
        ("ward_id", [1, 2, 3] * 20),  # too few to be persons
        ("visit_id", [row // 3 for row in range(60)]),  # no person
        ("age", [row // 3 for row in range(60)]),
    ],
)
def test_what_does_not_repeat_or_names_no_persons_is_none(name, cells):
    frame = pd.DataFrame({name: cells, "x": np.arange(60) + 0.5, "label": [0, 1] * 30})
    assert REPEATS not in [note.code for note in fb.Table.from_frame(frame).notes]


def test_a_reference_may_know_its_persons_or_not():
    clients = {"a": FRAME, "b": FRAME}
    for reference in (FRAME, FRAME.drop(columns="patient")):
        result = fb.value(clients, reference, options=BY_PATIENT, seed=0)
        assert all(outcome.ok for outcome in result.outcomes.values())


@pytest.mark.parametrize("first", [True, 1, 1.0, "1", b"1", [1], None, 2**70])
def test_no_object_decides_who_another_row_is(first):
    """True and 1 are one key in Python: a first True made 1 and "1" two persons, and so did a list."""
    others = [1, "1", 1.0, " 1 ", True, "True"]
    alone, after = (person_codes(pd.Series([one, *others], dtype=object))[1:] for one in ("x", first))
    np.testing.assert_array_equal(alone[:, None] == alone, after[:, None] == after)
