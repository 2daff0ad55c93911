"""A column of images or texts becomes a block: each row of its own cell, with the name and digest of its encoder."""

import io

import numpy as np
import pytest
from PIL import Image

from codes import coded
from fedbary import columns
from fedbary.data.encoders import encoded, encoder_of, is_image, suits, width_of
from fedbary.errors import DataError, SettingsError

TEXTS = ["dry cough and fever", "no complaint", "Dry cough", "", "fever, fever, fever"]


def images(count=5, shape=(28, 28), seed=0):
    return list(np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8))


def png(array, kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(array).save(file, kind)
    return file.getvalue()


def test_every_way_to_hold_an_image_gives_the_same_block(tmp_path):
    arrays = images()
    block = encoded(arrays, kind="image", name="scan").block
    paths = [tmp_path / f"{k}.png" for k in range(5)]
    for path, array in zip(paths, arrays, strict=True):
        path.write_bytes(png(array))
    ways = [
        [png(array) for array in arrays],
        [{"bytes": png(array), "path": None} for array in arrays],
        [{"bytes": None, "path": str(path)} for path in paths],
        [str(path) for path in paths],
        paths,
        [Image.fromarray(array) for array in arrays],
        [array / 255 for array in arrays],
    ]
    for cells in ways:
        found = encoded(cells, kind="image", name="scan")
        assert found.encoder == "pixels:28x28x1"
        np.testing.assert_array_equal(found.block, block)
    np.testing.assert_array_equal(block, np.stack(arrays).reshape(5, -1))


def test_the_shape_of_pixels_is_that_of_most_images_and_at_most_32():
    mixed = [*images(3, (20, 30)), *images(2, (8, 8, 3))]
    found = encoded(mixed, kind="image", name="scan")
    assert found.encoder == "pixels:20x30x3"
    assert [note.code for note in found.notes] == ["encoders.pixels-guessed"]
    assert encoded(images(1, (300, 100)), kind="image", name="scan").encoder == "pixels:32x11x1"
    asked = encoded(mixed, "pixels:4x4x1", kind="image", name="scan")
    assert (asked.block.shape, asked.notes) == ((5, 16), ())


def test_missing_cells_are_missing_rows():
    for kind, cells in (("image", images()), ("text", TEXTS)):
        for missing in (None, float("nan"), {"bytes": None, "path": None}):
            block = encoded([cells[0], missing, cells[1]], kind=kind, name="x").block
            assert np.isnan(block).any(axis=1).tolist() == [False, True, False]
    assert encoded([None], kind="image", name="scan").block.shape == (1, 32 * 32 * 3)
    assert encoded([], kind="text", name="remark").block.shape == (0, 512)


@pytest.mark.parametrize(
    ("kind", "cells", "encoder"),
    [
        ("image", images(7), "pixels:9x9x3"),
        ("text", TEXTS, "hashing:64"),
        ("text", TEXTS, lambda texts: np.array([[len(text), 1.0] for text in texts])),
    ],
)
def test_a_row_is_a_function_of_its_own_cell(kind, cells, encoder):
    together = encoded(cells, encoder, kind=kind, name="x").block
    alone = encoded(cells, encoder, kind=kind, name="x", alone=True).block
    one_by_one = np.concatenate([encoded([cell], encoder, kind=kind, name="x").block for cell in cells])
    backwards = encoded(cells[::-1], encoder, kind=kind, name="x").block[::-1]
    for other in (alone, one_by_one, backwards):
        np.testing.assert_array_equal(together, other)


def test_hashed_texts_have_length_one_and_empty_ones_none():
    block = encoded(TEXTS, kind="text", name="remark").block
    assert block.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(block, axis=1), [1, 1, 1, 0, 1], atol=1e-6)


def test_photos_are_turned_upright_and_sixteen_bits_become_eight():
    array = images(1, (10, 20, 3))[0]
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    file = io.BytesIO()
    Image.fromarray(np.rot90(array)).save(file, "PNG", exif=exif)
    found = encoded([file.getvalue()], kind="image", name="photo")
    assert found.encoder == "pixels:10x20x3"
    np.testing.assert_array_equal(found.block[0], array.reshape(-1))
    deep = np.array([[0, 257], [65535, 514]], dtype=np.uint16)
    np.testing.assert_array_equal(encoded([png(deep)], kind="image", name="x").block[0], [0, 1, 255, 2])


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        (b"no image at all", "encoders.not-an-image"),
        (png(images(1)[0])[:100], "encoders.not-an-image"),
        ("nowhere/scan.png", "encoders.no-image-file"),
        ("a" * 5000 + ".png", "encoders.not-an-image"),
        (np.zeros((4, 4, 7)), "encoders.image-array"),
        (np.full((4, 4), 300), "encoders.image-array"),
        (3.5, "encoders.no-image-kind"),
    ],
    ids=["no image", "cut", "no file", "no name", "seven colours", "beyond 255", "a number"],
)
def test_a_damaged_image_is_named_in_one_sentence_and_missing_with_epsilon(cell, code):
    cells = [images(1)[0], cell]
    with pytest.raises(DataError, check=coded(code)) as raised:
        encoded(cells, kind="image", name="scan")
    assert raised.value.private["where"] in ("row 1", cell)
    block = encoded(cells, kind="image", name="scan", alone=True).block
    assert np.isnan(block).all(axis=1).tolist() == [False, True]


