"""What a client says of its rows beside the distance: shares of wrong labels, odd features and missing cells.

Under differential privacy these are counts of rows, each by a bounded function of the row alone. A row is *odd* where
its features cost more at the nearest point of the sketch than those of nine clean rows in ten, and *doubted* where it
is not odd and the linear part of the server's model prefers another label (a number: where its label makes it much
dearer than its features do). Both are 0 or 1 for each row, so that one row moves a count by 1; a row's missing cells
are at most all of its cells. The server knows how many clean rows are doubted and odd, and debiases. The proof is in
docs/sketch.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of
from fedbary.judging.federation import Estimate, Judgement
from fedbary.privacy.noise import GRID
from fedbary.protocols.messages import Scalar
from fedbary.protocols.server import quality_columns
from fedbary.protocols.sketch.sketch import SketchPoints, sketches_without
from fedbary.space.columns import category_places
from fedbary.space.encode import ROW_WISE, missing_by_column, row_values
from fedbary.space.notes import CellCounts, told_missing
from fedbary.space.points import Points
from fedbary.space.schema import Schema
from fedbary.strict_json import read_json
from fedbary.transport.solve import cost_matrix
from fedbary.valuation.rows import bad_rows

Integers = NDArray[np.int64]

ESTIMATES = ("wrong_labels", "odd_features")
# Every scalar of a reply that is about the rows, in the order of `Estimate.columns`.
ABOUT_ROWS = (*(name + end for name in ESTIMATES for end in ("", "_low", "_high")), "missing")
# Those of a private answer, from which the server makes the others; "missing" is in both.
NOISY = ("doubted", "odd")
# How far a client lies from where the reference expects it, and how many times it scatters as much.
PLACE = ("shift", "blur")
# Digits of the share of missing cells that leave where a server is not trusted.
_DIGITS = 2
Floats = NDArray[np.float64]

# The share of clean rows that count as odd, and of numbers as labels that count as doubted.
ODD = 0.1
# What each release gets of ε, where there are estimates about rows; half of it is the distance's, as without them.
PARTS = {"transport": 1 / 2, "doubted": 3 / 16, "odd": 3 / 16, "nearest": 1 / 16, "missing": 1 / 16}
# Standard errors, and the probability that noise exceeds its part of the interval.
_Z, _MISS = 2.0, 0.05
_LONGEST_NAMES = 2**24
_LINEAR = {"model.coefficients": Numbers(("linear", "features")), "model.offsets": Numbers(("linear",))}


def about_rows(
    judgement: Judgement, table: Table, schema: Schema, *, cells: CellCounts, copies: Integers, min_group: int
) -> dict[str, Scalar]:
    """The scalars, exact for ``min_group`` 1; else in whole rows, and 0 for fewer rows than ``min_group``.

    A server that chose the model could read real numbers bit by bit, and a count of one row as whether it is there. So
    the judgement must be of evidence that was made for that ``min_group`` (`fedbary.judging.evidence`). Rows that are
    copies of each other have the same number in ``copies``.
    """
    found: dict[str, Scalar] = {}
    rows = len(table)
    for name, estimate in zip(ESTIMATES, (judgement.wrong, judgement.odd), strict=True):
        for key, exact in estimate.columns(name).items():
            count = round(exact * rows) if min_group > 1 else 0
            grouped = 0.0 if count < min_group else 1.0 if rows - count < min_group else count / rows
            found[key] = grouped if min_group > 1 else exact
    if np.isfinite(judgement.blur):
        found["blur"] = round(judgement.blur, _DIGITS)
    share = cells.share(schema)
    if min_group > 1:
        # No column says of few rows that they lack a cell, or that they have one.
        shares = told_missing(table, schema, cells, copies, least=min_group)
        lacking = sum(shares[column.name] * column.width for column in schema.columns)
        share = round(lacking / schema.cells, _DIGITS)
    return {**found, "missing": share}


def client_numbers(scalars: Mapping[str, float]) -> dict[str, float]:
    """Columns of ``result.clients`` from a reply's scalars; none of what the reply does not have."""
    found = {name: scalars[name] for name in (*ABOUT_ROWS, *PLACE) if np.isfinite(scalars.get(name, np.nan))}
    if not all(name in found for name in ABOUT_ROWS[:-1]):
        return found
    wrong, odd = (Estimate(found[name], found[f"{name}_low"], found[f"{name}_high"]) for name in ESTIMATES)
    return {**found, **quality_columns(bad_rows(odd, wrong))}


@dataclass(frozen=True, eq=False)
class PublicJudge:
    """What the server sends to count rows by: a linear model (none for numbers), and costs from which rows count."""

    coefficients: Floats
    offsets: Floats
    classes: tuple[str, ...]
    odd_from: float
    doubted_from: float

    @classmethod
    def of(cls, scalars: Mapping[str, object], arrays: Mapping[str, np.ndarray], schema: Schema) -> PublicJudge | None:
        """Read it from a message; None where the message has none. Refuses by the message alone."""
        if "odd_from" not in scalars:
            return None
        odd, doubted = (float(str(scalars.get(name, GRID))) for name in ("odd_from", "doubted_from"))
        if schema.label.kind == "number":
            return cls(np.zeros((0, 0)), np.zeros(0), (), odd, doubted)
        try:
            names = read_json(arrays["model.classes"].tobytes().decode("utf-8"), longest=_LONGEST_NAMES)
            classes = tuple(str(name) for name in names)
        except (KeyError, ValueError, TypeError) as error:
            raise ProtocolError("protocols.server-array", name="model.classes") from error
        sizes = {"linear": len(classes) or 1, "features": schema.encoded_width}
        coefficients, offsets = arrays_of(_LINEAR, arrays, sizes)
        return cls(coefficients, offsets, classes, odd, doubted)


