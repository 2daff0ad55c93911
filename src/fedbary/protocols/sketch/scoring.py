"""What travels beside the sketch so that clients can value their own rows: a model and clean rows' scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from fedbary.data.table import Table
from fedbary.errors import ProtocolError
from fedbary.notes import Note
from fedbary.protocols.messages import below
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.encode import encode
from fedbary.space.labels import class_names, class_positions
from fedbary.space.points import Points
from fedbary.space.schema import Schema
from fedbary.transport.cost import cost_matrix
from fedbary.valuation.row_values import UNKNOWN, CleanRows, classified_rows, measured_rows, row_frame
from fedbary.valuation.rules import Adapt, RowRules
from fedbary.valuation.scored_rows import RowFacts, ScoredRows
from fedbary.valuation.scoring import ScoringModel, fit_scoring_model

Floats = NDArray[np.float64]

_REGRESSION_EPSILON = 2.0


def fit_scoring(
    fitted: Table,
    calibration: Table | None,
    schema: Schema,
    sketch: SketchPoints,
    *,
    cloud: Points,
    clean_cloud: Points,
    min_group: int,
    seed: int,
    busy: Callable[[str], None],
) -> dict[str, np.ndarray]:
    """Fit on the sketch rows and score the calibration rows; without them (crossfit) the rows themselves, out of fold.

    ``cloud`` and ``clean_cloud`` are the points of the rows to fit on and of those that are scored.
    Classes under ``min_group`` different rows are left out of the model: no mean or covariance of theirs leaves.
    """
    if schema.label.kind == "number":
        label, feature, _ = _regression_scores(clean_cloud, schema, sketch)
        return {"clean.label": label, "clean.feature": feature}
    names = class_names(fitted.labels)
    copies = cloud.point_of_row
    counts = {name: len(np.unique(copies[names == name])) for name in np.unique(names)}
    classes = tuple(sorted(str(name) for name, count in counts.items() if count >= max(min_group, 2)))
    rows = np.isin(names, classes)
    if len(classes) < 2:
        return {}
    codes = class_positions(names[rows], classes)
    found = fit_scoring_model(
        encode(fitted, schema)[rows], codes, classes, copies=copies[rows], min_group=min_group, seed=seed, busy=busy
    )
    if calibration is None:
        clean = CleanRows(found.log_probabilities, codes, found.feature_scores)
    else:
        clean_codes = class_positions(class_names(calibration.labels), classes)
        known = clean_codes != UNKNOWN
        log_p, feature = found.model.scores(encode(calibration, schema)[known])
        clean = CleanRows(log_p, clean_codes[known], feature)
    arrays = {f"model.{key}": array for key, array in found.model.to_arrays().items()}
    return arrays | {
        "clean.log_probabilities": clean.log_probabilities,
        "clean.codes": clean.codes,
        "clean.feature": clean.feature_scores,
    }


def score_rows(
    table: Table,
    cloud: Points,
    schema: Schema,
    sketch: SketchPoints,
    arrays: Mapping[str, np.ndarray],
    *,
    rules: RowRules,
    adapt: Adapt,
    gradient: Floats,
) -> ScoredRows:
    """A client's row values from what the server sent."""
    if schema.label.kind == "number":
        label, feature, suggestions = _regression_scores(cloud, schema, sketch)
        clean_label, clean_feature = _finite(arrays, "clean.label"), _finite(arrays, "clean.feature")
        return measured_rows(
            table.row_names,
            label_scores=label,
            feature_scores=feature,
            suggestions=suggestions,
            clean_label_scores=clean_label,
            clean_feature_scores=clean_feature,
            rules=rules,
            calibrated_gradient=gradient,
        )
    model_arrays = below(arrays, "model.")
    if not model_arrays:
        frame = row_frame(table.row_names, -gradient, calibrated_gradient=gradient)
        return ScoredRows(frame, RowFacts(Note("valuation.flags-one-class")))
    model = ScoringModel.from_arrays(model_arrays)
    clean = _clean_rows(arrays, len(model.classes))
    log_p, feature = model.scores(encode(table, schema))
    return classified_rows(
        table.row_names,
        log_probabilities=log_p,
        feature_scores=feature,
        codes=class_positions(class_names(table.labels), model.classes),
        classes=model.classes,
        clean=clean,
        rules=rules,
        adapt=adapt,
        calibrated_gradient=gradient,
    )


def _regression_scores(
    cloud: Points, schema: Schema, sketch: SketchPoints
) -> tuple[Floats, Floats, NDArray[np.generic]]:
    """f(x, y) − min_y' f(x, y'), f(x), and the label of the nearest sketch point."""
    width = cloud.feature_width
    features = cost_matrix(cloud.points[:, :width], sketch.points[:, :width], 2)
    labels = cost_matrix(cloud.points[:, width:], sketch.points[:, width:], 2)
    joint, free = (
        -_REGRESSION_EPSILON * logsumexp(-costs / _REGRESSION_EPSILON + np.log(sketch.weights), axis=1)
        for costs in (features + labels, features)
    )
    spec = schema.label
    values = sketch.points[np.argmin(features, axis=1), -1] / np.sqrt(max(spec.weight, 1e-12)) * spec.scale + spec.mean
    rows = cloud.point_of_row
    return (joint - free)[rows], free[rows], np.array([f"{value:.6g}" for value in values])[rows]


def _clean_rows(arrays: Mapping[str, np.ndarray], classes: int) -> CleanRows:
    log_p, feature = _finite(arrays, "clean.log_probabilities", ndim=2), _finite(arrays, "clean.feature")
    if log_p.shape != (len(feature), classes):
        raise ProtocolError("protocols.server-array", name="clean.log_probabilities")
    codes = arrays.get("clean.codes")
    if codes is None or codes.dtype.kind not in "iu" or codes.shape != feature.shape:
        raise ProtocolError("protocols.server-array", name="clean.codes")
    if codes.min() < 0 or codes.max() >= classes:
        raise ProtocolError("protocols.server-array", name="clean.codes")
    return CleanRows(log_p, codes.astype(np.int64), feature)


def _finite(arrays: Mapping[str, np.ndarray], name: str, ndim: int = 1) -> Floats:
    array = arrays.get(name)
    if array is None or array.dtype.kind != "f" or array.ndim != ndim or not array.size or not np.isfinite(array).all():
        raise ProtocolError("protocols.server-array", name=name)
    return np.asarray(array, dtype=float)
