"""Scores of rows whose label is a number: by a line or by the sketch, whichever predicts labels better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import FedbaryError, ProtocolError
from fedbary.protocols.sketch.sketch import SketchPoints, make_sketch, sketches_without
from fedbary.space.encode import encode
from fedbary.space.fit import fit_schema
from fedbary.space.options import Space
from fedbary.space.parts import Part
from fedbary.space.points import Points, cells_of_a_row, embed
from fedbary.space.schema import Schema
from fedbary.space.stored_points import StoredPoints
from fedbary.transport.cost import cost_matrix
from fedbary.valuation.combined_test import Scores
from fedbary.valuation.groups import Groups
from fedbary.valuation.row_values import measured_rows
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import ScoredRows
from fedbary.valuation.scoring.line import Line, fit_line

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_EPSILON = 2.0


def fit_number_scoring(
    fitted: Table,
    calibration: Table | None,
    schema: Schema,
    sketch: SketchPoints,
    *,
    space: Space,
    cloud: Points,
    clean_cloud: Points,
    min_group: int,
    seed: int,
) -> dict[str, np.ndarray]:
    """A line where it predicts held-out labels better than the nearest group of the sketch, and scores of clean rows.

    Without calibration rows (crossfit) the rows to fit on are scored by lines and sketches that have not seen them.
    """
    label, feature, nearest = _out_of_fold(cloud, schema, sketch, min_group=min_group, seed=seed)
    own, found = _labels(fitted), fit_line(encode(fitted, schema), _labels(fitted), seed=seed)
    arrays: dict[str, np.ndarray] = {}
    if found is not None and ((found.predicted - own) ** 2).mean() < ((nearest - own) ** 2).mean():
        arrays = found.line.to_arrays()
        label = np.abs(own - found.predicted) / found.line.spread
    if calibration is None:
        feature = _unseen_features(fitted, cloud, sketch, feature, space=space, min_group=min_group, seed=seed)
        return arrays | {"clean.label": label, "clean.feature": feature}
    line = Line.from_arrays(arrays, schema.encoded_width)
    lined = None if line is None else Lined(line, line.predicted(encode(calibration, schema)))
    held_out = _scores(calibration, clean_cloud, schema, sketch, lined)[:2]
    clean = dict(zip(("clean.label", "clean.feature"), held_out, strict=True))
    return arrays | clean | {"null.label": label, "null.feature": feature}


@dataclass(frozen=True, eq=False)
class Lined:
    """What the received line says of a client's rows."""

    line: Line
    predicted: Floats


