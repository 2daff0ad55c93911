"""Cells, names and copies: what one is by itself, and how often it must come to be told."""

import numpy as np

import fedbary as fb
from fedbary.notes import Note
from fedbary.space.columns import category_places, cell_numbers
from fedbary.space.description import without_names
from fedbary.space.encode import column_widths, missing_coordinates
from fedbary.space.labels import class_positions, named_classes
from fedbary.space.notes import enough_different, is_plausible, lacking_notes
from fedbary.space.row_identity import first_and_group, hashed_rows, place_of_first


def test_a_cell_says_a_number_or_nothing():
    cells = np.array(["60", "unknown", None, "True"], dtype=object)
    np.testing.assert_array_equal(cell_numbers(cells), [60.0, np.nan, np.nan, 1.0])


def test_classes_and_categories_have_places_by_their_names():
    codes, names = named_classes(np.array([3.0, 1.0, 3.0]))
    assert (codes.tolist(), names.tolist()) == ([1, 0, 1], ["1", "3"])
    assert class_positions(["b", "c"], ("a", "b")).tolist() == [1, -1]
    assert category_places(np.array([1.0, np.nan, 7.0]), ("1", "2"), other=2).tolist() == [0, -1, 2]


def test_coordinates_of_missing_cells_are_known():
    schema = fb.fit_schema(fb.Table({"age": [30.0, 50.0], "city": ["Rome", "Oslo"]}, ["a", "b"]), min_group=1)
    table = fb.Table({"age": [np.nan, 40.0], "city": [None, "Rome"]}, ["a", "b"])
    assert missing_coordinates(table, schema).tolist() == [[True] * 4, [False] * 4]


def test_copies_have_the_place_of_the_first():
    assert place_of_first(fb.Table({"age": [52, 31, 52]}, ["ill"] * 3)).tolist() == [0, 1, 0]
    first, group = first_and_group(hashed_rows(np.array([[5.0], [3.0], [5.0], [4.0]])))
    assert (first.tolist(), group.tolist()) == ([0, 1, 3], [0, 1, 0, 2])


def test_columns_that_name_rows_are_left_out_and_blocks_have_a_width():
    wards = fb.Table({"age": range(300), "who": [f"No. {row}" for row in range(300)]}, ["a", "b"] * 150)
    assert without_names(wards).column_names == ("age",)
    assert column_widths(fb.Table({"age": [51, 38], "scan": np.zeros((2, 3))}, ["a", "b"])) == {"age": None, "scan": 3}


def test_notes_of_others_are_such_as_we_make():
    copies = [Note("schema.many-copies", {"share": share}) for share in (0.5, 7)]
    assert list(map(is_plausible, copies)) == [True, False]
    lacking = lacking_notes({"age": 0.31, "city": 0.01})
    assert [note.facts for note in lacking] == [{"column": "age", "share": 0.31}]


def test_copies_are_no_group():
    table = fb.Table({"age": [30.0, 50.0, 50.0]}, ["a"] * 3)

    def old(rows):
        yield "old", rows.columns["age"] > 40.0

    for copies, enough in (([0, 1, 1], False), ([0, 1, 2], True)):
        assert enough_different(table, np.array(copies), old, least=2) == {"old": enough}
