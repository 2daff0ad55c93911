"""The paper's first experiment: the federated barycenter of three Gaussians beside one with access to the data.

Three clients have 100 points each of Gaussians in the plane, with means drawn by the seed. `Interpolation` without a
reference moves its barycenter Q from round to round; beside it stands the free-support barycenter of all points (Cuturi
and Doucet 2014), the best of three starts, with as many points as Q. The *objective* is Σ W²(P_i, Q): its ratio is 1
where nothing is lost by not seeing the data. The paper's *squared error* sums the squared differences of positions
after the points are matched; *between starts* is the same between two pooled barycenters: no free support is unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary.transport import solve
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.gaussians import PLANE, gaussians, tables_of
from fedbary_lab.experiments.tables import errors, markdown_table, mean_and_spread, number
from fedbary_lab.transport.barycenter import free_support_barycenter

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation
    from fedbary.views.plots import Display

Floats = NDArray[np.float64]

ROWS = 100
ROUNDS = (*range(1, 11), 20)
SHOWN = (3, 10)
STARTS = 3
METRICS = ("ratio", "squared_error", "between_starts", "bound", "exact", "rose")


@dataclass(frozen=True)
class Setting:
    """What the paper has, or what makes it harder."""

    support: int
    t: float | None
    same_covariance: bool = True

    @property
    def protocol(self) -> fb.Interpolation:
        """All points but for the guarded setting, in which every point averages five rows or more."""
        return fb.Interpolation(
            support=self.support, t=self.t, allow_reconstruction=self.support == ROWS, min_group=5, tolerance=0.0
        )


PAPER = "The paper's: S = 100, t = 0.5, same covariance"
SETTINGS = {
    PAPER: Setting(ROWS, 0.5),
    "Random t": Setting(ROWS, None),
    "Other covariances": Setting(ROWS, 0.5, same_covariance=False),
    "S = 20, five rows a point": Setting(20, 0.5),
    "All three": Setting(20, None, same_covariance=False),
}


@dataclass(frozen=True)
class Cell:
    """One draw of three Gaussians in one setting, looked at after every round."""

    setting: str
    seed: int
    rounds: tuple[int, ...] = ROUNDS

    def __str__(self) -> str:
        return f"{self.setting}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Settings × seeds; the smoke test looks at two settings after three and ten rounds."""
    if smoke:
        return [Cell(setting, 0, SHOWN) for setting in (PAPER, "All three")]
    return [Cell(setting, seed) for setting in SETTINGS for seed in range(10)]


def compute(cell: Cell) -> list[Record]:
    """A record for each round: a run that stops after it has the same rounds before."""
    setting = SETTINGS[cell.setting]
    points = gaussians(ROWS, seed=cell.seed, same_covariance=setting.same_covariance)
    pooled = pooled_barycenters(points, setting.support, seed=cell.seed)
    least = objective(points, pooled[0])
    records = []
    for number_of_rounds in cell.rounds:
        result = federated(points, setting, number_of_rounds, seed=cell.seed)
        if result.failed:
            return [{"error": next(iter(result.failed.values()))}]
        assert result.target is not None
        found = result.target[:, :2]
        bounds = result.history.groupby("round")["estimate"].sum().to_numpy()
        records.append(
            {
                "round": number_of_rounds,
                "ratio": objective(points, found) / least,
                "squared_error": squared_error(found, pooled[0]),
                "between_starts": squared_error(pooled[1], pooled[0]),
                "bound": float(bounds[-1]),
                "exact": sum(solve(found, own).distance for own in points),
                "rose": float(bounds[-1] > bounds[-2] * (1.0 + 1e-9)),
            }
        )
    return records


def federated(points: Sequence[Floats], setting: Setting, rounds: int, *, seed: int) -> Valuation:
    """The run whose target is the federated barycenter after so many rounds."""
    protocol = replace(setting.protocol, rounds=rounds)
    return fb.value(tables_of(points), protocol=protocol, space=PLANE, seed=seed, engine=fb.LocalEngine(workers=1))


def pooled_barycenters(points: Sequence[Floats], support: int, *, seed: int) -> list[Floats]:
    """Barycenters with access to the data, from several starts, the best first."""
    rng = np.random.default_rng([seed, 1])
    everyone = np.concatenate(points)
    starts = [everyone[rng.choice(len(everyone), support, replace=False)] for _ in range(STARTS)]
    found = [free_support_barycenter([(own, None) for own in points], start).points for start in starts]
    return sorted(found, key=lambda centre: objective(points, centre))


def objective(points: Sequence[Floats], centre: Floats) -> float:
    """Σ W²(P_i, Q)."""
    return float(sum(solve(centre, own).cost for own in points))


