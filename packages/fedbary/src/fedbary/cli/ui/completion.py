"""What a shell offers after Tab: names, without importing anything heavy.

Most names stand here once more because their registries import NumPy; a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import typer

from fedbary.protocols.registry import PROTOCOLS

MODELS = ("logistic", "mlp", "cnn")
DATASETS = (
    "digits", "breast-cancer", "diabetes", "cifar10-embeddings", "cifar10-images", "fashion-mnist", "mnist",
    "dry-bean",
)  # fmt: skip
EXPERIMENTS = (
    "toy", "bounds", "support-rounds", "no-validation", "detection", "gradients", "cards", "verdict", "accuracy",
    "ranking", "five-cases", "fidelity", "robustness", "worth", "timing", "boost", "point-removal", "privacy",
    "frontier", "empirical-epsilon", "duplication",
)  # fmt: skip
CLIENT_METHODS = (
    "exactfed", "loo", "datasv", "mr", "tmr", "or", "gtg", "gtg-ti", "gtg-tib", "gtg-oti", "fedshapley",
    "fedshapley-gt", "comfedsv", "cgsv", "shapfed", "fedce", *PROTOCOLS, "worth", "published", "worth-alone",
)  # fmt: skip
ROW_METHODS = (
    "knn-shapley", "logistic", "cleanlab", "lava", "lava-exact", "row-loo", "row-loo-loss", "tmc", "beta-shapley",
    "banzhaf", "data-oob", "ame", "influence", *PROTOCOLS,
)  # fmt: skip
_LARGEST_INDEX = 10_000_000

Completer = Callable[[str], list[str]]


def one_of(*names: str) -> Completer:
    """A completion that offers these names.

    Examples
    --------
    >>> one_of("clean", "relabelled")("re")
    ['relabelled']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def several_of(*names: str) -> Completer:
    """A completion of a list with commas, which offers what is not in it yet.

    Examples
    --------
    >>> several_of("gtg", "mr")("mr,")
    ['mr,gtg']
    """

    def complete(incomplete: str) -> list[str]:
        done, _, last = incomplete.rpartition(",")
        taken = done.split(",")
        return [f"{done},{name}" if done else name for name in names if name.startswith(last) and name not in taken]

    return complete


def methods(ctx: typer.Context, incomplete: str) -> list[str]:
    """Methods that value clients or, after --rows, rows."""
    return several_of(*(ROW_METHODS if ctx.params.get("rows") else CLIENT_METHODS))(incomplete)


def clients(ctx: typer.Context, incomplete: str) -> list[str]:
    """Clients with row values in the result folder that was typed."""
    # Click has not come to the arguments when the option to be completed has no value yet.
    folder = ctx.params.get("folder") or next(iter(ctx.args), "")
    try:
        index = Path(folder) / "valuation.json"
        if index.stat().st_size > _LARGEST_INDEX:
            return []
        names = json.loads(index.read_text(encoding="utf-8"))["rows"] or {}
    except (OSError, ValueError, KeyError, TypeError):  # half a command line may name anything
        return []
    # A name with a control character cannot be typed, and a shell might act on it.
    return sorted(str(name) for name in names if str(name).startswith(incomplete) and str(name).isprintable())
