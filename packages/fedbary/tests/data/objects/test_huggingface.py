"""Data sets of Hugging Face: made here, nothing is fetched."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.data import adapters
from fedbary.data.objects import as_table
from fedbary.errors import DataError

datasets = pytest.importorskip("datasets")

NAMES = ["benign", "malignant"]


def rows(count=60, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.normal(60, 10, count).tolist(),
        "ward": rng.choice(["north", "south"], count).tolist(),
        "scan": rng.normal(size=(count, 4)).tolist(),
        "diagnosis": rng.integers(0, 2, count).tolist(),
    }


def dataset(count=60, seed=0):
    features = datasets.Features(
        {
            "age": datasets.Value("float64"),
            "ward": datasets.Value("string"),
            "scan": datasets.Sequence(datasets.Value("float64"), length=4),
            "diagnosis": datasets.ClassLabel(names=NAMES),
        }
    )
    return datasets.Dataset.from_dict(rows(count, seed), features=features)


def expected(count=60, seed=0):
    frame = pd.DataFrame(rows(count, seed))
    return fb.Table.from_frame(frame.assign(diagnosis=[NAMES[code] for code in frame["diagnosis"]]), "diagnosis")


def assert_same(table, other):
    assert table.column_names == other.column_names
    for name, column in other.columns.items():
        np.testing.assert_array_equal(table.columns[name], column)
    assert table.labels.tolist() == other.labels.tolist()


def test_a_data_set_is_the_table_of_its_frame_and_classes_have_names():
    assert_same(as_table(dataset(), label="diagnosis"), expected())


def test_the_only_feature_of_classes_is_the_label_where_nobody_names_one():
    table = as_table(dataset())
    assert table.label_name == "diagnosis"
    assert fb.Note("data.label-guessed", {"column": "diagnosis"}) in table.notes
    assert as_table(dataset(), label="diagnosis").notes == as_table(dataset(), likely="diagnosis").notes == ()
    with pytest.raises(DataError, check=coded("data.frame-without-label")):
        as_table(dataset().remove_columns("diagnosis"))


def test_rows_that_were_selected_or_shuffled_come_as_they_were():
    chosen = dataset().select([7, 3, 41])
    assert_same(as_table(chosen), expected().take([7, 3, 41]))


def test_a_stream_is_the_table_of_its_data_set_and_may_not_be_endless(monkeypatch):
    assert_same(as_table(dataset().to_iterable_dataset()), expected())
    monkeypatch.setattr(adapters, "MOST_STREAMED", 59)
    with pytest.raises(DataError, check=coded("data.stream-too-long")):
        as_table(dataset().to_iterable_dataset())
    assert len(as_table(dataset().to_iterable_dataset().take(59))) == 59


def test_a_stream_that_does_not_know_its_features_is_read_too():
    known = [{"age": 31.5, "label": "a"}, {"age": 4.25, "label": "b"}]
    table = as_table(datasets.IterableDataset.from_generator(lambda: iter(known)))
    assert table.columns["age"].tolist() == [31.5, 4.25]
    assert table.labels.tolist() == ["a", "b"]


def test_a_class_that_is_unknown_is_a_missing_label():
    features = datasets.Features({"age": datasets.Value("float32"), "y": datasets.ClassLabel(names=NAMES)})
    held = datasets.Dataset.from_dict({"age": [1.5, 2.5, 3.5], "y": [0, -1, None]}, features=features)
    table = as_table(held)
    assert (len(table), table.row_names.tolist()) == (1, [0])
    assert [note.facts["count"] for note in table.notes if note.code == "data.rows-without-label"] == [2]


def test_arrays_of_several_dimensions_are_blocks():
    features = datasets.Features({"x": datasets.Array2D((2, 3), "float32"), "label": datasets.Value("int64")})
    arrays = np.arange(24.0).reshape(4, 2, 3)
    held = datasets.Dataset.from_dict({"x": arrays.tolist(), "label": [0, 1, 0, 1]}, features=features)
    np.testing.assert_array_equal(as_table(held).columns["x"], arrays.reshape(4, 6))


def test_of_several_splits_clients_have_train_and_the_reference_what_validates():
    splits = datasets.DatasetDict(train=dataset(60), validation=dataset(80, 1), test=dataset(90, 2))
    assert len(as_table(splits)) == 60
    guessed = fb.Note("data.split-guessed", {"split": "train", "splits": ("train", "validation", "test")})
    assert as_table(splits, label="diagnosis").notes == (guessed,)
    result = fb.value({"a": splits}, splits, seed=0)
    again = fb.value({"a": splits["train"]}, splits["validation"], seed=0)
    assert result.clients["distance"].tolist() == again.clients["distance"].tolist()
    assert len(as_table(datasets.DatasetDict(everything=dataset()))) == 60
    with pytest.raises(DataError, check=coded("data.which-split")) as raised:
        as_table(datasets.DatasetDict(spring=dataset(), autumn=dataset()))
    assert raised.value.private["splits"] == ("spring", "autumn")


def test_the_splits_of_a_dictionary_may_be_the_clients():
    sites = datasets.DatasetDict(north=dataset(60, 1), south=dataset(60, 2))
    result = fb.value(sites, dataset(90, 3), seed=0)
    assert result.clients["client"].tolist() == ["north", "south"]
    assert not result.failed


def test_columns_of_a_data_set_may_be_x_and_y():
    held = dataset()
    table = as_table((held["scan"], held["diagnosis"]))
    np.testing.assert_array_equal(table.columns["x"], expected().columns["scan"])
    assert table.labels.tolist() == rows()["diagnosis"]
    pair = as_table((held.remove_columns("diagnosis"), held["diagnosis"]))
    assert pair.column_names == expected().column_names
