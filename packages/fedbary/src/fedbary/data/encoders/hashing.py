"""``hashing``: a text as counts of its words and pairs of words, in places that a hash chooses: no vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbary.data.encoders.encoder import Block, digest_of
from fedbary.errors import SettingsError

_VERSION = 1
_LEAST, _MOST = 2, 4096


@dataclass(frozen=True)
class Hashing:
    """Words and pairs of neighbouring words, hashed with a sign, each text of length one."""

    width: int = 512
    batch: int = 4096
    separate: bool = True
    costly: bool = False

    @property
    def name(self) -> str:
        """With the number of places, such as ``hashing:512``."""
        return f"hashing:{self.width}"

    @property
    def digest(self) -> str:
        """Of the settings of scikit-learn's `HashingVectorizer`."""
        return digest_of(self.name, "words 1-2", "l2", "signed", _VERSION)

    def encode(self, batch: Sequence[str]) -> Block:
        """The hashed counts of each text."""
        from sklearn.feature_extraction.text import HashingVectorizer

        hashed = HashingVectorizer(n_features=self.width, ngram_range=(1, 2), norm="l2", alternate_sign=True)
        found: Block = hashed.transform(batch).toarray().astype(np.float32)
        return found


def hashing_of(settings: str) -> Hashing:
    """The encoder of ``hashing`` or ``hashing:PLACES``.

    Examples
    --------
    >>> hashing_of("").name, hashing_of("128").width
    ('hashing:512', 128)
    """
    if not settings:
        return Hashing()
    if not (settings.isascii() and settings.isdigit() and len(settings) < 6 and _LEAST <= int(settings) <= _MOST):
        raise SettingsError("encoders.hashing-width", width=settings, least=_LEAST, most=_MOST)
    return Hashing(int(settings))
