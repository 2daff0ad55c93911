"""Keys of rows: what they depend on, that parts make no difference, and that digests of stored results stay."""

import hashlib

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import fedbary as fb
from fedbary.data.table import Table
from fedbary.space.row_identity import content_digest, different_rows, hashed_rows, order_digest, row_keys

TABLE = Table(
    {
        "size": [1.5, -0.0, np.nan, 1.5],
        "ill": [True, False, True, True],
        "job": np.array(["cook", None, "nurse's", "cook"], dtype=object),
        "x": np.arange(8, dtype=np.float32).reshape(4, 2) // 6,
    },
    ["a", "b", "a", "a"],
)


def key(numbers, label, texts, seed=0):
    content = np.array(numbers, dtype=np.float64).tobytes() + repr((label, texts)).encode()
    return hashlib.blake2b(content, key=str(seed).encode(), digest_size=16).digest()


def test_a_key_is_a_keyed_hash_of_numbers_label_and_texts():
    expected = [
        key([1.0, 1.5, 0.0, 0.0], "a", ["cook"], 3),
        key([0.0, 0.0, 0.0, 0.0], "b", [None], 3),
        key([1.0, np.nan, 0.0, 0.0], "a", ["nurse's"], 3),
        key([1.0, 1.5, 1.0, 1.0], "a", ["cook"], 3),
    ]

    assert row_keys(TABLE, seed=3).tolist() == [one.rstrip(b"\0") for one in expected]


def test_digests_are_those_of_results_that_were_stored_before():
    assert content_digest(TABLE) == "90ed6c472b7b407f55b8fbb74e1c5d10d7fddc8953b2701a4602263b591ea033"
    assert order_digest(TABLE) == "4a5e356620c42008bd7f522cc3cd2bf825ab7fa0ae192266034729b9963451d9"
    assert content_digest(TABLE.take([3, 1, 0, 2])) == content_digest(TABLE)
    assert order_digest(TABLE.take([3, 1, 0, 2])) != order_digest(TABLE)


def test_a_stored_table_has_the_keys_of_its_rows(tmp_path):
    TABLE.to_frame(blocks="lists").to_parquet(tmp_path / "t.parquet")
    stored = fb.read(tmp_path / "t.parquet", "label", stored=True)

    assert row_keys(stored).tolist() == row_keys(TABLE).tolist()
    assert order_digest(stored) == order_digest(TABLE)


def test_parts_make_no_difference():
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=70_000), "b": rng.choice(["x", "y"], 70_000).astype(object)}
    table = Table(columns, rng.integers(0, 2, 70_000))

    keys = row_keys(table)

    assert keys[[0, 5000, 69_999]].tolist() == row_keys(table.take([0, 5000, 69_999])).tolist()


def test_different_rows_come_once_in_their_order_and_a_table_of_them_is_not_copied(tmp_path):
    twice = TABLE.take([2, 0, 0, 1, 2]).replace(ids=np.arange(5))
    stored = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1.5, 2.5], "label": ["x", "y"]}).to_parquet(stored)
    table = fb.read(stored, "label", stored=True)

    assert row_keys(different_rows(twice)).tolist() == row_keys(TABLE.take([2, 0, 1])).tolist()
    assert different_rows(twice).ids is None
    assert different_rows(table).columns is table.columns


@given(arrays.arrays(np.float64, st.tuples(st.integers(0, 30), st.integers(1, 4)), elements=st.sampled_from(
    [0.0, -0.0, 1.0, 2.0, 2.0**-1074, 1.0 + 2**-52, -1.0, 1e300, 3.0]
)))  # fmt: skip
def test_hashes_of_rows_are_equal_where_rows_are(matrix):
    hashes = hashed_rows(matrix)

    equal = (matrix[:, None] == matrix[None]).all(axis=2)
    assert np.array_equal(hashes[:, None] == hashes[None], equal)


def test_many_near_rows_of_few_bits_have_hashes_of_their_own():
    grid = np.stack(np.meshgrid(*[np.arange(40.0)] * 3), axis=-1).reshape(-1, 3)

    assert len(np.unique(hashed_rows(grid))) == len(grid)
    assert len(np.unique(hashed_rows(grid.astype(np.float32)))) == len(grid)
