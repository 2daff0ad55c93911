"""Partitions are disjoint, have the counts the paper gives, and say which rows they spoilt."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codes import coded, parameter
from fedbary.data.partitions import by_size, dirichlet, paper_case
from fedbary.data.table import Table
from fedbary.errors import SettingsError

QUICK = settings(max_examples=25, deadline=None)


def classed(rows=1000, classes=10):
    """A table in which the only feature tells the row, so that rows can be traced."""
    return Table({"x": np.arange(rows)}, np.arange(rows) % classes, ids=np.arange(rows))


def quantity(rows=100):
    return Table({"x": np.arange(rows)}, np.arange(rows) / 7)


def counts(partition, classes=10):
    return np.array([np.bincount(c.labels, minlength=classes) for c in partition.clients.values()])


def assert_disjoint(partition, table):
    ids = np.concatenate([client.row_names for client in partition.clients.values()])
    assert len(set(ids.tolist())) == len(ids)
    assert set(ids.tolist()) <= set(table.row_names.tolist())
    assert all(len(partition.changed[name]) == len(client) for name, client in partition.clients.items())


def test_case_1_gives_everyone_the_same():
    partition = paper_case(classed(), 1)
    assert list(partition.clients) == [f"client_{i}" for i in range(1, 6)]
    assert (counts(partition) == 20).all()
    assert not any(mask.any() for mask in partition.changed.values())


def test_case_2_gives_each_client_80_percent_of_two_classes():
    expected = np.full((5, 10), 5)
    for client in range(5):
        expected[client, [2 * client, 2 * client + 1]] = 80
    np.testing.assert_array_equal(counts(paper_case(classed(), 2)), expected)


def test_case_2_with_classes_of_several_owners_and_of_none():
    # Three clients, four classes of 40: clients 1 and 3 share 80 % of classes 0 and 1, and client 2, which
    # would have 80 rows, is cut to the 40 of the others.
    dealt = counts(paper_case(classed(160, 4), 2, clients=3), 4)
    np.testing.assert_array_equal(dealt[[0, 2]], [[16, 16, 4, 4]] * 2)
    assert dealt[1].sum() == 40
    assert dealt[1, 2:].min() > dealt[1, :2].max()
    # Two clients, six classes: nobody owns classes 4 and 5, so they are divided evenly.
    np.testing.assert_array_equal(
        counts(paper_case(classed(600, 6), 2, clients=2), 6),
        [[80, 80, 20, 20, 50, 50], [20, 20, 80, 80, 50, 50]],
    )


def test_case_3_gives_10_to_30_percent():
    np.testing.assert_array_equal(
        counts(paper_case(classed(), 3)), np.outer([10, 15, 20, 25, 30], np.ones(10, dtype=int))
    )


def test_case_4_flips_0_to_20_percent():
    table = classed()
    partition = paper_case(table, 4)
    assert [int(mask.sum()) for mask in partition.changed.values()] == [0, 10, 20, 30, 40]
    for name, client in partition.clients.items():
        true = table.labels[client.row_names]
        np.testing.assert_array_equal(client.labels != true, partition.changed[name])


@pytest.mark.parametrize(("noise", "changed"), [("rows", [0, 10, 20, 30, 40]), ("amplitude", [0, 200, 200, 200, 200])])
def test_case_5_has_two_readings(noise, changed):
    partition = paper_case(classed(), 5, noise=noise)
    assert [int(mask.sum()) for mask in partition.changed.values()] == changed
    for name, client in partition.clients.items():
        np.testing.assert_array_equal(client.columns["x"] != client.row_names, partition.changed[name])


def test_case_5_amplitude_is_a_share_of_the_standard_deviation():
    clients = paper_case(classed(20000), 5, noise="amplitude").clients
    deviations = [np.std(c.columns["x"] - c.row_names) / np.std(c.row_names) for c in clients.values()]
    np.testing.assert_allclose(deviations, [0, 0.05, 0.10, 0.15, 0.20], rtol=0.05)


@QUICK
@given(
    case=st.integers(1, 5),
    clients=st.integers(1, 12),
    classes=st.integers(2, 7),
    per_class=st.integers(60, 90),
    seed=st.integers(0, 10**6),
)
def test_every_case_is_disjoint_and_of_the_size_it_promises(case, clients, classes, per_class, seed):
    table = classed(per_class * classes, classes)
    partition = paper_case(table, case, clients=clients, seed=seed)
    assert_disjoint(partition, table)
    sizes = [len(client) for client in partition.clients.values()]
    if case == 3:
        assert sizes == sorted(sizes)
    else:
        assert len(set(sizes)) == 1
    if case in (1, 4, 5):
        assert sizes[0] == per_class // clients * classes


def test_unbalanced_classes_are_cut_to_the_smallest():
    table = Table({"x": np.arange(110)}, np.array([0] * 100 + [1] * 10))
    assert (counts(paper_case(table, 1), 2) == 2).all()


def test_rows_bounds_the_total():
    assert (counts(paper_case(classed(), 1, rows=500)) == 10).all()
    with pytest.raises(SettingsError, check=parameter("rows")):
        paper_case(classed(), 1, rows=2000)
    with pytest.raises(SettingsError, check=coded("data.too-few-for-case")):
        paper_case(classed(), 1, rows=10)


def test_the_seed_decides():
    one, same, other = (paper_case(classed(), 1, seed=s).clients["client_1"].row_names for s in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_quantity_is_divided_at_random_or_not_at_all():
    assert [len(c) for c in paper_case(quantity(), 1).clients.values()] == [20] * 5
    assert [len(c) for c in paper_case(quantity(), 3).clients.values()] == [10, 15, 20, 25, 30]
    assert sum(m.sum() for m in paper_case(quantity(), 5).changed.values()) == 10
    for split in (lambda t: paper_case(t, 2), lambda t: paper_case(t, 4), lambda t: dirichlet(t, 3, 1.0)):
        with pytest.raises(SettingsError, check=coded("data.needs-classes")):
            split(quantity())


@QUICK
@given(clients=st.integers(1, 8), alpha=st.sampled_from([0.01, 0.5, 100.0]), seed=st.integers(0, 10**6))
def test_dirichlet_of_equal_clients(clients, alpha, seed):
    table = classed(200, 4)
    partition = dirichlet(table, clients, alpha, rows=25, seed=seed)
    assert_disjoint(partition, table)
    assert [len(client) for client in partition.clients.values()] == [25] * clients


@QUICK
@given(clients=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_classic_dirichlet_uses_every_row_once(clients, seed):
    table = classed(300, 5)
    partition = dirichlet(table, clients, 1.0, seed=seed, min_rows=3)
    assert_disjoint(partition, table)
    sizes = [len(client) for client in partition.clients.values()]
    assert sum(sizes) == 300
    assert min(sizes) >= 3


def test_small_alpha_means_few_classes():
    table = classed(10000, 10)
    few, many = (counts(dirichlet(table, 10, alpha, rows=200)) for alpha in (0.01, 1000.0))
    assert few.max(axis=1).mean() > 120
    assert many.max(axis=1).mean() < 60


def test_what_dirichlet_refuses():
    with pytest.raises(SettingsError, check=parameter("alpha")):
        dirichlet(classed(), 5, 0)
    with pytest.raises(SettingsError, check=coded("data.clients-too-large")):
        dirichlet(classed(), 5, 1.0, rows=300)
    with pytest.raises(SettingsError, check=coded("data.dirichlet-left-a-client-empty")):
        dirichlet(classed(100, 2), 50, 0.001)
    with pytest.raises(SettingsError, check=coded("data.one-class")):
        dirichlet(classed(10, 1), 2, 1.0)
    with pytest.raises(SettingsError, check=parameter("clients")):
        dirichlet(classed(), 0, 1.0)


@QUICK
@given(sizes=st.lists(st.integers(1, 20), min_size=1, max_size=12), seed=st.integers(0, 10**6))
def test_by_size_gives_exactly_these_sizes(sizes, seed):
    table = classed(240)
    partition = by_size(table, sizes, seed=seed)
    assert_disjoint(partition, table)
    assert [len(client) for client in partition.clients.values()] == sizes
    assert next(iter(partition.clients)) == ("client_01" if len(sizes) >= 10 else "client_1")


def test_by_size_takes_shares_and_quantities():
    assert [len(c) for c in by_size(quantity(), [0.1, 0.9]).clients.values()] == [10, 90]
    with pytest.raises(SettingsError, check=coded("data.shares-above-one")):
        by_size(quantity(), [0.7, 0.7])
    with pytest.raises(SettingsError, check=coded("data.sizes-do-not-fit")):
        by_size(quantity(), [60, 60])
    with pytest.raises(SettingsError, check=coded("data.sizes-do-not-fit")):
        by_size(quantity(), [0, 5])


def test_what_paper_case_refuses():
    with pytest.raises(SettingsError, check=parameter("case")):
        paper_case(classed(), 6)
    with pytest.raises(SettingsError, check=parameter("noise")):
        paper_case(classed(), 5, noise="loud")
