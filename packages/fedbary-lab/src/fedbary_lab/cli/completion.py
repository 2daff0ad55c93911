"""What a shell offers after Tab: names, without importing anything heavy.

They stand here once more because their registries import NumPy; a test compares the two.
"""

from __future__ import annotations

import typer

from fedbary.cli.ui.options import several_of
from fedbary.protocols.registry import PROTOCOLS

MODELS = ("logistic", "mlp", "cnn")
DATASETS = (
    "digits", "breast-cancer", "diabetes", "cifar10-embeddings", "cifar10-images", "fashion-mnist", "mnist",
    "dry-bean",
)  # fmt: skip
EXPERIMENTS = (
    "toy", "bounds", "support-rounds", "no-validation", "detection", "gradients", "cards", "verdict", "sites",
    "accuracy", "ranking", "five-cases", "fidelity", "robustness", "worth", "timing", "boost", "point-removal",
    "privacy", "frontier", "empirical-epsilon", "duplication",
)  # fmt: skip
CLIENT_METHODS = (
    "exactfed", "loo", "datasv", "mr", "tmr", "or", "gtg", "gtg-ti", "gtg-tib", "gtg-oti", "fedshapley",
    "fedshapley-gt", "comfedsv", "cgsv", "shapfed", "fedce", *PROTOCOLS, "triangle", "worth", "published",
    "worth-alone",
)  # fmt: skip
ROW_METHODS = (
    "knn-shapley", "logistic", "cleanlab", "lava", "lava-exact", "row-loo", "row-loo-loss", "tmc", "beta-shapley",
    "banzhaf", "data-oob", "ame", "influence", *PROTOCOLS, "triangle",
)  # fmt: skip


def methods(ctx: typer.Context, incomplete: str) -> list[str]:
    """Methods that value clients or, after --rows, rows."""
    return several_of(*(ROW_METHODS if ctx.params.get("rows") else CLIENT_METHODS))(incomplete)
