"""Damaged images of every format are read or refused in one sentence, soon and in little memory."""

import io
import time
import warnings

import numpy as np
import pytest
from PIL import Image

from fedbary.data.encoders import encoded
from fedbary.errors import DataError
from mutations import damaged_bytes

FORMATS = ["PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM"]


def honest(kind):
    draw = np.random.default_rng(0)
    file = io.BytesIO()
    Image.fromarray(draw.integers(0, 256, (40, 30, 3), dtype=np.uint8)).save(file, kind)
    return file.getvalue()


def outcomes(kind, count):
    content = honest(kind)
    found = set()
    for seed in range(count):
        damaged = damaged_bytes(np.random.default_rng(seed), content)
        started = time.thread_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                block = encoded([damaged], "pixels:8x8x3", kind="image", name="scan").block
                assert np.isfinite(block).all()
                found.add("taken")
            except DataError as error:
                found.add(error.code)
        assert time.thread_time() - started < 2
    return found


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_images(kind):
    assert outcomes(kind, 60) <= {"taken", "encoders.not-an-image", "encoders.too-many-pixels"}
