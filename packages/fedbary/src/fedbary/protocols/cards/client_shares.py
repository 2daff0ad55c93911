"""What is said of each client's rows: by itself, or else by its card; without clean rows, beside the other clients."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbary.protocols.cards.findings import medians_of_others
from fedbary.protocols.sketch.numbers import ESTIMATES, client_numbers, quality_columns
from fedbary.valuation.estimates import Estimate

# Nobody's rows are clean: what shares of clean clients may read without a reference (`fedbary reproduce verdict`).
_LABELS_DIFFER, _FEATURES_DIFFER = 0.03, 0.08


def client_shares(
    said: Mapping[str, Mapping[str, float]], by_card: Mapping[str, Estimate | None], *, clean: bool
) -> dict[str, dict[str, float]]:
    """Columns of ``result.clients`` about bad rows, for the clients of ``by_card``.

    ``said`` are the clients' own numbers, ``by_card`` the shares of wrong labels that cards tell, and ``clean`` whether
    a reference calibrated the former. Without one odd features are those beyond the other clients'.
    """
    odd = {name: told["odd_features"] for name, told in said.items() if "odd_features" in told}
    usual = dict(zip(odd, medians_of_others(np.array([*odd.values()])[:, None])[:, 0], strict=True)) if odd else {}
    found: dict[str, dict[str, float]] = {}
    for name, estimate in by_card.items():
        told = said.get(name, {})
        if "wrong_labels" in told:
            if not clean:
                told = _beside(told, float(usual[name]) if len(odd) > 2 else 0.0)
            found[name] = client_numbers(told)
        elif estimate is not None:
            found[name] = estimate.columns("wrong_labels") | quality_columns(estimate)
        else:
            found[name] = {}
    return found


def possible(told: Mapping[str, float]) -> bool:
    """Whether every share lies in its interval; what contradicts itself counts as not said."""
    shares = [[told.get(f"{name}{end}", np.nan) for end in ("_low", "", "_high")] for name in ESTIMATES]
    return all(low <= share <= high for low, share, high in shares)


def _beside(told: Mapping[str, float], usual: float) -> dict[str, float]:
    """What a client says of its rows, odd ones beyond those of the others, with what clients differ in besides."""
    found = dict(told)
    for name, less, wider in (("wrong_labels", 0.0, _LABELS_DIFFER), ("odd_features", usual, _FEATURES_DIFFER)):
        found[name] = max(0.0, told[name] - less)
        found[f"{name}_low"] = max(0.0, told[f"{name}_low"] - less - wider)
        found[f"{name}_high"] = min(1.0, max(found[name], told[f"{name}_high"] - less + wider))
    return found
