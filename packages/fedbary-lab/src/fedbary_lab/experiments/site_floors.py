"""The floors of `sites`: what is promised of clients that differ, in how many cells it was tried, and where it fails.

A cell is what differs in nothing but the seed. A floor holds where the mean over cells keeps its bound; some ask,
besides, that no cell is beyond a bound of its own by a one-sided test at 5 %, corrected for the number of cells:
binomial where clients are counted, Student's t where rates are averaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary_lab.experiments.site_federations import (
    AT_RANDOM,
    EVERY_ROW,
    NEAREST,
    NOISY,
    NONE,
    ONE_WAY,
    SYSTEMATIC,
)

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("dataset", "clients", "rows", "effect", "reference_rows", "alpha", "fault")
LEVEL = 0.05


@dataclass(frozen=True)
class Floor:
    """What is promised of a metric, where a query holds; without a bound it is reported only."""

    name: str
    title: str
    metric: str
    where: str
    least: float | None = None
    most: float | None = None
    most_of_a_cell: float | None = None

    @property
    def bound(self) -> str:
        """The promise in a few words."""
        if self.least is not None:
            return f"at least {self.least:g}"
        beyond = "" if self.most_of_a_cell is None else f", no cell above {self.most_of_a_cell:g}"
        return "reported" if self.most is None else f"at most {self.most:g}{beyond}"

    def line(self, records: pd.DataFrame) -> dict[str, Any] | None:
        """How it stands; None where nothing is known."""
        known = records.query(self.where).dropna(subset=[self.metric]).astype({self.metric: float})
        if not len(known):
            return None
        cells = known.groupby(list(KEYS), sort=False)
        means = cells[self.metric].mean().abs()  # an estimate may be off to either side
        missed, most = np.nan, self.most_of_a_cell
        if most is not None:
            missed = sum(_keeps(cell, self.metric, most) < LEVEL / len(means) for _, cell in cells)
        elif self.least is not None or self.most is not None:
            missed = int(((means < (self.least or 0.0)) | (means > (self.most or np.inf))).sum())
        holds = (self.least or 0.0) <= means.mean() <= (self.most or np.inf) and not (most is not None and missed)
        worst = means.min() if self.metric in ("seen", "covered") else means.max()
        return _line(self.name, self.title, self.bound, means, missed=missed, holds=holds) | {"worst": float(worst)}


_FLAT, _SKEWED = "alpha == '∞'", "alpha != '∞'"
# No other effects are promised where labels are systematically wrong, and only what costs a model accuracy.
_PROMISED = f"{_FLAT} and effect in (0.0, 0.5)"
_COSTS = "accuracy_lost >= 0.1"
_PARTLY = f"fault in {(AT_RANDOM, NEAREST, NOISY)}"
_ORDERED = f"fault in {(AT_RANDOM, NEAREST, NOISY, ONE_WAY)}"  # where good and bad rows can be told apart
FLOORS = (
    Floor("clean", "clean clients blamed, no skew", "blamed", _FLAT, most=0.01, most_of_a_cell=0.05),
    Floor("clean_skew", "clean clients blamed, Dirichlet 0.3", "blamed", _SKEWED, most=0.03),
    Floor("random", f"{AT_RANDOM} seen", "seen", f"fault == '{AT_RANDOM}'", least=0.97),
    Floor("unknown", "nothing said of clean clients, 400 rows", "unknown", "rows >= 400", most=0.05),
    Floor("unknown_few", "nothing said of clean clients, fewer rows", "unknown", "rows < 400", most=0.20),
    Floor("nearest", f"{NEAREST}: estimated share off", "off", f"fault == '{NEAREST}'", most=0.06),
    *(
        floor
        for fault in SYSTEMATIC
        for name, at in [(fault.replace(" ", "_"), f"fault == '{fault}'")]
        for floor in (
            Floor(name, f"{fault} seen, costs 0.1", "seen", f"{_PROMISED} and {_COSTS} and {at}", least=0.90),
            Floor(f"{name}_mild", f"{fault} seen, costs less", "seen", f"{_PROMISED} and not {_COSTS} and {at}"),
            Floor(f"{name}_skew", f"{fault} seen, costs 0.1, Dirichlet", "seen", f"{_SKEWED} and {_COSTS} and {at}"),
        )
    ),
    Floor("one_way", f"{ONE_WAY} seen", "seen", f"{_PROMISED} and fault == '{ONE_WAY}'", least=0.75),
    Floor("one_way_skew", f"{ONE_WAY} seen, Dirichlet 0.3", "seen", f"{_SKEWED} and fault == '{ONE_WAY}'"),
    Floor(
        "noise",
        f"{EVERY_ROW} seen, no reference",
        "seen",
        f"reference_rows == 0 and fault == '{EVERY_ROW}'",
        least=0.97,
    ),
    Floor("false", "false among flagged rows", "false_rate", _PARTLY, most=0.10, most_of_a_cell=0.15),
    Floor("clean_flags", "clean federations with a flag", "any_flag", f"fault == '{NONE}'", most=0.10),
    Floor("covered", "interval holds the true share, at random", "covered", f"fault == '{AT_RANDOM}'", least=0.85),
    Floor("covered_nearest", "interval holds the true share, nearest", "covered", f"fault == '{NEAREST}'", least=0.85),
    Floor("covered_clean", "interval holds the true share, none", "covered", f"fault == '{NONE}'", least=0.85),
)


def floors(records: pd.DataFrame, groups: pd.DataFrame) -> pd.DataFrame:
    """One row per floor that something is known about: cells, mean, worst, cells that miss it, whether it holds."""
    import pandas as pd

    lines = [floor.line(records) for floor in FLOORS] + _compared(records) + [_recall(records)] + _blamed(groups)
    columns = ["name", "floor", "bound", "cells", "mean", "worst", "missed", "holds"]
    return pd.DataFrame([line for line in lines if line is not None], columns=columns)


def _keeps(cell: pd.DataFrame, metric: str, bound: float) -> float:
    """The p-value of: this cell keeps the bound."""
    from scipy.stats import binomtest, ttest_1samp

    values = cell[metric].to_numpy()
    if metric == "blamed":
        clean = cell["clean"].to_numpy(dtype=float)
        return float(binomtest(round(values @ clean), round(clean.sum()), bound, alternative="greater").pvalue)
    if values.mean() <= bound or len(values) < 3:
        return 1.0
    return float(ttest_1samp(values, bound, alternative="greater").pvalue) if np.ptp(values) > 0 else 0.0


def _compared(records: pd.DataFrame) -> list[dict[str, Any]]:
    """AUROC of the same clients, by data set and fault: with a reference, or a site effect, less that without."""
    lines: list[dict[str, Any]] = []
    references = sorted({int(count) for count in records["reference_rows"].dropna()} - {0})
    for column, other, least, title in (
        *(("reference_rows", count, -0.005, f"{count} reference rows less none") for count in references),
        ("effect", 0.5, -0.01, "site effect 0.5 less none"),
    ):
        same = [key for key in (*KEYS, "seed") if key != column]
        pairs = records.query(_ORDERED).dropna(subset=["auroc"]).pivot_table(index=same, columns=column, values="auroc")
        if 0 in pairs and other in pairs and len(gain := (pairs[other] - pairs[0]).dropna()):
            by = gain.groupby(level=["dataset", "fault"])
            missed = int((by.mean() + 2 * (by.std() / np.sqrt(by.count())).fillna(0.0) < least).sum())
            name, bound = f"auroc_{column}_{other:g}".replace(".", "_"), f"at least {least:g} within two errors"
            lines.append(_line(name, f"AUROC, {title}", bound, by.mean(), missed=missed, holds=not missed))
    return lines


def _recall(records: pd.DataFrame, least: float = 0.7) -> dict[str, Any] | None:
    """Bad rows flagged without a reference, over those flagged with a large one, by data set."""
    known = records.query(f"{_PARTLY} and {_FLAT}").dropna(subset=["recall"])
    means = known.groupby(["dataset", "reference_rows"])["recall"].mean().unstack().reindex(columns=[0, 1000])
    if not len(ratio := (means[0] / means[1000]).dropna()):
        return None
    title, missed = "recall of flags, no reference over 1000 rows", int((ratio < least).sum())
    return _line("recall", title, f"at least {least:g}", ratio, missed=missed, holds=bool(ratio.mean() >= least))


def _blamed(groups: pd.DataFrame, most: float = 0.05) -> list[dict[str, Any]]:
    """Natural groups that are blamed; a group is a cell."""
    lines: list[dict[str, Any]] = []
    for judge, part in groups.groupby("reference", sort=False) if len(groups) else ():
        blamed = part["blamed"].astype(float)
        name, title = f"natural_{str(judge).replace(' ', '_')}", f"natural groups blamed, {judge}"
        missed, holds = int(blamed.sum()), bool(blamed.mean() <= most)
        line = _line(name, title, f"at most {most:g}", blamed, missed=missed, holds=holds)
        lines.append(line | {"worst": float(part.groupby("natural")["blamed"].mean().max())})
    return lines


def _line(name: str, title: str, bound: str, means: pd.Series, *, missed: float, holds: bool) -> dict[str, Any]:
    numbers = {"cells": len(means), "mean": float(means.mean()), "worst": float(means.min()), "missed": float(missed)}
    return {"name": name, "floor": title, "bound": bound, **numbers, "holds": bool(holds)}
