"""Lists of texts or images, and arrays of images, as X."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fedbary as fb
from codes import coded
from fedbary.data.objects import as_table
from fedbary.errors import DataError

LABELS = [0, 1] * 15
TEXTS = [f"the {'dry' if k % 2 else 'wet'} cough since {k} days" for k in range(30)]


def pixels(side, colours=None, seed=0):
    shape = (30, side, side) if colours is None else (30, side, side, colours)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def test_a_list_of_texts_is_hashed():
    for texts in (TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)):
        table = as_table((texts, LABELS))
        assert table.column_names == ("text",)
        assert table.reading["text"].encoder == "hashing:512"
        np.testing.assert_allclose(np.linalg.norm(table.columns["text"], axis=1), 1, rtol=1e-6)


def test_a_missing_text_is_missing():
    assert as_table(([None, *TEXTS[1:]], LABELS)).missing() == {"text": 1}


def test_texts_of_clients_and_reference_are_encoded_alike():
    result = fb.value({"a": (TEXTS, LABELS), "b": (TEXTS[::-1], LABELS)}, (TEXTS, LABELS), seed=0)
    assert not result.failed


@pytest.mark.parametrize("held", ["Pillow", "paths", "bytes"])
def test_a_list_of_images_is_its_pixels(held, tmp_path):
    arrays = pixels(12)
    images = [Image.fromarray(one) for one in arrays]
    files = [tmp_path / f"{place:02d}.png" for place in range(len(images))]
    for image, file in zip(images, files, strict=True):
        image.save(file)
    forms = {"Pillow": images, "paths": files, "bytes": [Path(file).read_bytes() for file in files]}
    table = as_table((forms[held], LABELS))
    assert table.reading["image"].encoder == "pixels:12x12x1"
    np.testing.assert_array_equal(table.columns["image"], arrays.reshape(30, -1))


@pytest.mark.parametrize("colours", [None, 1, 3])
def test_an_array_of_small_images_stays_as_it_is(colours):
    arrays = pixels(32, colours)
    table = as_table((arrays, LABELS))
    np.testing.assert_array_equal(table.columns["x"], arrays.reshape(30, -1))
    assert table.notes == ()


@pytest.mark.parametrize("colours", [None, 1, 3])
def test_an_array_of_large_images_is_shrunk_with_a_note(colours):
    arrays = pixels(64, colours)
    table = as_table((arrays, LABELS))
    assert table.columns["image"].shape == (30, 32 * 32 * (3 if colours == 3 else 1))
    assert [note.code for note in table.notes] == ["encoders.pixels-guessed"]
    listed = as_table((list(map(Image.fromarray, arrays[..., 0] if colours == 1 else arrays)), LABELS))
    np.testing.assert_array_equal(listed.columns["image"], table.columns["image"])


def test_shades_from_0_to_1_are_images_and_other_large_arrays_are_not():
    shades = pixels(64, 3) / np.float32(255)
    np.testing.assert_allclose(
        as_table((shades, LABELS)).columns["image"], as_table((pixels(64, 3), LABELS)).columns["image"]
    )
    assert as_table((shades * 7 - 3, LABELS)).columns["x"].shape == (30, 64 * 64 * 3)
    assert as_table((shades[..., 0], LABELS)).columns["x"].shape == (30, 64 * 64)


def test_an_encoder_that_was_asked_for_sees_small_images_too():
    mean = lambda images: [[np.mean(image), np.std(image)] for image in images]  # noqa: E731
    table = as_table((pixels(8), LABELS), options=fb.ReadOptions(encoder=mean))
    np.testing.assert_allclose(table.columns["image"][:, 0], pixels(8).mean(axis=(1, 2)), rtol=1e-6)
    assert as_table((pixels(8), LABELS), options=fb.ReadOptions(encoder="hashing")).column_names == ("x",)


def test_clients_use_the_encoder_of_the_reference():
    client, reference = (pixels(40), LABELS), (pixels(64, seed=1), LABELS)
    result = fb.value({"a": client}, reference, seed=0)
    assert not result.failed
    agreed = as_table(reference).reading
    for own in (pixels(48, 3), pixels(28)):
        assert as_table((own, LABELS), reading=agreed).columns["image"].shape == (30, 32 * 32)


def test_a_damaged_image_and_labels_that_do_not_fit_are_refused():
    images = [Image.fromarray(one) for one in pixels(8)]
    with pytest.raises(DataError, check=coded("encoders.not-an-image")):
        as_table(([b"\x89PNG, but no more", *images[1:]], LABELS))
    with pytest.raises(DataError, check=coded("data.array-lengths-differ")):
        as_table((images, LABELS[:7]))
