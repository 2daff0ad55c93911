"""``timm:NAME`` and ``sentence-transformers:NAME``: images and texts by a model whose weights are on this machine.

Weights come from this machine alone, are known by their contents, and run on CUDA where it is there.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.compute import device_of_models
from fedbary.data.encoders.encoder import CellKind, Encoder, digest_of, fingerprint, probe
from fedbary.errors import SettingsError

_VERSION = 1
Run = Callable[[Sequence[Any]], npt.NDArray[Any]]


@dataclass(frozen=True)
class Family:
    """Models of one library: how one is loaded, what else but its weights moves its outputs, and what to type.

    ``load(settings, is_folder)`` gives the model, what runs it, and whatever else belongs into its digest.
    """

    library: str
    kind: CellKind
    example: str
    fetch: str
    batch: int
    load: Callable[[str, bool], tuple[Any, Run, tuple[object, ...]]]

    def encoder(self, settings: str) -> Encoder:
        """The encoder of a model's name, or of a folder with a saved model."""
        if not settings:
            raise SettingsError("encoders.model-without-name", family=self.library, example=self.example)
        folder = Path(settings)
        return _loaded(self, settings, _state_of(folder) if folder.is_dir() else ())


@lru_cache(maxsize=4)
def _loaded(family: Family, settings: str, state: tuple[tuple[str, int, int], ...]) -> Encoder:
    model, run, others = family.load(settings, bool(state))
    rows = np.concatenate([run([one]) for one in probe(family.kind)])
    digest = digest_of(family.library, _VERSION, _weights_digest(model), *others, fingerprint(rows, 1))
    name = f"{family.library}:{Path(settings).resolve().name if state else settings}"
    return Encoder(name, digest, rows.shape[1], run, batch=family.batch, costly=True)


def _vision_model(settings: str, is_folder: bool) -> tuple[Any, Run, tuple[object, ...]]:
    """A model's last features, before its classes, of images that are prepared as in its training."""
    timm = _package("timm", "pip install timm torchvision")
    data = _package("timm.data", "pip install timm torchvision")
    with _weights_of(VISION, settings):
        named = f"local-dir:{settings}" if is_folder else settings
        model = timm.create_model(named, pretrained=True, num_classes=0)
    transform = data.create_transform(**data.resolve_model_data_config(model), is_training=False)
    model = model.to(device_of_models()).eval()

    def run(batch: Sequence[Any]) -> npt.NDArray[Any]:
        import torch

        with _same_numbers_everywhere():
            prepared = torch.stack([transform(image.convert("RGB")) for image in batch])
            found = model(prepared.to(device_of_models())).float().cpu().numpy()
        return np.asarray(found).reshape(len(batch), -1)

    return model, run, ()


def _sentence_model(settings: str, is_folder: bool) -> tuple[Any, Run, tuple[object, ...]]:  # noqa: ARG001 - as above
    """A model's embeddings; padding changes no more than their last digits."""
    library = _package("sentence_transformers", "pip install 'fedbary[text]'")
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    with _weights_of(SENTENCES, settings), _no_bars():
        model = library.SentenceTransformer(settings, device=device_of_models(), local_files_only=True)
    model.eval()

    def run(batch: Sequence[str]) -> npt.NDArray[Any]:
        with _same_numbers_everywhere():
            return np.asarray(model.encode(list(batch), batch_size=32, show_progress_bar=False))

    tokens = [model.tokenizer(text)["input_ids"] for text in probe("text")]
    return model, run, (tokens, model.max_seq_length)


VISION = Family(
    "timm", "image", "resnet18.a1_in1k", "import timm; timm.create_model({!r}, pretrained=True)", 32, _vision_model
)
SENTENCES = Family(
    "sentence-transformers",
    "text",
    "all-MiniLM-L6-v2",
    "from sentence_transformers import SentenceTransformer; SentenceTransformer({!r})",
    256,
    _sentence_model,
)


def _package(name: str, install: str) -> ModuleType:
    """A package of an extra, or the sentence that says what to type."""
    shown = name.replace("_", "-")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise SettingsError("encoders.no-package", package=shown, install=install) from error
    except Exception as error:  # a build for another PyTorch fails in its own ways
        why = " ".join(str(error).split())[:160]
        raise SettingsError("encoders.package-fails", package=shown, why=why, install=install) from error


@contextmanager
def _weights_of(family: Family, settings: str) -> Iterator[None]:
    """Weights come from Hugging Face's cache or not at all, and then it is said how to get them."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    except Exception as error:  # libraries say in many ways that files are missing or damaged
        fetch = f'python -c "{family.fetch.format(settings)}"'
        instead = f"{family.library}:FOLDER"
        raise SettingsError(
            "encoders.no-weights", name=settings, library=family.library, fetch=fetch, instead=instead
        ) from error
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _no_bars() -> Iterator[None]:
    """Loading a model draws bars of its own, between the lines of a report."""
    bars = import_module("transformers.utils.logging")
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


@contextmanager
def _same_numbers_everywhere() -> Iterator[None]:
    """CUDA multiplies with all digits, as a CPU does: owners with and without it must get the same."""
    import torch

    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def _weights_digest(model: Any) -> str:
    """Of all weights, whatever a version of a library calls them and in which order it keeps them."""
    import torch

    parts = []
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():  # counters and positions differ between versions
            plain = tensor.detach().to("cpu", torch.float32).contiguous().numpy()
            parts.append(f"{plain.shape} {hashlib.sha256(plain.tobytes()).hexdigest()}")
    return digest_of(sorted(parts))


def _state_of(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of a folder's files: a model is loaded again where they changed."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
