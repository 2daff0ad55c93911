"""Partitions of flwr-datasets as clients; the data sets are made here, nothing is fetched."""

import numpy as np
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import DataError, SettingsError

datasets = pytest.importorskip("datasets")
flwr_datasets = pytest.importorskip("flwr_datasets")
from flwr_datasets import partitioner as by  # noqa: E402


def dataset(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    features = datasets.Features(
        {
            "age": datasets.Value("float64"),
            "ward": datasets.Value("string"),
            "site": datasets.Value("string"),
            "outcome": datasets.ClassLabel(names=["ill", "well"]),
        }
    )
    cells = {
        "age": rng.normal(50, 9, rows).tolist(),
        "ward": rng.choice(["east", "west"], rows).tolist(),
        "site": [["north", "south", "island"][row % 3] for row in range(rows)],
        "outcome": rng.integers(0, 2, rows).tolist(),
    }
    return datasets.Dataset.from_dict(cells, features=features)


def divided(partitioner, rows=None):
    partitioner.dataset = dataset() if rows is None else rows
    return partitioner


def test_partitions_are_clients_with_the_rows_that_flower_gives_them():
    partitioner = divided(by.DirichletPartitioner(3, "outcome", alpha=5.0, min_partition_size=5, seed=1))
    partition = fb.partitions.of_flower(partitioner)
    assert list(partition.clients) == ["client_1", "client_2", "client_3"]
    for place, table in enumerate(partition.clients.values()):
        rows = partitioner.load_partition(place)
        np.testing.assert_array_equal(table.columns["age"], np.array(rows["age"]))
        assert table.labels.tolist() == [["ill", "well"][code] for code in rows["outcome"]]
    assert not any(mask.any() for mask in partition.changed.values())
    assert not fb.value(partition.clients, dataset(seed=5), seed=0).failed


def test_natural_ids_name_the_clients_and_are_no_feature():
    clients = fb.partitions.of_flower(divided(by.NaturalIdPartitioner("site")), label="outcome").clients
    assert {name: len(table) for name, table in clients.items()} == {"island": 40, "north": 40, "south": 40}
    assert clients["north"].column_names == ("age", "ward")


def test_columns_are_read_alike_even_where_one_partition_would_read_them_otherwise():
    """The first partition sees whole numbers only, the second texts: by itself each would say another kind."""
    codes = [str(k % 7) for k in range(30)] + [f"{k % 7}b" for k in range(30)]
    rows = datasets.Dataset.from_dict({"code": codes, "age": np.linspace(0, 1, 60).tolist(), "label": [0, 1] * 30})
    clients = fb.partitions.of_flower(divided(by.LinearPartitioner(2), rows)).clients
    assert len({table.columns["code"].dtype for table in clients.values()}) == 1
    assert len({str(table.reading) for table in clients.values()}) == 1


def test_a_federated_data_set_in_a_folder(tmp_path):
    dataset().to_parquet(tmp_path / "train.parquet")
    dataset(60, seed=1).to_parquet(tmp_path / "test.parquet")
    federated = flwr_datasets.FederatedDataset(
        dataset=str(tmp_path), partitioners={"train": by.IidPartitioner(4)}, cache_dir=str(tmp_path / "cache")
    )
    clients = fb.partitions.of_flower(federated, label="outcome", options=fb.ReadOptions(drop=("site",))).clients
    assert [len(table) for table in clients.values()] == [30] * 4
    assert clients["client_1"].column_names == ("age", "ward")
    with pytest.raises(SettingsError, check=parameter("split")):
        fb.partitions.of_flower(federated, split="test")


def test_other_things_are_refused():
    with pytest.raises(SettingsError, check=parameter("source")):
        fb.partitions.of_flower(dataset())
    with pytest.raises(DataError, check=coded("data.object-unreadable")):
        fb.partitions.of_flower(by.IidPartitioner(2))
    with pytest.raises(DataError, check=coded("data.no-such-column")):
        fb.partitions.of_flower(divided(by.IidPartitioner(2)), label="result")
