"""``timm:NAME``: images by a vision model whose weights are on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fedbary.compute import device_of_models
from fedbary.data.encoders.encoder import digest_of
from fedbary.data.encoders.probe import fingerprint, probe
from fedbary.data.encoders.weights import no_network, package, same_numbers_everywhere, state_of, weights_digest
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from PIL.Image import Image

_VERSION = 1


@dataclass(frozen=True)
class VisionModel:
    """A model's last features, before its classes."""

    name: str
    digest: str
    width: int
    model: Any
    transform: Callable[[Image], Any]
    batch: int = 32
    separate: bool = False
    costly: bool = True

    def encode(self, batch: Sequence[Image]) -> npt.NDArray[Any]:
        """The model's features of each image, prepared as in its training."""
        import torch

        with same_numbers_everywhere():
            prepared = torch.stack([self.transform(image.convert("RGB")) for image in batch])
            found = self.model(prepared.to(device_of_models())).float().cpu().numpy()
        return np.asarray(found).reshape(len(batch), -1)


def timm_model_of(settings: str) -> VisionModel:
    """The encoder of ``timm:NAME``, or of a folder with a saved model."""
    if not settings:
        raise SettingsError("encoders.model-without-name", family="timm", example="resnet18.a1_in1k")
    folder = Path(settings)
    return _timm(settings, state_of(folder) if folder.is_dir() else ())


@lru_cache(maxsize=2)
def _timm(settings: str, state: tuple[tuple[str, int, int], ...]) -> VisionModel:
    timm = package("timm", "pip install timm torchvision")
    data = package("timm.data", "pip install timm torchvision")
    try:
        with no_network():
            found = f"local-dir:{settings}" if state else settings
            model = timm.create_model(found, pretrained=True, num_classes=0)
    except Exception as error:  # no such model, no weights, or damaged ones
        fetch = f"import timm; timm.create_model({settings!r}, pretrained=True)"
        raise SettingsError(
            "encoders.no-weights",
            name=settings,
            library="timm",
            fetch=f'python -c "{fetch}"',
            instead="timm:FOLDER",
        ) from error
    prepared = data.resolve_model_data_config(model)
    transform = data.create_transform(**prepared, is_training=False)
    name = f"timm:{Path(settings).resolve().name if state else settings}"
    return _known(name, model, transform)


def _known(name: str, model: Any, transform: Callable[[Image], Any]) -> VisionModel:
    unnamed = VisionModel(name, "", 0, model.to(device_of_models()).eval(), transform)
    rows = np.concatenate([unnamed.encode([image]) for image in probe("image")])
    digest = digest_of(name.partition(":")[0], _VERSION, weights_digest(model), fingerprint(rows, 1))
    return VisionModel(name, digest, rows.shape[1], unnamed.model, transform)