def squared_error(found: Floats, other: Floats) -> float:
    """The paper's error: squared differences of all positions, the points matched so that they are least.

    Examples
    --------
    >>> squared_error(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    4.0
    """
    return solve(found, other).cost * len(found)


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds for each round, and the largest ratio of all seeds."""
    keys = ["setting", "round"]
    final = mean_and_spread(records, keys, METRICS)
    if "ratio" not in records:
        return final
    return final.merge(records.groupby(keys)["ratio"].max().rename("largest_ratio").reset_index(), how="left")


def markdown(final: pd.DataFrame) -> str:
    """One table per setting: rounds down."""
    parts = [
        "# Three Gaussians: federated and pooled barycenter\n",
        "Three clients with 100 points each. The ratio divides Σ W²(P_i, Q) of the federated barycenter by that of "
        "the pooled one, which has access to the data and as many points; the squared error sums the squared "
        "differences of all positions after matching, as in the paper, which prints no numbers and shows rounds 3 and "
        "10; *between starts* is the squared error of two pooled barycenters from different starts. A^(k) is the sum "
        "that Theorem 1 is about; it should not rise, and come down to Σ W(P_i, Q). Mean ± standard deviation over "
        "seeds.\n",
    ]
    header = [
        *("round", "objective ratio", "largest", "squared error", "between starts"),
        *("A^(k)", "Σ W(P_i, Q)", "share of seeds in which A rose"),
    ]
    for setting, group in final[final["seeds"] > 0].groupby("setting", sort=False):
        rows = [
            [
                f"{row['round']:.0f}",
                number(row["ratio"], row["ratio_sd"], 4),
                number(row["largest_ratio"], digits=4),
                *(number(row[m], row[f"{m}_sd"], 2) for m in ("squared_error", "between_starts", "bound", "exact")),
                number(row["rose"], digits=2),
            ]
            for row in group.to_dict("records")
        ]
        parts += [f"## {setting}\n", markdown_table(header, rows), ""]
    return "\n".join([*parts, *errors(final, ["setting"])]).rstrip() + "\n"


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Ratios and errors at rounds 3 and 10, in the paper's setting and where all is harder."""
    names = dict(zip(SETTINGS, ("paper", "random_t", "covariances", "guarded", "all"), strict=True))
    found = {}
    for row in final[final["seeds"] > 0].to_dict("records"):
        if row["round"] in SHOWN:
            place = f"{names[row['setting']]}_round_{row['round']:.0f}"
            found[f"ratio_{place}"] = row["ratio"]
            found[f"largest_ratio_{place}"] = row["largest_ratio"]
            found[f"squared_error_{place}"] = row["squared_error"]
            found[f"between_starts_{place}"] = row["between_starts"]
            found[f"gap_of_bound_{place}"] = row["bound"] / row["exact"] - 1.0
    for setting, group in final[final["seeds"] > 0].groupby("setting", sort=False):
        found[f"rounds_risen_{names[str(setting)]}"] = float((group["rose"] * group["seeds"]).sum())
    return found


def pictures(final: pd.DataFrame) -> list[Display]:
    """The paper's figure, drawn again for the first seed, and the ratio from round to round."""
    from fedbary_lab.plots import curves, scatter

    shown = final[final["ratio"].notna()].assign(round=lambda part: part["round"].astype(int))
    return [
        scatter(
            drawn_points(),
            x="x",
            y="y",
            by="points",
            panel="after",
            name="toy-points",
            title="Three Gaussians, their pooled barycenter, and the federated one after 3 and 10 rounds.",
            labels={"x": "", "y": ""},
        ),
        curves(
            shown[["setting", "round", "ratio"]].reset_index(drop=True),
            x="round",
            y="ratio",
            by="setting",
            name="toy-ratio",
            title="How much larger the federated barycenter's objective is than the pooled one's, by round.",
            labels={"ratio": "objective, federated / pooled"},
        ),
    ]


def drawn_points(seed: int = 0) -> pd.DataFrame:
    """The points of the paper's figure: clients, pooled and federated barycenter, for rounds 3 and 10."""
    import pandas as pd

    setting = SETTINGS[PAPER]
    points = gaussians(ROWS, seed=seed)
    pooled = pooled_barycenters(points, setting.support, seed=seed)[0]
    parts = []
    for rounds in SHOWN:
        target = federated(points, setting, rounds, seed=seed).target
        assert target is not None
        groups = {f"client_{place + 1}": own for place, own in enumerate(points)}
        groups |= {"pooled barycenter": pooled, "federated barycenter": target[:, :2]}
        for name, own in groups.items():
            parts.append(pd.DataFrame(own, columns=["x", "y"]).assign(points=name, after=f"round {rounds}"))
    return pd.concat(parts, ignore_index=True)