class LineJudge:
    """The received line at work on a client's rows, a part at a time."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._predicted: list[Floats] = []

    @classmethod
    def of(cls, schema: Schema, arrays: Mapping[str, np.ndarray]) -> LineJudge | None:
        """Read the line from a message; None where there is none."""
        line = Line.from_arrays(arrays, schema.encoded_width)
        return None if line is None else cls(line)

    def add(self, part: Part) -> None:
        """Look at the next rows."""
        self._predicted.append(self._line.predicted(part.encoded))

    def judged(self) -> Lined:
        """What the line says of the rows that it has seen."""
        return Lined(self._line, np.concatenate(self._predicted))


def score_numbers(
    table: Table,
    cloud: Points | StoredPoints,
    schema: Schema,
    sketch: SketchPoints,
    arrays: Mapping[str, np.ndarray],
    *,
    lined: Lined | None,
    missing: Integers,
    rules: RowRules,
    gradient: Floats | None,
    groups: Groups | None = None,
) -> ScoredRows:
    """A client's row values from what the server sent; with ``groups`` the facts may leave.

    ``missing`` says how many cells each row lacks.
    """
    label, feature, better = _scores(table, cloud, schema, sketch, lined)
    # What is imputed says nothing of a label.
    label = label * (1.0 - missing / cells_of_a_row(schema))
    exact = rules.calibration == "split" and "null.label" in arrays
    return measured_rows(
        table.row_names,
        Scores(label, feature, np.ones(len(label))),
        _sent("clean", arrays),
        null=_sent("null", arrays) if exact else None,
        suggestions=better,
        rules=rules,
        calibrated_gradient=gradient,
        groups=groups,
    )


def finite_array(arrays: Mapping[str, np.ndarray], name: str, ndim: int = 1) -> Floats:
    """An array of a message with finite numbers."""
    array = arrays.get(name)
    if array is None or array.dtype.kind != "f" or array.ndim != ndim or not array.size or not np.isfinite(array).all():
        raise ProtocolError("protocols.server-array", name=name)
    return np.asarray(array, dtype=float)


def _sent(name: str, arrays: Mapping[str, np.ndarray]) -> Scores:
    label, feature = finite_array(arrays, f"{name}.label"), finite_array(arrays, f"{name}.feature")
    if label.shape != feature.shape:
        raise ProtocolError("protocols.server-array", name=f"{name}.label")
    return Scores(label, feature, np.ones(len(label)))


def _scores(
    table: Table, cloud: Points | StoredPoints, schema: Schema, sketch: SketchPoints, lined: Lined | None
) -> tuple[Floats, Floats, Floats]:
    """Label and feature scores, and what the labels should be."""
    label, feature, nearest = _by_sketch(cloud, schema, sketch)
    if lined is None:
        return label, feature, nearest
    return lined.line.off(lined.predicted, _labels(table)), feature, lined.predicted


def _out_of_fold(
    cloud: Points, schema: Schema, sketch: SketchPoints, *, min_group: int, seed: int
) -> tuple[Floats, Floats, Floats]:
    """The same by sketches of other rows: a row is nearer to means that it is part of."""
    found = np.zeros((3, cloud.rows))
    for out, others in sketches_without(cloud, np.zeros(cloud.distinct, dtype=np.int64), sketch, min_group, seed):
        held_out = np.flatnonzero(out[cloud.point_of_row])
        found[:, held_out] = np.array(_by_sketch(cloud, schema, others))[:, held_out]
    return found[0], found[1], found[2]


def _unseen_features(
    table: Table, cloud: Points, sketch: SketchPoints, seen: Floats, *, space: Space, min_group: int, seed: int
) -> Floats:
    """Feature scores by schemas of other rows, too; ``seen`` where these are too few or do not make a schema.

    A row is nearer in a metric that has seen it: with 25 reference rows of ten columns two of three clean clients would
    seem to have odd features.
    """
    scores, one_class = seen.copy(), np.zeros(cloud.distinct, dtype=np.int64)
    for out, _ in sketches_without(cloud, one_class, sketch, min_group, seed):
        held_out = out[cloud.point_of_row]
        if not held_out.any() or (~out).sum() < min_group:
            continue
        try:
            schema = fit_schema(table.take(~held_out), space, seed=seed, min_group=min_group)
        except FedbaryError:  # a column that hardly has a value may have lost the last
            continue
        others = embed(table.take(~held_out), schema)
        means = make_sketch(
            others.points,
            others.weights,
            np.zeros(others.distinct, dtype=np.int64),
            len(sketch.weights),
            min_group=min_group,
            seed=seed,
        )
        scores[held_out] = _by_sketch(embed(table.take(held_out), schema), schema, means)[1]
    return scores


def _by_sketch(cloud: Points | StoredPoints, schema: Schema, sketch: SketchPoints) -> tuple[Floats, Floats, Floats]:
    """f(x, y) − min_y' f(x, y'), f(x), and the label of the nearest sketch point."""
    spec, width = schema.label, cloud.feature_width
    labels = sketch.points[:, -1] / np.sqrt(max(spec.weight, 1e-12)) * spec.scale + spec.mean
    found = []
    for points in cloud.chunks():
        costs = cost_matrix(points[:, :width], sketch.points[:, :width], 2)
        nearest = np.argmin(costs, axis=1)
        free = _soft_minimum(costs, sketch.weights)
        costs += cost_matrix(points[:, width:], sketch.points[:, width:], 2)
        found.append((_soft_minimum(costs, sketch.weights) - free, free, labels[nearest]))
    label, feature, values = (np.concatenate(parts)[cloud.point_of_row] for parts in zip(*found, strict=True))
    return label, feature, values


def _soft_minimum(costs: Floats, weights: Floats) -> Floats:
    """−ε·log Σ_s w_s·exp(−c_s/ε), row by row."""
    exponents = costs / -_EPSILON
    exponents += np.log(weights)
    highest = exponents.max(axis=1)
    exponents -= highest[:, None]
    np.exp(exponents, out=exponents)
    return np.asarray(-_EPSILON * (highest + np.log(exponents.sum(axis=1))))


def _labels(table: Table) -> Floats:
    return np.asarray(table.labels, dtype=float)
