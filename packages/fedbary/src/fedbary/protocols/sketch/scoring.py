"""What travels beside the sketch so that clients can value their own rows: a model and clean rows' scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.data.spool import Spool
from fedbary.data.table import Table
from fedbary.errors import ProtocolError
from fedbary.notes import Note
from fedbary.protocols.forms import LARGEST
from fedbary.protocols.messages import below
from fedbary.protocols.sketch.number_scoring import finite_array, fit_number_scoring
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.encode import encode
from fedbary.space.labels import class_names, class_positions, label_positions
from fedbary.space.missing import missing_coordinates
from fedbary.space.options import Space
from fedbary.space.parts import Part, encoded_parts
from fedbary.space.points import Points, cells_of_a_row, place
from fedbary.space.schema import Schema
from fedbary.valuation.groups import Groups
from fedbary.valuation.row_values import UNKNOWN, CleanRows, OwnRows, classified_rows
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import RowFacts, ScoredRows
from fedbary.valuation.scoring import ScoringModel, fit_scoring_model
from fedbary.valuation.scoring.components import CLASS_SHRINKAGE
from fedbary.valuation.scoring.lending import lent
from fedbary.valuation.scoring.odd_columns import odd_columns
from fedbary.valuation.scoring.scorer import Scorer

Floats = NDArray[np.float64]

# From so many rows on the model works in single precision; farther than that from its mean, rows are equally far.
_MANY_ROWS, _FAR = 65_537, 1e12


@dataclass(frozen=True, eq=False)
class FittedScoring:
    """What is sent, and which rows the linear part of the model got right without having seen them."""

    arrays: dict[str, np.ndarray]
    agreed: NDArray[np.bool_] | None = None


def fit_scoring(
    fitted: Table,
    calibration: Table | None,
    schema: Schema,
    sketch: SketchPoints,
    *,
    space: Space,
    cloud: Points,
    clean_cloud: Points,
    adapt: bool,
    min_group: int,
    seed: int,
    busy: Callable[[str], None],
) -> FittedScoring:
    """Fit on the sketch rows and score the calibration rows; without them (crossfit) the rows themselves, out of fold.

    ``cloud`` and ``clean_cloud`` are the points of the rows to fit on and of those that are scored. Where the test is
    to be the proved one, the scores of the rows to fit on go along, as ``null``.
    Classes under ``min_group`` different rows are left out of the model: no mean or covariance of theirs leaves.
    """
    if schema.label.kind == "number":
        numbers = fit_number_scoring(
            fitted,
            calibration,
            schema,
            sketch,
            space=space,
            cloud=cloud,
            clean_cloud=clean_cloud,
            min_group=min_group,
            seed=seed,
        )
        return FittedScoring(numbers)
    names = class_names(fitted.labels)
    copies = cloud.point_of_row
    counts = {name: len(np.unique(copies[names == name])) for name in np.unique(names)}
    classes = tuple(sorted(str(name) for name, count in counts.items() if count >= max(min_group, 2)))
    rows = np.isin(names, classes)
    if len(classes) < 2:
        return FittedScoring({})
    codes = class_positions(names[rows], classes)
    found = fit_scoring_model(
        encode(fitted, schema)[rows], codes, classes, copies=copies[rows], min_group=min_group, seed=seed, busy=busy
    )
    fitted_rows = CleanRows(Spool.of(found.log_probabilities), codes, found.feature_scores)
    arrays = {f"model.{key}": array for key, array in found.model.to_arrays().items()}
    agreed = np.ones(len(fitted), dtype=bool)
    agreed[rows] = found.linear_votes == codes
    if calibration is None:
        return FittedScoring(arrays | clean_arrays("clean", fitted_rows), agreed)
    clean_codes = class_positions(class_names(calibration.labels), classes)
    known = clean_codes != UNKNOWN
    log_p, feature = found.model.scores(encode(calibration, schema)[known])
    arrays |= clean_arrays("clean", CleanRows(Spool.of(log_p), clean_codes[known], feature))
    return FittedScoring(arrays if adapt else arrays | clean_arrays("null", fitted_rows), agreed)


@dataclass(frozen=True, eq=False)
class Judged:
    """A client's rows as the received model sees them; it is asked once, for the answer and for the row values."""

    rows: OwnRows
    model: ScoringModel