@dataclass(frozen=True)
class RowCounts:
    """What is released beside the costs; one row moves each by at most 1, ``missing`` by the cells of a row."""

    doubted: int
    odd: int
    missing: int


def count_rows(table: Table, schema: Schema, judge: PublicJudge, nearest: Floats, by_features: Floats) -> RowCounts:
    """Count, given each row's integer cost at its nearest point, with the label and by features alone."""
    odd = by_features > judge.odd_from
    if schema.label.kind == "number":
        doubted = nearest - by_features > judge.doubted_from
    else:
        with np.errstate(all="ignore"):
            votes = ROW_WISE.times(row_values(table, schema), judge.coefficients.T) + judge.offsets
        doubted = np.argmax(votes, axis=1) != category_places(table.labels, judge.classes)
    missing = sum(int(missing_by_column(part, schema).sum()) for part in table.batches())
    return RowCounts(int((doubted & ~odd).sum()), int(odd.sum()), missing)


def debiased(share: float, usual: float, full: float, *, rows: int, clean_rows: int, noise: float) -> Estimate:
    """The share of rows that are bad, by a noisy share that counts: ``usual`` of clean rows, and ``full`` of bad ones.

    share = (1 − ρ)·usual + ρ·full. The interval is of sampling, at both ends, and of noise of that scale.
    """
    reach = max(full - usual, 1e-3)
    sampling = _Z * float(np.sqrt(usual * (1.0 - usual) * (1.0 / rows + 1.0 / max(clean_rows, 1)))) + 1.0 / rows
    error = (sampling + noise * float(np.log(1.0 / _MISS))) / reach
    middle = (share - usual) / reach
    low, found, high = (float(np.clip(value, 0.0, 1.0)) for value in (middle - error, middle, middle + error))
    return Estimate(found, low, high)


@dataclass(frozen=True)
class CleanRates:
    """What the server knows of its own rows, each judged by a sketch and a model without it, to debias by.

    ``odd_from`` and ``doubted_from`` are costs on the grid; ``doubted`` and ``full`` are the shares of doubted rows
    among clean ones and among those with a wrong label.
    """

    odd_from: int
    doubted_from: int
    doubted: float
    full: float
    rows: int

    @property
    def scalars(self) -> dict[str, Scalar]:
        """What goes to the clients."""
        return {"odd_from": self.odd_from, "doubted_from": self.doubted_from}

    def columns(self, numbers: Mapping[str, float], epsilon: float) -> dict[str, float]:
        """What a client's noisy shares say of it, as the columns of an answer without noise."""
        rows, clean = int(numbers["rows"]), self.rows
        noise = {name: 1.0 / (rows * epsilon * PARTS[name]) for name in NOISY}
        wrong = debiased(
            numbers["doubted"], self.doubted, self.full, rows=rows, clean_rows=clean, noise=noise["doubted"]
        )
        odd = debiased(numbers["odd"], ODD, 1.0, rows=rows, clean_rows=clean, noise=noise["odd"])
        return {**wrong.columns("wrong_labels"), **odd.columns("odd_features"), "missing": numbers["missing"]}


def clean_rates(
    cloud: Points, codes: Integers, sketch: SketchPoints, agreed: NDArray[np.bool_] | None, *, min_group: int, seed: int
) -> CleanRates:
    """Judge the server's rows by sketches of the others, in folds; ``agreed`` says whom the linear model got right."""
    together, alone = np.zeros(cloud.distinct), np.zeros(cloud.distinct)
    width = cloud.feature_width
    for out, others in sketches_without(cloud, codes, sketch, min_group, seed):
        together[out] = cost_matrix(cloud.points[out], others.points, 2).min(axis=1)
        alone[out] = cost_matrix(cloud.points[out, :width], others.points[:, :width], 2).min(axis=1)
    rows = cloud.point_of_row
    by_features, dearer = alone[rows], (together - alone)[rows]
    odd_from, doubted_from = (
        float(np.quantile(costs, 1.0 - ODD)) / sketch.cap * GRID for costs in (by_features, dearer)
    )
    odd = by_features / sketch.cap * GRID > odd_from
    if agreed is None:
        doubted, full = float(((dearer / sketch.cap * GRID > doubted_from) & ~odd).mean()), 1.0 - ODD
    else:
        doubted = float((~agreed & ~odd).mean())
        full = (1.0 - ODD) * (1.0 - float((~agreed).mean()) / max(len(np.unique(codes)) - 1, 1))
    return CleanRates(int(min(odd_from, GRID)), int(min(doubted_from, GRID)), doubted, full, cloud.rows)
