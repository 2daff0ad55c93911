"""``sentence-transformers:NAME``: texts by a language model whose weights are on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.compute import device_of_models
from fedbary.data.encoders.encoder import digest_of
from fedbary.data.encoders.probe import fingerprint, probe
from fedbary.data.encoders.weights import no_network, package, same_numbers_everywhere, state_of, weights_digest
from fedbary.errors import SettingsError

_VERSION = 1
_INSTALL = "pip install 'fedbary[text]'"


@dataclass(frozen=True)
class SentenceModel:
    """A model of the package sentence-transformers."""

    name: str
    digest: str
    width: int
    model: Any
    batch: int = 256
    separate: bool = False
    costly: bool = True

    def encode(self, batch: Sequence[str]) -> npt.NDArray[Any]:
        """The model's embeddings; padding changes no more than their last digits."""
        with same_numbers_everywhere():
            return np.asarray(self.model.encode(list(batch), batch_size=32, show_progress_bar=False))


def sentence_model_of(settings: str) -> SentenceModel:
    """The encoder of ``sentence-transformers:NAME``, or of a folder with a saved model."""
    if not settings:
        raise SettingsError("encoders.model-without-name", family="sentence-transformers", example="all-MiniLM-L6-v2")
    folder = Path(settings)
    return _loaded(settings, state_of(folder) if folder.is_dir() else ())


@lru_cache(maxsize=2)
def _loaded(settings: str, state: tuple[tuple[str, int, int], ...]) -> SentenceModel:
    library = package("sentence_transformers", _INSTALL)
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    try:
        with no_network(), _no_bars():
            model = library.SentenceTransformer(settings, device=device_of_models(), local_files_only=True)
    except Exception as error:  # the library says in many ways that files are missing or damaged
        fetch = f"from sentence_transformers import SentenceTransformer; SentenceTransformer({settings!r})"
        raise SettingsError(
            "encoders.no-weights",
            name=settings,
            library="sentence-transformers",
            fetch=f'python -c "{fetch}"',
            instead="sentence-transformers:FOLDER",
        ) from error
    model.eval()
    name = f"sentence-transformers:{Path(settings).resolve().name if state else settings}"
    unnamed = SentenceModel(name, "", 0, model)
    rows = np.concatenate([unnamed.encode([text]) for text in probe("text")])
    tokens = [model.tokenizer(text)["input_ids"] for text in probe("text")]
    digest = digest_of(
        "sentence-transformers", _VERSION, weights_digest(model), tokens, model.max_seq_length, fingerprint(rows, 1)
    )
    return SentenceModel(name, digest, rows.shape[1], model)


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
