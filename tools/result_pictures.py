"""The pictures of docs/images that show results, each from the stored table of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fedbary_lab.experiments import find

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display


def skew(table: pd.DataFrame) -> Display:
    from fedbary_lab.experiments.detection import skew_picture

    shown = ["sketch", "logistic", "cleanlab", "KNN-Shapley", "paper γ"]
    table = table[table["method"].isin(shown) & table["dataset"].isin(["fashion-mnist", "cifar10-embeddings"])]
    table = table[table["clients"].isna() & (table["block"] == table["dataset"])]
    table = table.sort_values("method", key=lambda names: names.map(shown.index), kind="stable")
    return skew_picture(table, "labels 10 %")


def fidelity(table: pd.DataFrame) -> Display:
    shown = ["exactfed", "loo", "datasv", "mr", "gtg", "fedshapley", "cgsv", "sketch", "interpolation"]
    worth = ["worth", "worth, game alone", "worth, guarded"]
    return named("fidelity", "fidelity")(table[table["method"].isin([*shown, *worth])])


def named(picture: str, experiment: str) -> Callable[[pd.DataFrame], Display]:
    """The picture whose name begins so, among those that an experiment draws."""

    def chosen(table: pd.DataFrame) -> Display:
        drawn: list[Display] = find(experiment).module.pictures(table)
        return next(one for one in drawn if one.name.startswith(picture))

    return chosen


# Name of the file, experiment, how it is drawn, width and height.
PICTURES: dict[str, tuple[str, Callable[[pd.DataFrame], Display], int, int]] = {
    "skew": ("detection", skew, 900, 400),
    "cards-against-references": ("cards", named("cards-against-references", "cards"), 1000, 380),
    "frontier": ("frontier", named("frontier", "frontier"), 1000, 380),
    "fidelity-against-time": ("fidelity", fidelity, 1000, 420),
    "verdict": ("verdict", named("verdict", "verdict"), 1000, 380),
}