def test_an_image_that_would_fill_the_memory_is_refused(monkeypatch):
    bomb = png(np.zeros((20_000, 20_000), dtype=np.uint8))
    assert len(bomb) < 2**20
    with pytest.raises(DataError, check=coded("encoders.too-many-pixels", "encoders.not-an-image")):
        encoded([bomb], "pixels", kind="image", name="scan")


def test_programs_are_never_started_for_an_image():
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n"
    with pytest.raises(DataError, check=coded("encoders.not-an-image")):
        encoded([postscript], kind="image", name="scan")


@pytest.mark.parametrize(
    ("spec", "kind", "code"),
    [
        ("pixel", "image", "encoders.no-encoder"),
        ("hashing", "image", "encoders.other-kind"),
        ("pixels", "text", "encoders.other-kind"),
        ("pixels:0x4", "image", "encoders.pixel-shape"),
        ("pixels:9999x9999x3", "image", "encoders.pixel-shape"),
        ("pixels:4x4x2", "image", "encoders.pixel-shape"),
        ("pixels:½x4", "image", "encoders.pixel-shape"),
        ("hashing:x", "text", "encoders.hashing-width"),
        ("hashing:10000000", "text", "encoders.hashing-width"),
    ],
)
def test_names_that_are_no_encoder(spec, kind, code):
    error = DataError if code == "encoders.other-kind" else SettingsError
    with pytest.raises(error, check=coded(code)):
        encoder_of(spec, kind)


def test_an_encoder_of_texts_leaves_images_to_pixels():
    assert encoded(images(), "hashing", kind="image", name="scan").encoder == "pixels:28x28x1"
    assert not suits("hashing", "image")


def test_the_agreed_encoder_is_used_and_another_one_refused():
    found = encoded(images(), kind="image", name="scan")
    agreed = columns.Image(encoder=found.encoder, digest=found.digest)
    other = encoded(images(2, (64, 64, 3)), "pixels", kind="image", name="scan", agreed=agreed)
    assert (other.encoder, other.digest, other.block.shape, other.notes) == (found.encoder, found.digest, (2, 784), ())
    for_texts = encoded(images(), "sentence-transformers:words", kind="image", name="scan", agreed=agreed)
    np.testing.assert_array_equal(for_texts.block, found.block)
    with pytest.raises(DataError, check=coded("encoders.differs")) as raised:
        encoded(images(), "pixels:8x8x1", kind="image", name="scan", agreed=agreed)
    both = raised.value.public
    assert (both["ours"], both["theirs"]) == ("pixels:8x8x1", "pixels:28x28x1")
    assert both["our_digest"] != both["their_digest"]


def test_another_party_cannot_ask_for_what_needs_files():
    agreed = columns.Text(encoder="sentence-transformers:/etc", digest="0")
    with pytest.raises(DataError, check=coded("encoders.ask-for-it")):
        encoded(TEXTS, kind="text", name="remark", agreed=agreed)


def test_large_photos_are_made_smaller_first_so_that_a_batch_fits_the_memory():
    seen = []

    def sizes(batch):
        seen.extend(image.size for image in batch)
        return [image.size for image in batch]

    photo = Image.new("RGB", (4000, 3000))
    assert encoded([photo], sizes, kind="image", name="photo").block.tolist() == [[2048, 1536]]
    assert photo.size == (4000, 3000)


def test_a_table_that_would_fill_the_memory_is_refused_before_it_is_made():
    agreed = columns.Image(encoder="pixels:256x256x3")
    with pytest.raises(DataError, check=coded("encoders.too-many-numbers")):
        encoded([None] * 10_000, kind="image", name="scan", agreed=agreed, alone=True)


def test_schemas_of_earlier_versions_know_these_encoders():
    assert encoder_of("hashing", "text").digest == "4abb5f514553db21a2baab833aa5c6f3"
    assert encoder_of("pixels:28x28x1", "image").digest == "edbdf1babeedf1f75d5fbb9301abb614"
    words = encoder_of(lambda texts: [[len(text), text.count(" ") / 7] for text in texts], "text")
    assert (words.name, words.digest) == ("function", "1139bcdd4fda25d837771ac2135a7aed")
    assert (encoder_of("hashing:128", "text").width, encoder_of("pixels", "image").name) == (128, "pixels:32x32x3")


def test_what_is_an_image_and_how_wide_it_becomes():
    cells = ("scans/a.PNG", b"\x89PNG...", "a text", 3.5)
    assert [is_image(cell) for cell in cells] == [True, True, False, False]
    readings = (columns.Text(encoder="hashing:64"), columns.Image(encoder="pixels:0x0"))
    assert [width_of(reading) for reading in readings] == [64, 0]
