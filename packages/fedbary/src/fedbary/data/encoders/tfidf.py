"""``tfidf:FILE``: a text as the words of a public vocabulary that it holds, rare words weighing more."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from fedbary.checks import whole
from fedbary.data.atomic import write_atomically
from fedbary.data.encoders.encoder import Block, digest_of
from fedbary.errors import DataError, SettingsError
from fedbary.strict_json import read_json
from fedbary.wording import is_clean

_VERSION = 1
_MOST_TERMS, _LONGEST_TERM = 4096, 200
_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Tfidf:
    """Counts of the vocabulary's words and pairs of words, times their weights, each text of length one.

    Examples
    --------
    >>> Tfidf("public.json", {"cough": 2.0, "fever": 1.0}).encode(["Cough, cough!", "no words of it"])
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    """

    file: str
    weights: dict[str, float]
    batch: int = 4096
    separate: bool = True
    costly: bool = False

    @property
    def name(self) -> str:
        """With the name of the file, and not where it lies."""
        return f"tfidf:{self.file}"

    @property
    def digest(self) -> str:
        """Of the words and their weights."""
        return digest_of("tfidf", "words 1-2", "l2", _VERSION, list(self.weights.items()))

    @property
    def width(self) -> int:
        """Words of the vocabulary."""
        return len(self.weights)

    def encode(self, batch: Sequence[str]) -> Block:
        """The weighted counts of each text."""
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.preprocessing import normalize

        counter = CountVectorizer(vocabulary=list(self.weights), ngram_range=(1, 2), dtype=np.float64)
        weighted = counter.transform(batch).multiply(np.array(list(self.weights.values())))
        found: Block = normalize(weighted.tocsr()).toarray().astype(np.float32)
        return found


def public_vocabulary(texts: Iterable[str], path: str | PathLike[str], *, most: int = 1000) -> Path:
    """Write the vocabulary of public texts to a file that all owners then name: ``encoder="tfidf:FILE"``.

    The words and weights are readable by everybody who has the file, so the texts must be public, too.

    Parameters
    ----------
    texts
        Public texts of the kind that owners have.
    path
        The file to write.
    most
        So many of the words and pairs of words that are in most texts.

    Examples
    --------
    >>> import tempfile
    >>> path = public_vocabulary(["dry cough", "cough and fever"], tempfile.mkdtemp() + "/public.json")
    >>> tfidf_of(str(path)).name
    'tfidf:public.json'
    """
    from sklearn.feature_extraction.text import CountVectorizer

    whole(most, "most", "public_vocabulary", least=1)
    counter = CountVectorizer(ngram_range=(1, 2), binary=True)
    try:
        counted = counter.fit_transform(texts)
    except ValueError as error:  # nothing but blanks
        raise DataError("encoders.no-words") from error
    texts_with = np.asarray(counted.sum(axis=0)).reshape(-1)
    terms = [str(term) for term in counter.get_feature_names_out()]
    frequent = sorted(range(len(terms)), key=lambda k: (-texts_with[k], terms[k]))[: min(most, _MOST_TERMS)]
    weights = {terms[k]: _weight(counted.shape[0], int(texts_with[k])) for k in sorted(frequent)}
    content = json.dumps({"version": _VERSION, "weights": weights}, ensure_ascii=False, indent=0)
    return write_atomically(Path(path), lambda draft: draft.write_text(content, encoding="utf-8"))


def tfidf_of(settings: str) -> Tfidf:
    """The encoder of ``tfidf:FILE``."""
    if not settings:
        raise SettingsError("encoders.tfidf-without-file")
    path = Path(settings)
    if not path.is_file():
        raise SettingsError("encoders.no-vocabulary-file", file=settings)
    try:
        content = read_json(path.read_text(encoding="utf-8"), longest=_MOST_BYTES)
        weights = content["weights"] if content["version"] == _VERSION else None
        if not isinstance(weights, dict) or not 1 <= len(weights) <= _MOST_TERMS:
            raise ValueError("no weights")
        return Tfidf(path.name, {_term(term): _number(weight) for term, weight in weights.items()})
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise SettingsError("encoders.no-vocabulary", file=settings, most=_MOST_TERMS) from error


def _weight(texts: int, texts_with: int) -> float:
    """Smoothed inverse document frequency, as scikit-learn's `TfidfTransformer` has it."""
    return round(math.log((1 + texts) / (1 + texts_with)) + 1, 6)


def _term(term: str) -> str:
    if not 1 <= len(term) <= _LONGEST_TERM or not is_clean(term):
        raise ValueError("not a term")
    return term


def _number(weight: object) -> float:
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 < weight < 1e6:
        raise ValueError("not a weight")
    return float(weight)
