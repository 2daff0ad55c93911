"""Pictures of rows: which tables have them, and that the files are what a decoder expects."""

import io

import numpy as np
import pytest
from owner_fixtures import pictures
from PIL import Image

import fedbary as fb
from codes import coded
from fedbary.errors import SettingsError
from fedbary.views.rows import images_of, png


def decoded(file: bytes) -> np.ndarray:
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    return np.asarray(Image.open(io.BytesIO(file)))


@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (5, 9, 3)])
def test_a_png_holds_the_pixels(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    np.testing.assert_array_equal(decoded(png(pixels)), pixels)


def test_digits_and_noisy_digits_are_pictures_with_their_own_brightness(digits):
    some = digits.take(range(100))
    found = images_of(some)
    np.testing.assert_array_equal(
        found.pixels, np.rint(some.columns["x"].reshape(-1, 8, 8) / 16 * 255).astype(np.uint8)
    )
    noisy, _ = fb.corruptions.add_noise(some, 0.4, sigma=1.5, seed=0)
    assert images_of(noisy).pixels.shape[1:3] == (8, 8)


def test_three_colours_stand_side_by_side():
    grey = pictures(40, side=16).columns["x"].reshape(40, 16, 16)
    colours = np.stack([grey, grey / 2, np.zeros_like(grey)], axis=3)
    found = images_of(fb.Table.from_arrays(colours, np.arange(40) % 2))
    assert found.pixels.shape == (40, 16, 16, 3)
    np.testing.assert_array_equal(found.pixels, np.rint(colours * 255).astype(np.uint8))


@pytest.mark.parametrize(
    "block",
    [
        np.maximum(np.random.default_rng(0).normal(size=(60, 1024)), 0.0),  # an embedding behind a rectifier
        np.random.default_rng(0).normal(size=(60, 64)),
        np.eye(64)[:60],  # one category out of 64
        np.random.default_rng(0).random((60, 65)),
    ],
    ids=["rectified", "signed", "one-hot", "not square"],
)
def test_other_blocks_are_not(block):
    assert images_of(fb.Table.from_arrays(block, np.arange(60) % 2)) is None


def test_a_shape_forces_pictures_also_from_columns_and_with_missing_rows():
    rng = np.random.default_rng(0)
    block = rng.normal(size=(20, 6))
    block[3] = np.nan
    table = fb.Table.from_arrays(block, np.arange(20) % 2)
    found = images_of(table, (2, 3))
    assert found.pixels.shape[1:3] == (2, 3)
    assert (found.png(3), found.png(4)[:6]) == ("", "iVBORw")
    assert (found.pixels[found.known].min(), found.pixels[found.known].max()) == (0, 255)
    columns = fb.Table({f"p{i}": block[:, i] for i in range(6)}, np.arange(20) % 2)
    np.testing.assert_array_equal(images_of(columns, (2, 3, 1)).pixels, found.pixels)
    assert images_of(columns) is None
    assert images_of(pictures(9), None) is None


@pytest.mark.parametrize("shape", [(3, 3), (0, 6), (6,), (1, 2, 3, 4), (2, 2, 2), "square", (2.0, 3.0)])
def test_a_shape_that_does_not_fit_is_refused(shape):
    table = fb.Table.from_arrays(np.zeros((4, 6)), [0, 1, 0, 1])
    with pytest.raises(SettingsError, check=coded("settings.parameter", "views.no-block-of-that-shape")):
        images_of(table, shape)
