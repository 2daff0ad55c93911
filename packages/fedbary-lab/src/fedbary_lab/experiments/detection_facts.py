"""What pages quote of the table of `detection`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary_lab.experiments.fact_names import fact_name
from fedbary_lab.experiments.spoilt_federations import SCORE

if TYPE_CHECKING:
    import pandas as pd

# The method that is held against others, and against which.
DEFAULT, RIVALS = "sketch", ("cleanlab", "logistic")
NOISE = "labels 10 %"


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Of all reference rows, of ``few``, and of federations without a clean row.

    ``auroc_mnist_alpha_0_1_logistic``: 10 % wrong labels; ``labels_mean_logistic``: mean over all settings with wrong
    labels; ``behind_logistic``: in how many of ``labels_settings`` the default is behind, by ``behind_logistic_most``;
    ``behind_score_mean``, ``power_least``, ``fdr_most``, …: the default, over all settings.
    """
    alone, federations = final[final["clients"].isna()], final[final["clients"].notna()]
    main = alone["block"] == alone["dataset"]
    found = _of_block(alone[main]) | {f"few_{name}": number for name, number in _of_block(alone[~main]).items()}
    return found | _of_federations(federations)


def _of_block(block: pd.DataFrame) -> dict[str, float]:
    own, labels = block[block["method"] == DEFAULT], block[block["noise"].str.startswith("labels")]
    found: dict[str, float] = {
        fact_name("auroc", row["dataset"], f"α = {row['alpha']}", row["method"]): row["auroc"]
        for row in block[block["noise"] == NOISE].to_dict("records")
    }
    for method, part in labels.groupby("method", sort=False):
        found[fact_name("labels_mean", method)] = part["auroc"].mean()
    found |= _behind(labels)
    for metric, worst in (("behind", "most"), ("power", "least"), ("fdr", "most")):
        name = "behind_score" if metric == "behind" else metric
        found[f"{name}_mean"] = own[metric].mean()
        found[f"{name}_{worst}"] = own[metric].max() if worst == "most" else own[metric].min()
    return found


def _behind(labels: pd.DataFrame) -> dict[str, float]:
    auroc = labels.pivot_table(index=["dataset", "noise", "alpha"], columns="method", values="auroc", sort=False)
    if DEFAULT not in auroc:
        return {}
    found: dict[str, float] = {"labels_settings": float(auroc[DEFAULT].notna().sum())}
    for rival in RIVALS:
        if rival in auroc:
            gap = (auroc[rival] - auroc[DEFAULT]).dropna()
            found |= {f"behind_{rival}": float((gap > 0).sum()), f"behind_{rival}_most": max(gap.max(), 0.0)}
    return found


def _of_federations(final: pd.DataFrame) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in ("labels", "features"):
        part = final[final["noise"].str.startswith(kind)]
        cards = part[part["method"] == SCORE]
        found |= {
            f"cards_{kind}_least": cards["auroc"].min(),
            f"cards_{kind}_most": cards["auroc"].max(),
            f"cards_{kind}_floors": float((part["method"] == "floor").sum()),
            f"cards_{kind}_missed": float(cards["auroc_missed"].sum()),
        }
    return found
