"""Images and texts in columns of Hugging Face's data sets are encoded like lists of them."""

import numpy as np
import pytest
from PIL import Image

import fedbary as fb
from fedbary.data.objects import as_table

datasets = pytest.importorskip("datasets")

NAMES = ["benign", "malignant"]


def pictures(count=40, side=28, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, side, side), dtype=np.uint8)


def picture_set(arrays):
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=NAMES)})
    held = [{"image": Image.fromarray(one), "label": place % 2} for place, one in enumerate(arrays)]
    return datasets.Dataset.from_list(held, features=features)


@pytest.mark.parametrize("streamed", [False, True])
def test_images_are_encoded_like_a_list_of_them(streamed):
    arrays = pictures()
    held = picture_set(arrays)
    table = as_table(held.to_iterable_dataset() if streamed else held)
    assert table.reading["image"].kind == "image"
    np.testing.assert_array_equal(table.columns["image"], arrays.reshape(len(arrays), -1))
    listed = as_table(([Image.fromarray(one) for one in arrays], table.labels))
    assert listed.reading["image"] == table.reading["image"]
    np.testing.assert_array_equal(listed.columns["image"], table.columns["image"])


def test_an_encoder_of_ones_own_sees_the_images():
    brightness = lambda images: [[np.mean(image), np.std(image)] for image in images]  # noqa: E731
    table = as_table(picture_set(pictures()), options=fb.ReadOptions(encoder=brightness))
    assert table.columns["image"].shape == (40, 2)


def test_texts_are_encoded():
    words = ["fever", "cough", "pain", "none", "left", "mild", "severe", "for", "two", "days", "since", "the", "fall"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 9)) for _ in range(60)]
    held = datasets.Dataset.from_dict({"text": texts, "label": [0, 1] * 30})
    table = as_table(held, options=fb.ReadOptions(encoder="hashing:64"))
    assert table.columns["text"].shape == (60, 64)
    listed = as_table((texts, [0, 1] * 30), options=fb.ReadOptions(encoder="hashing:64"))
    np.testing.assert_array_equal(listed.columns["text"], table.columns["text"])
