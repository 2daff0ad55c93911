"""Encoders with weights: real but tiny models, made here; known by their weights, and never fetched."""

import sys
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from codes import coded
from fedbary.columns import Text
from fedbary.data.encoders import encoded, encoder_of, models
from fedbary.errors import DataError, SettingsError

torch = pytest.importorskip("torch")

TEXTS = [
    "dry cough and fever",
    "no",
    "fever since monday , and no cough",
    "the patient has a dry cough " * 8,
    "no complaint",
]
IMAGES = list(np.random.default_rng(0).integers(0, 256, (9, 20, 24, 3), dtype=np.uint8))


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FEDBARY_CACHE", str(tmp_path / "cache"))
    models._loaded.cache_clear()


def tiny_bert(folder, seed=0, pooling="mean"):
    """A sentence transformer of two layers with random weights, saved as a library saves them."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({word for text in TEXTS for word in text.split()})]
    parts = folder.parent / f"{folder.name} parts"
    parts.mkdir(parents=True)
    (parts / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(parts / "vocab.txt"), model_max_length=32).save_pretrained(parts)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32,
    )  # fmt: skip
    BertModel(config).save_pretrained(parts)
    bert = Transformer(str(parts))
    SentenceTransformer(modules=[bert, Pooling(16, pooling_mode=pooling)], device="cpu").save(str(folder))
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


def test_a_sentence_transformer_encodes_texts_each_by_itself(bert):
    found = encoded([*TEXTS, None], f"sentence-transformers:{bert}", kind="text", name="remark")
    assert (found.encoder, found.block.shape, found.block.dtype) == ("sentence-transformers:tiny", (6, 16), np.float32)
    assert np.isnan(found.block).any(axis=1).tolist() == [False] * 5 + [True]
    alone = encoded(TEXTS, f"sentence-transformers:{bert}", kind="text", name="remark", alone=True).block
    np.testing.assert_allclose(found.block[:5], alone, atol=1e-6)
    for place in (0, 3):
        others = [TEXTS[place], "fever", "no " * 20]
        again = encoded(others, f"sentence-transformers:{bert}", kind="text", name="remark", alone=True).block
        np.testing.assert_array_equal(again[0], alone[place])
    assert not np.allclose(alone[0], alone[2], atol=1e-3)


def test_a_model_is_known_by_its_weights_and_what_it_does_with_them(bert, tmp_path):
    import shutil

    copy = tmp_path / "elsewhere" / "copied"
    shutil.copytree(bert, copy)
    (copy / "README.md").write_text("other words")
    ours, same, other, pooled = (
        encoder_of(f"sentence-transformers:{folder}", "text").digest
        for folder in (bert, copy, tiny_bert(tmp_path / "other", seed=1), tiny_bert(tmp_path / "cls", pooling="cls"))
    )
    assert ours == same
    assert len({ours, other, pooled}) == 3
    agreed = Text(encoder="sentence-transformers:tiny", digest=ours)
    found = encoded(TEXTS, f"sentence-transformers:{copy}", kind="text", name="remark", agreed=agreed)
    assert (found.encoder, found.digest) == ("sentence-transformers:tiny", ours)
    with pytest.raises(DataError, check=coded("encoders.differs")):
        encoded(TEXTS, f"sentence-transformers:{tmp_path / 'cls'}", kind="text", name="remark", agreed=agreed)


def test_weights_that_are_not_there_are_not_fetched(tmp_path):
    pytest.importorskip("sentence_transformers")
    (tmp_path / "empty").mkdir()
    for name in ("no-such/model-anywhere", str(tmp_path / "empty")):
        with pytest.raises(SettingsError, check=coded("encoders.no-weights")) as raised:
            encoder_of(f"sentence-transformers:{name}", "text")
        assert "SentenceTransformer(" in raised.value.private["fetch"]


@pytest.mark.parametrize("family", ["timm", "sentence-transformers"])
def test_what_to_type_where_a_package_or_a_name_is_missing(family, monkeypatch):
    kind = "text" if family == "sentence-transformers" else "image"
    with pytest.raises(SettingsError, check=coded("encoders.model-without-name")):
        encoder_of(family, kind)
    for module in (family.replace("-", "_"), "timm.data"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError, check=coded("encoders.no-package")) as raised:
        encoder_of(f"{family}:some-model", kind)
    assert raised.value.public["install"].startswith("pip install ")


def test_a_package_that_is_there_but_fails_is_named(monkeypatch, tmp_path):
    (tmp_path / "timm").mkdir()
    (tmp_path / "timm" / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms is missing')")
    for module in ("timm", "timm.data"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingsError, check=coded("encoders.package-fails")) as raised:
        encoder_of("timm:resnet18", "image")
    assert "nms" in raised.value.private["why"]


def small_net(classes):
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 6, 3), torch.nn.BatchNorm2d(6), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)]
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), *([torch.nn.Linear(6, classes)] if classes else []))


def to_tensor(image):
    return torch.tensor(np.asarray(image.resize((16, 16)), dtype=np.float32) / 255).permute(2, 0, 1)


@pytest.fixture
def timm(monkeypatch):
    """What we use of timm, by its documentation: timm itself does not import beside the CPU build of PyTorch."""
    package, data = ModuleType("timm"), ModuleType("timm.data")

    def create_model(name, pretrained, num_classes):
        from huggingface_hub import constants

        assert pretrained
        assert constants.HF_HUB_OFFLINE
        if name != "small":
            raise RuntimeError(f"Unknown model ({name})")
        return small_net(num_classes)

    package.create_model = create_model
    data.resolve_model_data_config = lambda model: {"input_size": (3, 16, 16)}
    data.create_transform = lambda input_size, is_training: to_tensor
    monkeypatch.setitem(sys.modules, "timm", package)
    monkeypatch.setitem(sys.modules, "timm.data", data)


@pytest.mark.usefixtures("timm")
def test_a_vision_model_encodes_images_each_by_itself():
    found = encoded(IMAGES, "timm:small", kind="image", name="scan")
    assert (found.encoder, found.block.shape) == ("timm:small", (9, 6))
    alone = encoded(IMAGES, "timm:small", kind="image", name="scan", alone=True)
    np.testing.assert_allclose(found.block, alone.block, atol=1e-6)
    assert found.digest == alone.digest
    with torch.inference_mode():
        expected = small_net(0).eval()(torch.stack([to_tensor(Image.fromarray(image)) for image in IMAGES]))
    np.testing.assert_allclose(found.block, expected, atol=1e-6)
    with pytest.raises(SettingsError, check=coded("encoders.no-weights")):
        encoder_of("timm:large", "image")
