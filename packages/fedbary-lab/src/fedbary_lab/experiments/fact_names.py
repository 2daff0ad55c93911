"""Names of facts: what a number is about, in small letters, for the sources of the pages that quote it."""

from __future__ import annotations

import string

_LETTERS = {"α": "alpha", "γ": "gamma", "ε": "eps", "η": "eta", "σ": "sigma", "∞": "inf", "%": "percent"}
_KEPT = frozenset(string.ascii_lowercase + string.digits)


def fact_name(*parts: object) -> str:
    """The parts as one name.

    Examples
    --------
    >>> fact_name("auroc", "fashion-mnist", 300, "ε = 0.3"), fact_name("seen", "labels 10 %", "∞")
    ('auroc_fashion_mnist_300_eps_0_3', 'seen_labels_10_percent_inf')
    """
    text = " ".join(map(str, parts)).lower()
    for letter, name in _LETTERS.items():
        text = text.replace(letter, f" {name} ")
    return "_".join("".join(letter if letter in _KEPT else " " for letter in text).split())
