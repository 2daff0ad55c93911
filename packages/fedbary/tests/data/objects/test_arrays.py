"""Arrays that are not plain ones: sparse, mapped from a file, or of another library."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist

import fedbary as fb
from codes import coded
from fedbary.data.objects import as_table, check_types
from fedbary.data.sparse import PROJECTED, WIDEST, projection
from fedbary.errors import DataError

LABELS = np.arange(60) % 2
PLACES = [
    [87, 250, 295, 502, 589, 757, 880, 926],
    [97, 211, 260, 507, 573, 663, 780, 981],
    [42, 195, 306, 470, 619, 646, 821, 934],
]
SIGNS = [[1, -1, 1, -1, 1, -1, 1, -1], [1, -1, 1, -1, 1, 1, 1, 1], [1, -1, -1, -1, 1, 1, -1, -1]]


def matrix(width, rows=60, density=0.02):
    return scipy.sparse.random(rows, width, density=density, random_state=0, format="csr")


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array", "dok_matrix", "lil_array", "bsr_matrix"])
def test_a_sparse_matrix_is_the_table_of_its_dense_one(kind):
    X = matrix(40)
    held = getattr(scipy.sparse, kind)(X)
    for table in (as_table((held, LABELS)), fb.Table.from_arrays(held, LABELS)):
        np.testing.assert_array_equal(table.columns["x"], X.toarray())
        assert table.notes == ()


def test_columns_of_a_sparse_matrix_can_be_named():
    table = fb.Table.from_arrays(matrix(2), LABELS, columns=["cough", "fever"])
    assert table.column_names == ("cough", "fever")


def test_a_wide_sparse_matrix_is_projected_with_a_note_and_keeps_its_distances():
    X = matrix(50_000, density=0.002)
    table = as_table((X, LABELS))
    block = table.columns["x"]
    assert block.shape == (60, PROJECTED)
    assert table.notes == (fb.Note("data.sparse-projected", {"columns": 50_000, "width": PROJECTED}),)
    ratio = pdist(block) / pdist(X.toarray())
    assert 0.85 < ratio.min() <= ratio.max() < 1.15
    assert ratio.mean() == pytest.approx(1, abs=0.01)


def test_the_projection_depends_on_the_width_alone_and_on_no_other_row():
    X = matrix(WIDEST + 1)
    whole, part = as_table((X, LABELS)), as_table((X[:7], LABELS[:7]))
    np.testing.assert_allclose(part.columns["x"], whole.columns["x"][:7], rtol=0, atol=1e-15)
    assert as_table((matrix(WIDEST), LABELS)).columns["x"].shape == (60, WIDEST)


def test_the_projection_is_the_same_for_ever():
    """Owners of one federation may run different versions of everything: these numbers may never move."""
    first = projection(3).toarray()
    assert [np.flatnonzero(row).tolist() for row in first] == PLACES
    assert [np.sign(row[row != 0]).astype(int).tolist() for row in first] == SIGNS
    np.testing.assert_array_equal(projection(5000).toarray()[:3], first)


def test_sparse_clients_are_valued():
    X, y = matrix(200, rows=120), np.arange(120) % 2
    result = fb.value({"a": (X[:60], y[:60]), "b": (X[30:90], y[30:90])}, (X[60:], y[60:]), seed=0)
    assert not result.failed


def test_a_sparse_matrix_of_something_else_is_refused():
    with pytest.raises(DataError, check=coded("data.array-kind")):
        as_table((scipy.sparse.eye(60, dtype=complex), LABELS))
    with pytest.raises(DataError, check=coded("data.array-lengths-differ")):
        as_table((matrix(3), [0, 1]))


def test_a_file_that_is_mapped_stays_in_its_file(tmp_path):
    written = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", dtype=np.float32, shape=(20_000, 256))
    written[:] = np.random.default_rng(0).normal(size=written.shape)
    written.flush()
    X, y = np.load(tmp_path / "x.npy", mmap_mode="r"), np.arange(20_000) % 2
    tracemalloc.start()
    table = as_table((X, y))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 10
    assert np.shares_memory(table.columns["x"], X)
    np.testing.assert_array_equal(table.take([5, 7]).columns["x"], X[[5, 7]])


def test_tensors_of_torch_are_arrays_even_those_of_a_training():
    torch = pytest.importorskip("torch")
    X, y = torch.arange(12.0).reshape(6, 2).requires_grad_(), torch.tensor([0, 1] * 3)
    table = as_table((X, y))
    np.testing.assert_array_equal(table.columns["x"], np.arange(12.0).reshape(6, 2))
    assert table.labels.tolist() == [0, 1] * 3
    half = as_table((torch.ones(3, 2, dtype=torch.bfloat16), [0, 1, 0]))
    assert half.columns["x"].tolist() == [[1.0, 1.0]] * 3


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (7, "data.not-a-table"),
        (({"age": [31]}, [0]), "data.not-features"),
        ((7, [0]), "data.not-features"),
        (([[1.0]], "outcome"), "data.not-labels"),
    ],
)
def test_a_type_that_holds_no_rows_is_named_before_anything_is_read(data, code):
    with pytest.raises(DataError, match="client 'south': ", check=coded(code)):
        check_types({"north": ([[1.0]], [0]), "south": data})
