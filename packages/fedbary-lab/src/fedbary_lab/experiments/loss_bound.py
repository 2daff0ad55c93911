"""Theorem 2 where it can be evaluated: a validation loss beside the bound that the distance gives; part of `bounds`.

A softmax regression is trained on a client's rows, which are more and more noisy, and looks at the validation rows Q.
Its Lipschitz constant is at most ε = ‖W‖/2: the softmax has 1/2. Cross-entropy is Lipschitz nowhere near 0, so the loss
is the length of the difference of label and prediction, ‖y − f(x)‖, for which k = 1 and which is at most √2. The right
side of the theorem is taken without its O(·): training loss + ε·W(P, Q), with the exact distance in the paper's space.
Beside it stands what holds without any O(·), by Kantorovich duality: training loss + min E[ε‖x − x'‖ + ‖y − y'‖].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

DATASETS = ("digits", "fashion-mnist")
NOISES = {"labels": "wrong labels", "features": "features, 1 σ"}
BOTH, ALL = "both", "all"
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
# Inverse strengths of the penalty on W, and what it leaves of the weights.
STRENGTHS = {1.0: "usual", 0.01: "small", 0.0001: "tiny"}
LARGEST_LOSS = float(np.sqrt(2.0))
SPACE = fb.Space(scaling="none", projection="none", metric="euclidean", labels="gaussian")
METRICS = (
    *("distance", "lipschitz", "training_loss", "validation_loss", "right", "slack", "holds", "vacuous"),
    *("certain", "certain_holds", "certain_vacuous", "pearson", "spearman", "slope"),
)


@dataclass(frozen=True)
class LossCell:
    """One client that becomes noisier, in two ways, and its models."""

    dataset: str
    strength: float
    seed: int
    rows: int = 500
    shares: tuple[float, ...] = SHARES

    def __str__(self) -> str:
        return f"Theorem 2, {self.dataset}, C = {self.strength:g}, seed {self.seed}"


def cells(smoke: bool) -> list[LossCell]:
    """Data sets × penalties × seeds; the smoke test has few digits."""
    if smoke:
        return [LossCell("digits", 1.0, 0, 120, (0.0, 0.3, 0.5))]
    return [LossCell(dataset, strength, seed) for dataset in DATASETS for strength in STRENGTHS for seed in range(5)]


def compute(cell: LossCell) -> list[Record]:
    """A record for each kind and share of noise, and for how loss and distance go together over the shares."""
    data = split_dataset(cell.dataset, cell.rows, seed=cell.seed)
    chosen = data.rows(cell.rows, np.inf, seed=cell.seed)
    # Pixels from 0 to 1, as in the paper.
    unit = 1.0 / max(float(np.abs(column).max()) for column in data.reference.columns.values())
    validation = scaled(data.reference, unit)
    records = []
    for noise in NOISES:
        for share in cell.shares:
            client = scaled(data.client(chosen, noise, share, seed=cell.seed).table, unit)
            sides = bound(client, validation, cell.strength)
            records.append({"theorem": 2, "noise": noise, "share": f"{100 * share:.0f} %", **sides})
    parts = {noise: [record for record in records if record["noise"] == noise] for noise in NOISES}
    together = [{"theorem": 2, "noise": noise, "share": ALL, **going_together(mine)} for noise, mine in parts.items()]
    return [*records, *together, {"theorem": 2, "noise": BOTH, "share": ALL, **going_together(records)}]


def going_together(records: Sequence[Record]) -> dict[str, float]:
    """How the validation loss goes with the distance over clients: correlations, and loss per unit of distance."""
    from scipy.stats import pearsonr, spearmanr

    distance, loss = (np.array([record[name] for record in records]) for name in ("distance", "validation_loss"))
    return {
        "pearson": float(pearsonr(distance, loss)[0]),
        "spearman": float(spearmanr(distance, loss)[0]),
        "slope": float(np.polyfit(distance, loss, 1)[0]),
    }


def scaled(table: fb.Table, unit: float) -> fb.Table:
    """The same rows with all features times ``unit``."""
    return table.replace(columns={name: np.asarray(column) * unit for name, column in table.columns.items()})


def bound(client: fb.Table, validation: fb.Table, strength: float) -> dict[str, float]:
    """Both sides of the theorem for a model trained on the client's rows, and the bound that is certain."""
    from ot import emd2
    from scipy.spatial.distance import cdist
    from sklearn.linear_model import LogisticRegression

    classes = np.unique(np.concatenate([client.labels, validation.labels]))
    (X, own), (Y, truth) = (_arrays(table, classes) for table in (client, validation))
    model = LogisticRegression(C=strength, max_iter=500).fit(X, own.argmax(axis=1))
    lipschitz = softmax_lipschitz(model.coef_)
    training, validating = (_loss(model, points, labels) for points, labels in ((X, own), (Y, truth)))
    schema = fb.fit_schema(validation, SPACE)
    P, Q = fb.embed(client, schema), fb.embed(validation, schema)
    distance = fb.solve(P.points, Q.points, P.weights, Q.weights).distance
    apart = lipschitz * cdist(X, Y) + cdist(own, truth)
    even = [np.full(len(points), 1.0 / len(points)) for points in (X, Y)]
    right, certain = training + lipschitz * distance, training + float(emd2(*even, apart, numItermax=10**7))
    return {
        "distance": distance,
        "lipschitz": lipschitz,
        "training_loss": training,
        "validation_loss": validating,
        "right": right,
        "slack": right - validating,
        "holds": float(validating <= right),
        "vacuous": float(right >= LARGEST_LOSS),
        "certain": certain,
        "certain_holds": float(validating <= certain + 1e-9),
        "certain_vacuous": float(certain >= LARGEST_LOSS),
    }


