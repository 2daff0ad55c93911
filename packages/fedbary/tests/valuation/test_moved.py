"""Tables moved to where the others' values lie."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError
from fedbary.valuation.cleaning import moved_cells
from fedbary.valuation.rows import RowFacts


def test_what_a_site_effect_did_is_undone_and_all_else_stays():
    rng = np.random.default_rng(0)
    age, scan = rng.normal(50, 10, 30), rng.normal(size=(30, 3))
    age[4] = np.nan
    columns = {"age": 1.25 * age + 8.0, "kind": np.array(["a", None] * 15, dtype=object), "scan": scan}
    table = fb.Table(columns, np.arange(30) % 2)
    there = fb.moved(table, RowFacts(moving={"age": (-6.4, 0.8)}))
    np.testing.assert_allclose(there.columns["age"], age)
    np.testing.assert_array_equal(there.columns["scan"], scan)
    assert there.columns["kind"].tolist() == columns["kind"].tolist()
    assert there.labels.tolist() == table.labels.tolist()


def test_cells_keep_how_they_are_written_and_whole_numbers_may_become_others():
    cells = pd.DataFrame({"n": [1, 2], "text": ["1,50", "2,50"], "y": ["a", "b"]})
    table = fb.Table({"n": [1.0, 2.0], "text": [1.5, 2.5]}, ["a", "b"], label_name="y")
    there = moved_cells(cells, table, RowFacts(moving={"n": (0.5, 1.0)}))
    assert there.to_dict("list") == {"n": [1.5, 2.5], "text": ["1,50", "2,50"], "y": ["a", "b"]}


@pytest.mark.parametrize("name", ["size", "x", "x[2]", "kind", "age[0]"])
def test_a_table_without_such_numbers_is_refused(name):
    columns = {"age": [1.0, 2.0], "x": np.ones((2, 2)), "kind": np.array(["a", "b"], dtype=object)}
    with pytest.raises(DataError, check=coded("valuation.values-of-other-rows")):
        fb.moved(fb.Table(columns, ["a", "b"]), RowFacts(moving={name: (0.0, 1.0)}))
