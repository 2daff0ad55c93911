"""A function as an encoder: what it must be, and how owners know that theirs is the same."""

import numpy as np
import pytest
from PIL import Image

from codes import coded
from fedbary.columns import Text
from fedbary.data.encoders import encoded, encoder_of
from fedbary.errors import DataError, SettingsError

TEXTS = ["dry cough", "no complaint", "fever"]


def lengths(texts):
    return [[len(text), len(text.split())] for text in texts]


def test_a_function_is_known_by_what_it_makes_of_public_examples():
    ours = encoder_of(lengths, "text")
    same = encoder_of(lambda texts: np.array(lengths(texts)) * (1 + 1e-9), "text")
    other = encoder_of(lambda texts: [[len(text), text.count("e")] for text in texts], "text")
    assert ours.digest == same.digest != other.digest
    assert (ours.name, ours.width) == ("function", 2)
    agreed = Text(encoder="function", digest=ours.digest)
    np.testing.assert_array_equal(
        encoded(TEXTS, lengths, kind="text", name="remark", agreed=agreed).block, lengths(TEXTS)
    )
    with pytest.raises(DataError, check=coded("encoders.differs")):
        encoded(TEXTS, lambda texts: [[len(text)] for text in texts], kind="text", name="remark", agreed=agreed)


def test_a_function_with_a_digest_of_its_own_is_known_by_it():
    def embed(texts):
        return lengths(texts)

    embed.digest = "weights of 3 May"
    assert encoder_of(embed, "text").digest == "weights of 3 May"


def test_images_come_as_images():
    def small(images):
        assert all(isinstance(image, Image.Image) for image in images)
        return np.stack([np.asarray(image.convert("L").resize((4, 4)), dtype=float) for image in images])

    cells = list(np.random.default_rng(0).integers(0, 256, (3, 12, 12), dtype=np.uint8))
    found = encoded(cells, small, kind="image", name="scan")
    assert (found.block.shape, found.block.dtype, found.encoder) == ((3, 16), np.float32, "function")


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda texts: texts[0].undefined, "encoders.function-failed"),
        (lambda texts: [1.0] * len(texts), "encoders.function-shape"),
        (lambda texts: np.zeros((len(texts) + 1, 2)), "encoders.function-shape"),
        (lambda texts: np.array([[text] for text in texts]), "encoders.function-shape"),
        (lambda texts: np.full((len(texts), 2), np.nan), "encoders.no-numbers"),
        (lambda texts: np.array([[len(t), len(texts)] for t in texts]), "encoders.depends-on-batch"),
        (lambda texts: np.random.default_rng().random((len(texts), 2)), "encoders.depends-on-batch"),
    ],
)
def test_functions_that_cannot_be_used(function, code):
    with pytest.raises(SettingsError, check=coded(code)):
        encoder_of(function, "text")


def test_a_cell_that_a_function_fails_on_is_missing_with_epsilon_and_named_without():
    def picky(texts):
        return [[len(text), 1 / (len(text) - 3)] for text in texts]

    with pytest.raises(DataError, check=coded("encoders.function-failed")):
        encoded(["abcd", "abc"], picky, kind="text", name="remark")
    block = encoded(["abcd", "abc"], picky, kind="text", name="remark", alone=True).block
    assert np.isnan(block).any(axis=1).tolist() == [False, True]


def test_a_torch_model_is_a_function():
    torch = pytest.importorskip("torch")

    def model(dropout):
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.Dropout(dropout), torch.nn.Linear(8, 5))

    def embedding(layers):
        def embed(images):
            pixels = [np.asarray(image.convert("L").resize((4, 4)), dtype=np.float32).ravel() for image in images]
            return layers(torch.tensor(np.stack(pixels)) / 255)

        return embed

    cells = list(np.random.default_rng(0).integers(0, 256, (9, 12, 12), dtype=np.uint8))
    ours = encoded(cells, embedding(model(0.5).eval()), kind="image", name="scan")
    alone = encoded(cells, embedding(model(0.5).eval()), kind="image", name="scan", alone=True)
    assert (ours.block.shape, ours.digest) == ((9, 5), alone.digest)
    np.testing.assert_allclose(ours.block, alone.block, atol=1e-6)
    with pytest.raises(SettingsError, check=coded("encoders.depends-on-batch")):
        encoder_of(embedding(model(0.5).train()), "image")