class Judge:
    """The received model at work on a client's rows, a part at a time.

    Without ``ranked``, what only serves to rank rows and to name columns is left out.
    """

    def __init__(self, model: ScoringModel, schema: Schema, *, rows: int, projected: bool, ranked: bool) -> None:
        self._model, self._schema, self._projected, self._ranked = model, schema, projected, ranked
        self._dtype = np.dtype(np.float64 if rows < _MANY_ROWS else np.float32)
        working = model if rows < _MANY_ROWS else model.in_single()
        self._metric, self._scorer = working.metric, Scorer(working, rows)
        self._log_p = Spool(len(model.classes))
        self._whitened = Spool(model.metric.rotate(model.metric.mean[None]).shape[1], self._dtype)
        self._feature: list[Floats] = []

    @classmethod
    def of(
        cls,
        schema: Schema,
        arrays: Mapping[str, np.ndarray],
        *,
        rows: int,
        projected: bool = False,
        ranked: bool = True,
    ) -> Judge | None:
        """Read the model for so many rows from a message; None where there is none, as for numbers.

        ``projected`` says that the model looks at the schema's coordinates, and not at what they were projected from.
        """
        model_arrays = below(arrays, "model.")
        if not model_arrays:
            return None
        model = _received(model_arrays)
        model.require_affordable(rows)
        projected = projected and schema.projection is not None
        if model.metric.mean.shape != (schema.value_width if projected else schema.encoded_width,):
            raise ProtocolError("protocols.server-array", name="model.mean")
        return cls(model, schema, rows=rows, projected=projected, ranked=ranked)

    def add(self, part: Part) -> None:
        """Look at the next rows."""
        model, schema = self._model, self._schema
        values = place(part.encoded, schema) if self._projected else part.encoded
        log_p, feature, rotated = self._finite_scores(values)
        missing = part.missing.sum(axis=1)
        if missing.any():
            # What is imputed says nothing of a label: the more a row lacks, the less the model doubts it. And it is no
            # reason to find the features odd, so there a row lies as near to its class as the cells that it has allow.
            lacking = (missing / cells_of_a_row(schema))[:, None]
            log_p = log_softmax((1.0 - lacking) * log_p + lacking * model.log_prior, axis=1)
            if not self._projected:  # where columns are mixed, no coordinate is that of a missing cell
                some = np.flatnonzero(missing)
                filled = lent(values[some], missing_coordinates(part.table.take(some), schema), model)
                _, feature[some], rotated[some] = self._finite_scores(filled)
        self._log_p.append(log_p)
        if self._ranked:
            self._whitened.append(self._metric.rescale(rotated, CLASS_SHRINKAGE))
        self._feature.append(feature)

    def _finite_scores(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Scores of rows, which are also given along the metric's directions.

        Where a server's numbers leave the finite ones, a row is as far away as can be, and no failure: that would tell
        that there is such a row.
        """
        if self._dtype == np.float32:
            values = np.clip(values, -_FAR, _FAR).astype(np.float32)
        with np.errstate(all="ignore"):
            log_p, feature, rotated = self._scorer(values)
        sound = np.asarray(np.isfinite(log_p).all(axis=1))[:, None]
        log_p = np.where(sound, log_p, log_softmax(self._model.log_prior))
        feature = np.nan_to_num(feature.astype(np.float64), nan=LARGEST, posinf=LARGEST, neginf=-LARGEST)
        return log_p, feature, rotated

    def judged(self, table: Table) -> Judged:
        """What the model says of the table's rows, all of which it has seen."""
        model, schema, whitened = self._model, self._schema, self._whitened

        def columns(chosen: NDArray[np.int64]) -> list[str | None]:
            named = []
            for at, rows in whitened.placed():
                first, last = np.searchsorted(chosen, (at.start, at.stop))
                named += odd_columns(rows[chosen[first:last] - at.start], schema, model)
            return named

        rows = OwnRows(
            table.row_names,
            self._log_p,
            np.concatenate(self._feature),
            label_positions(table.labels, model.classes),
            whitened=whitened if self._ranked else None,
            columns=columns if self._ranked and not self._projected else None,
        )
        return Judged(rows, model)


# What was read last, with what it was read from.
_last: tuple[Mapping[str, np.ndarray], ScoringModel] | None = None


def _received(arrays: Mapping[str, np.ndarray]) -> ScoringModel:
    """The model in a message, read and checked once for all clients of a process, as they are sent the same arrays."""
    global _last  # noqa: PLW0603 - threads that come at once each read it, which is the same
    kept = _last
    if kept is not None and kept[0].keys() == arrays.keys() and all(kept[0][key] is arrays[key] for key in arrays):
        return kept[1]
    model = ScoringModel.from_arrays(arrays)
    _last = (arrays, model)
    return model


def judged_rows(
    table: Table, schema: Schema, arrays: Mapping[str, np.ndarray], *, projected: bool = False
) -> Judged | None:
    """What the received model says of a client's rows; None where there is none, as for numbers."""
    judge = Judge.of(schema, arrays, rows=len(table), projected=projected)
    if judge is None:
        return None
    for part in encoded_parts(table, schema):
        judge.add(part)
    return judge.judged(table)


def score_rows(
    table: Table,
    judged: Judged | None,
    arrays: Mapping[str, np.ndarray],
    *,
    rules: RowRules,
    adapt: bool,
    gradient: Floats | None = None,
    groups: Groups | None = None,
) -> ScoredRows:
    """A client's row values from what the server sent; with ``groups`` the facts may leave, the rest is rough."""
    if judged is None:
        nothing = np.zeros(len(table)) if gradient is None else gradient
        told = {"row": table.row_names, "value": -nothing, "calibrated_gradient": nothing}
        return ScoredRows(told, RowFacts(Note("valuation.flags-one-class")))
    classes = judged.model.classes
    return classified_rows(
        judged.rows if groups is None else without_rare_classes(judged.rows, groups),
        classes,
        clean_rows("clean", arrays, len(classes)),
        null=clean_rows("null", arrays, len(classes)) if "null.codes" in arrays else None,
        rules=rules,
        adapt=adapt,
        calibrated_gradient=gradient,
        groups=groups,
    )


def without_rare_classes(rows: OwnRows, groups: Groups) -> OwnRows:
    """Rows of classes that few rows have are not judged: the mix of classes would show them."""
    known = np.unique(rows.codes[rows.codes != UNKNOWN])
    rare = [code for code in known if groups.different(rows.codes == code) < groups.least]
    return replace(rows, codes=np.where(np.isin(rows.codes, rare), UNKNOWN, rows.codes), whitened=None, columns=None)


def clean_arrays(name: str, rows: CleanRows) -> dict[str, np.ndarray]:
    """Scores of clean rows, for a message."""
    return {
        f"{name}.log_probabilities": rows.log_probabilities.array(),
        f"{name}.codes": rows.codes,
        f"{name}.feature": rows.feature_scores,
    }


def clean_rows(name: str, arrays: Mapping[str, np.ndarray], classes: int) -> CleanRows:
    """What `clean_arrays` wrote, as a server sent it."""
    log_p, feature = finite_array(arrays, f"{name}.log_probabilities", ndim=2), finite_array(arrays, f"{name}.feature")
    if log_p.shape != (len(feature), classes):
        raise ProtocolError("protocols.server-array", name=f"{name}.log_probabilities")
    codes = arrays.get(f"{name}.codes")
    if codes is None or codes.dtype.kind not in "iu" or codes.shape != feature.shape:
        raise ProtocolError("protocols.server-array", name=f"{name}.codes")
    if codes.min() < 0 or codes.max() >= classes:
        raise ProtocolError("protocols.server-array", name=f"{name}.codes")
    return CleanRows(Spool.of(log_p), codes.astype(np.int64), feature)
