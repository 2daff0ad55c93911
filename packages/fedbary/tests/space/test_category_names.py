"""One function says what a category is called: of levels and classes, with ε and without."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.columns import Ordered
from fedbary.columns.category import category_name
from fedbary.data.files import table_of_any_cells
from fedbary.data.reading import Reading
from fedbary.errors import FedbaryError, SchemaError
from fedbary.space.columns import CategorySpec, ColumnSpec, category_places
from fedbary.space.encode import row_points
from fedbary.space.hand_written import hand_written_schema
from fedbary.space.labels import LabelSpec
from fedbary.space.schema import Schema

CELLS = st.one_of(
    st.sampled_from(["007", "7", "7.0", 7, 7.0, "1e3", "1000", 1000.0, "1", " 1.0", 1, True, "TRUE", "+1", "0.5", 0.5]),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=4).filter(
        lambda text: text.strip() and "," not in text
    ),
)


def test_what_is_one_category_and_what_is_two():
    one = (1, 1.0, np.float32(1), True, np.bool_(True), "1", " 1.0", "TRUE")
    assert {category_name(cell) for cell in one} == {"1"}
    two = ("007", "7", "1e3", "1000", "0.50", "0.5", "true?", "1.0.0", "+1")
    assert len({category_name(cell) for cell in two}) == len(two)


@given(st.lists(CELLS, min_size=3, max_size=6), st.lists(CELLS, min_size=1, max_size=6))
def test_a_row_has_the_same_class_and_level_with_epsilon_and_without(known, cells):
    names = tuple(sorted({category_name(cell) for cell in known}))
    spec = CategorySpec("c", categories=names)
    schema = Schema((spec,), LabelSpec("label", "classes", "onehot", names), missing="indicate")
    frame = pd.DataFrame({"c": pd.Series(cells, dtype=object), "label": pd.Series(cells, dtype=object)})
    private = table_of_any_cells(frame, "label", options=fb.ReadOptions(), reading=schema.whole_reading)
    exact = fb.Table({"c": private.columns["c"]}, private.labels)
    expected = [names.index(name) if (name := category_name(cell)) in names else len(names) for cell in cells]
    assert category_places(private.labels, names, other=len(names)).tolist() == expected
    cloud = fb.embed(exact, schema)
    np.testing.assert_allclose(row_points(private, schema).T, cloud.points[cloud.point_of_row])


@pytest.mark.parametrize("names", [("1", "1.0"), ("TRUE", "true"), ("a", " a"), ("x", "1", "True")])
def test_schemas_in_which_two_names_call_one_category_are_refused(names):
    label = LabelSpec("label", "classes", "onehot", ("0", "1"))
    refused = pytest.raises(SchemaError, check=coded("schema.two-spellings"))
    with refused:
        Schema((CategorySpec("c", categories=names),), label)
    with refused:
        Schema((ColumnSpec("c", mean=(0.0,), scale=(1.0,), middle=(0.0,)),),
               LabelSpec("label", "classes", "onehot", names))  # fmt: skip
    with refused:
        Schema((ColumnSpec("c", mean=(0.0,), scale=(1.0,), middle=(0.0,)),), label,
               reading=Reading({"c": Ordered(levels=names)}))  # fmt: skip
    whole = Schema((CategorySpec("c", categories=("1", "x")),), label).to_json()
    with pytest.raises(SchemaError, check=coded("schema.two-spellings")) as raised:
        Schema.from_json(whole.replace('"categories":["1","x"]', '"categories":["1","1.00"]'))
    assert "column 'c' has '1' and '1.00'" in str(raised.value)


def test_a_schema_that_is_written_by_hand_calls_categories_as_rows_do(tmp_path):
    written = 'label = "y"\nclasses = [true, false]\n[columns.c]\nlevels = ["1.0", "007"]\n'
    schema = hand_written_schema(written)
    assert (schema.label.classes, schema.columns[0].categories) == (("1", "0"), ("007", "1"))
    written = 'label = "y"\nclasses = ["a", "b"]\n[columns.c]\nlevels = ["1.0", "1"]\n'
    with pytest.raises(SchemaError, check=coded("schema.two-spellings")):
        hand_written_schema(written)
    with pytest.raises(FedbaryError):
        fb.read(tmp_path / "x.csv", "y", options=fb.ReadOptions(ordered=("c=1<1.0",)))


def ward(rows, seed):
    rng = np.random.default_rng(seed)
    label = rng.choice(["007", "7"], rows)
    return pd.DataFrame({"a": rng.normal(4.0 * (label == "7"), 1.0), "b": rng.normal(size=rows), "label": label})


@pytest.mark.parametrize("protocol", ["sketch", "cards"])
def test_clean_clients_with_classes_007_and_7_are_as_good_with_epsilon_as_without(protocol):
    """They were one class with ε: two clean clients were left out, with more than half of their labels wrong."""
    if protocol == "cards":
        pytest.importorskip("dp_accounting")
    make = fb.Sketch if protocol == "sketch" else fb.Cards
    more = {} if protocol == "sketch" else {"delta": 1e-6}
    clients = {"north": ward(600, 1), "south": ward(600, 2)}
    found = fb.value(clients, ward(600, 3), protocol=make(epsilon=1.0, **more), seed=0)
    assert (found.clients["wrong_labels"] < 0.2).all(), found.clients.T.to_string()