def softmax_lipschitz(weights: Floats) -> float:
    """An upper end of the Lipschitz constant of x ↦ softmax(Wx + b) between Euclidean spaces: ‖W‖/2.

    The softmax's Jacobian diag(p) − p·pᵀ has no eigenvalue above 1/2, which two equally likely classes reach. A
    vector that all classes share changes no probability, so W is centred before.

    Examples
    --------
    >>> softmax_lipschitz(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])).__round__(3)
    0.707
    """
    return float(np.linalg.norm(weights - weights.mean(axis=0), 2)) / 2.0


def _arrays(table: fb.Table, classes: NDArray[Any]) -> tuple[Floats, Floats]:
    """Features, and labels as corners of the simplex."""
    X = np.hstack([np.asarray(column, dtype=float).reshape(len(table), -1) for column in table.columns.values()])
    return X, (table.labels[:, None] == classes).astype(float)


def _loss(model: Any, X: Floats, labels: Floats) -> float:
    predicted = np.zeros_like(labels)
    predicted[:, model.classes_] = model.predict_proba(X)
    return float(np.linalg.norm(labels - predicted, axis=1).mean())


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds."""
    return mean_and_spread(records, ["dataset", "noise", "strength", "share"], METRICS).assign(theorem=2)


def markdown(final: pd.DataFrame) -> str:
    """How often the bound holds and says something, then both sides by share of noise."""
    parts = [
        "## Theorem 2: validation loss and distance\n",
        "A softmax regression trained on 500 rows of a client, of which a share is noisy, and 500 validation rows. The "
        "loss is ‖y − f(x)‖ (k = 1): cross-entropy, which the theorem is usually read for, is not Lipschitz, and on "
        "labels in {0, 1} no constant k exists for it. ε = ‖W‖/2, W(P, Q) is the exact distance in the paper's space "
        "of raw features and Gaussian labels. The right side leaves the O(·) out, which the theorem writes as O(εV) "
        "and its proof as 2kVδ. A right side of √2 or more is vacuous: no loss is larger. *Certain* is the bound "
        "that needs no O(·): ε times the distance of features plus that of labels, under one plan. Mean ± standard "
        "deviation over seeds.\n",
    ]
    header = ["data set", "C", "right side holds", "vacuous", "times the loss", "certain bound holds", "vacuous"]
    sides = final[final["share"] != ALL]
    rows = []
    for (dataset, strength), group in sides.groupby(["dataset", "strength"], sort=False):
        holds, vacuous, certain, empty = (
            number(group[m].mean(), digits=2) for m in ("holds", "vacuous", "certain_holds", "certain_vacuous")
        )
        times = number((group["right"] / group["validation_loss"]).mean(), digits=1)
        rows.append([str(dataset), f"{strength:g}", holds, vacuous, times, certain, empty])
    parts += [markdown_table(header, rows), "", _linear(final[final["share"] == ALL])]
    places = zip(sides["dataset"], sides["strength"], strict=True)
    shown = sides.assign(
        noise=sides["noise"].map(NOISES),
        block=[f"{dataset}, C = {strength:g}" for dataset, strength in places],
    )
    titles = {
        "validation_loss": "validation loss (left side)",
        "right": "training loss + ε·W (right side without O(·))",
        "certain": "certain bound",
        "distance": "W(P, Q)",
        "lipschitz": "ε",
    }
    blocks = pivots(shown, by="block", down=["noise"], across="share", titles=titles, digits=2)
    parts.append(blocks.replace("## ", "### "))
    return "\n".join(parts).rstrip() + "\n"


def _linear(over: pd.DataFrame) -> str:
    """How loss and distance go together, within a kind of noise and over both."""
    header = ["data set", "C", "noise of the clients", "Pearson of loss and W", "Spearman", "loss per unit of W"]
    rows = [
        [
            str(row["dataset"]),
            f"{row['strength']:g}",
            NOISES.get(row["noise"], "both kinds together"),
            *(number(row[m], row[f"{m}_sd"], 2) for m in ("pearson", "spearman")),
            number(row["slope"], row["slope_sd"]),
        ]
        for row in over.to_dict("records")
    ]
    return (
        "**Does the loss grow linearly with W?** Over the clients with more and more noise of one kind, and over those "
        "of both kinds together:\n\n" + markdown_table(header, rows) + "\n"
    )


def facts(final: pd.DataFrame) -> dict[str, float]:
    """How often the bound holds and is vacuous, its smallest mean slack, and how loss goes with distance."""
    sides, over = final[final["share"] != ALL], final[final["share"] == ALL]
    if not sides["right"].notna().any():
        return {}
    found = {
        "loss_bound_holds": sides["holds"].mean(),
        "loss_bound_vacuous": sides["vacuous"].mean(),
        "loss_bound_least_slack": sides["slack"].min(),
        "certain_bound_holds": sides["certain_holds"].mean(),
        "certain_bound_vacuous": sides["certain_vacuous"].mean(),
    }
    for strength, word in STRENGTHS.items():
        mine = sides[sides["strength"] == strength]
        if len(mine):
            found[f"vacuous_with_{word}_weights"] = mine["vacuous"].mean()
            found[f"times_the_loss_with_{word}_weights"] = (mine["right"] / mine["validation_loss"]).mean()
            found[f"validation_loss_with_{word}_weights"] = mine["validation_loss"].mean()
    usual = over[over["strength"] == 1.0]
    for noise in (*NOISES, BOTH):
        mine = usual[usual["noise"] == noise]
        for metric in ("pearson", "spearman", "slope"):
            found[f"loss_and_distance_{metric}_{noise}"] = mine[metric].mean()
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}
