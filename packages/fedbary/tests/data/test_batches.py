"""A table in parts is the table."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import parameter
from fedbary.data.table import concat
from fedbary.errors import SettingsError

ROWS = 100
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "patient": [f"p{row}" for row in range(ROWS)],
        "age": np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.normal(50, 9, ROWS)),
        "job": RNG.choice(["cook", "nurse", "clerk"], ROWS),
        "smokes": RNG.choice([True, False], ROWS),
        "label": RNG.choice(["yes", "no"], ROWS),
    }
)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_a_table_is_cut_into_parts(rows):
    table = fb.Table.from_frame(FRAME, "label", id="patient")
    parts = list(table.batches(rows))
    assert [len(part) for part in parts[:-1]] == [rows] * (len(parts) - 1)
    assert np.shares_memory(parts[0].columns["age"], table.columns["age"])
    joined = concat(parts)
    assert joined.column_names == table.column_names
    for name in table.columns:
        np.testing.assert_array_equal(joined.columns[name], table.columns[name])
    assert joined.labels.tolist() == table.labels.tolist()
    assert joined.row_names.tolist() == table.row_names.tolist()


def test_parts_need_rows():
    with pytest.raises(SettingsError, check=parameter("rows")):
        list(fb.Table({"x": [1.0]}, [0]).batches(0))
