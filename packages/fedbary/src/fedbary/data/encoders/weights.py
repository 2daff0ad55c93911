"""What encoders with weights share: they come from this machine alone, are known by their contents, and run on CUDA."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from fedbary.data.encoders.encoder import digest_of
from fedbary.errors import SettingsError


def package(name: str, install: str) -> ModuleType:
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
def no_network() -> Iterator[None]:
    """Weights come from Hugging Face's cache or not at all."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def same_numbers_everywhere() -> Iterator[None]:
    """CUDA multiplies with all digits, as a CPU does: owners with and without it must get the same."""
    import torch

    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def weights_digest(model: Any) -> str:
    """Of all weights, whatever a version of a library calls them and in which order it keeps them."""
    import torch

    parts = []
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():  # counters and positions differ between versions
            plain = tensor.detach().to("cpu", torch.float32).contiguous().numpy()
            parts.append(f"{plain.shape} {hashlib.sha256(plain.tobytes()).hexdigest()}")
    return digest_of(sorted(parts))


def state_of(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of a folder's files: a model is loaded again where they changed."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
