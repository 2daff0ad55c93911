"""Data sets and loaders of torch."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import fedbary as fb
from codes import coded
from fedbary.data import adapters
from fedbary.data.objects import as_table
from fedbary.errors import DataError

torch = pytest.importorskip("torch")
from torch.utils import data as td  # noqa: E402

X = torch.arange(60.0).reshape(20, 3)
Y = torch.tensor([0, 1] * 10)


class Items(td.Dataset):
    """A data set as people write them: items that somebody else's code makes."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, place):
        return self.items[place]


class Stream(td.IterableDataset):
    def __iter__(self):
        return iter(zip(X, Y, strict=True))


def pairs(features=X, labels=Y):
    return Items(list(zip(features, labels, strict=True)))


WHOLE = {
    "tensors": td.TensorDataset(X, Y),
    "items": pairs(),
    "plain labels": pairs(labels=Y.tolist()),
    "arrays": pairs(features=X.numpy()),
    "joined": td.ConcatDataset([td.Subset(pairs(), range(7)), td.Subset(pairs(), range(7, 20))]),
    "a stream": Stream(),
    "a loader": td.DataLoader(td.TensorDataset(X, Y), batch_size=8),
    "a loader of items": td.DataLoader(pairs(), batch_size=8),
    "a loader that shuffles": td.DataLoader(td.TensorDataset(X, Y), batch_size=8, shuffle=True),
    "a loader that drops the last rows": td.DataLoader(pairs(), batch_size=8, shuffle=True, drop_last=True),
    "a loader of a stream": td.DataLoader(Stream(), batch_size=8),
    "a loader of batches that somebody chose": td.DataLoader(pairs(), batch_sampler=[range(9), range(9, 20)]),
    "a loader without batches": td.DataLoader(pairs(), batch_size=None),
    "a loader that collates in its own way": td.DataLoader(
        pairs(), batch_size=8, collate_fn=lambda rows: (torch.stack([x for x, _ in rows]), [int(y) for _, y in rows])
    ),
}


@pytest.mark.parametrize("form", WHOLE)
def test_all_forms_of_the_same_rows_are_the_same_table(form):
    table = as_table(WHOLE[form])
    np.testing.assert_array_equal(table.columns["x"], X.numpy())
    assert table.labels.tolist() == Y.tolist()


@pytest.mark.parametrize("whole", [td.TensorDataset(X, Y), pairs(), td.Subset(td.TensorDataset(X, Y), range(20))])
def test_a_part_of_a_data_set_has_its_rows(whole):
    table = as_table(td.Subset(whole, [7, 3, 11]))
    np.testing.assert_array_equal(table.columns["x"], X[[7, 3, 11]].numpy())
    assert table.labels.tolist() == Y[[7, 3, 11]].tolist()


def test_a_loader_that_chooses_rows_gives_those():
    chosen = as_table(td.DataLoader(td.TensorDataset(X, Y), batch_size=2, sampler=td.SubsetRandomSampler([4, 5, 6])))
    assert sorted(chosen.columns["x"][:, 0].tolist()) == X[4:7, 0].tolist()
    assert (
        len(as_table(td.DataLoader(pairs(), sampler=td.RandomSampler(pairs(), replacement=True, num_samples=33)))) == 33
    )


def test_items_may_be_dictionaries():
    items = Items([{"age": x[0], "scan": x, "ward": "north", "label": y} for x, y in zip(X, Y, strict=True)])
    frame = pd.DataFrame({"age": X[:, 0].tolist(), "scan": X.tolist(), "ward": "north", "label": Y.tolist()})
    expected = fb.Table.from_frame(frame)
    for held in (items, td.DataLoader(items, batch_sampler=[range(11), range(11, 20)])):
        table = as_table(held)
        for name, column in expected.columns.items():
            np.testing.assert_array_equal(table.columns[name], column)
        assert table.labels.tolist() == Y.tolist()


def test_single_numbers_are_one_feature():
    for features in (X[:, 0], X[:, 0].tolist()):
        np.testing.assert_array_equal(as_table(pairs(features)).columns["x"], X[:, :1].numpy())


def test_colours_of_images_come_last_as_in_every_other_form():
    images = np.random.default_rng(0).random((20, 8, 8, 3), dtype=np.float32)
    first = torch.tensor(np.moveaxis(images, 3, 1))
    for held in (td.TensorDataset(first, Y), pairs(first), (first, Y)):
        np.testing.assert_array_equal(as_table(held).columns["x"], images.reshape(20, -1))


def test_images_of_pillow_and_texts_are_encoded():
    images = [Image.fromarray(np.full((9, 9), 3 * k, np.uint8)) for k in range(20)]
    assert as_table(pairs(images)).columns["image"][:, 0].tolist() == [3.0 * k for k in range(20)]
    assert as_table(pairs([f"cough since {k} days" for k in range(20)])).column_names == ("text",)


@pytest.mark.parametrize(
    ("held", "code"),
    [
        (Items([(x, y, 1.0) for x, y in zip(X, Y, strict=True)]), "data.torch-items"),
        (td.TensorDataset(X), "data.torch-items"),
        (td.TensorDataset(X, Y, Y), "data.torch-items"),
        (Items(list(X)), "data.torch-items"),
        (Items([]), "data.no-rows"),
        (pairs([torch.zeros(k % 3 + 1) for k in range(20)]), "data.ragged"),
        (pairs(labels=[None] * 20), "data.labels-missing"),
    ],
)
def test_items_that_are_no_features_with_a_label_are_refused(held, code):
    with pytest.raises(DataError, check=coded(code)):
        as_table(held)


def test_what_a_data_set_raises_is_the_reason_of_its_client_alone():
    class Damaged(Items):
        def __getitem__(self, place):
            raise OSError(f"scan {place} is unreadable")

    result = fb.value({"a": pairs(), "b": Damaged([1])}, td.TensorDataset(X, Y), seed=0)
    assert list(result.failed) == ["b"]
    note = result.outcomes["b"].notes[0]
    assert (note.code, note.facts["why"]) == ("data.object-unreadable", "scan 0 is unreadable")


def test_a_stream_may_not_be_endless(monkeypatch):
    monkeypatch.setattr(adapters, "MOST_STREAMED", 19)
    for held in (Stream(), td.DataLoader(Stream(), batch_size=8)):
        with pytest.raises(DataError, check=coded("data.stream-too-long")):
            as_table(held)
    assert len(as_table(pairs())) == 20


def test_a_federation_of_data_sets_and_loaders_is_valued(digits):
    held = [td.TensorDataset(torch.tensor(part.columns["x"]), torch.tensor(part.labels))
            for part in fb.partitions.by_size(digits, [200, 200, 300], seed=0).clients.values()]  # fmt: skip
    result = fb.value({"a": held[0], "b": td.DataLoader(held[1], batch_size=32, shuffle=True)}, held[2], seed=0)
    assert not result.failed
    parts = fb.partitions.by_size(digits, [200, 200, 300], seed=0).clients
    again = fb.value({"a": parts["client_1"], "b": parts["client_2"]}, parts["client_3"], seed=0)
    assert result.clients["distance"].tolist() == again.clients["distance"].tolist()
