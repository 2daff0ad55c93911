"""Row values where nothing clean exists: scores by what the other clients know, compared with their scores.

Nobody's rows are known to be clean, so a row's scores are set against those of a typical other client: the median,
over the other clients, of their *profiles*. One client of noise moves neither the model (it is left out, or weighs
little) nor the median.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.protocols.consensus.groups import scored_features
from fedbary.protocols.consensus.party import PROFILE
from fedbary.protocols.messages import below
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.labels import class_names, class_positions
from fedbary.space.points import embed
from fedbary.space.schema import Schema
from fedbary.transport.cost import cost_matrix
from fedbary.valuation.bad_rows import label_noise
from fedbary.valuation.combined_test import Scores
from fedbary.valuation.estimates import Estimate
from fedbary.valuation.row_values import UNKNOWN, measured_rows, row_frame, suspects
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import RowFacts, ScoredRows
from fedbary.valuation.scoring import ScoringModel
from fedbary.valuation.scoring.mixture import Centroids, soft_minimum

Floats = NDArray[np.float64]

_EPSILON = 2.0
_TEMPERATURES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05)


@dataclass(frozen=True, eq=False)
class RowScores:
    """Both channels of every row (higher = worse; NaN where a label's class is unknown), and better labels.

    ``comparable`` says whether they mean the same as the other clients': not where only this one has no model.
    """

    label: Floats
    feature: Floats
    suggestions: NDArray[np.str_]
    comparable: bool
    noise_share: float = float("nan")


def score_rows(table: Table, schema: Schema, target: SketchPoints, arrays: Mapping[str, np.ndarray]) -> RowScores:
    """Scores by the scoring model, or where there is none by the relaxed potentials against the target."""
    model = below(arrays, "model.")
    if model:
        return _by_model(table, schema, ScoringModel.from_arrays(model))
    return _by_target(table, schema, target)


def profiles(scores: RowScores, rows: NDArray[np.int64], *, min_group: int) -> dict[str, Floats]:
    """What a client says of its scores: profiles of both channels over the given (different) rows."""
    channels = {"label": scores.label[rows], "feature": scores.feature[rows]}
    nothing = np.zeros(0)
    return {
        key: profile(values, min_group=min_group) if scores.comparable else nothing for key, values in channels.items()
    }


def profile(scores: Floats, *, min_group: int) -> Floats:
    """A distribution in at most 40 numbers, each the mean of at least ``min_group`` consecutive scores.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.protocols.consensus.row_scores import profile
    >>> profile(np.array([5.0, 1.0, 2.0, 3.0, 4.0]), min_group=2)
    array([2. , 4.5])
    """
    known = np.sort(scores[np.isfinite(scores)])
    size = min(PROFILE, len(known) // min_group)
    return np.array([part.mean() for part in np.array_split(known, size)] if size else [], dtype=float)


def usual_profile(profiles: Sequence[Floats]) -> Floats:
    """The median of profiles, place by place; empty where nobody sent one."""
    places = (np.arange(PROFILE) + 0.5) / PROFILE
    spread = [np.interp(places, (np.arange(len(p)) + 0.5) / len(p), np.sort(p)) for p in profiles if len(p)]
    return np.median(spread, axis=0) if spread else np.zeros(0)


def value_rows(table: Table, scores: RowScores, arrays: Mapping[str, np.ndarray], rules: RowRules) -> ScoredRows:
    """Values rank rows; p-values and flags stay NA, because they would need rows known to be clean."""
    label, feature = (arrays.get(f"others.{name}", np.zeros(0)) for name in ("label", "feature"))
    if not (scores.comparable and label.size and label.ndim == 1 and label.shape == feature.shape):
        value = -(scores.feature + np.nan_to_num(scores.label))
        frame = row_frame(table.row_names, value, feature_score=scores.feature, label_score=scores.label)
        return ScoredRows(frame, RowFacts(Note("valuation.flags-no-other-clients")))
    scored = measured_rows(
        table.row_names,
        Scores(scores.label, scores.feature, np.ones(len(table))),
        Scores(label, feature, np.ones(len(label))),
        suggestions=scores.suggestions,
        rules=rules,
    )
    unknown = dict.fromkeys(("label_p", "feature_p", "p_value"), np.nan)
    frame = scored.frame.assign(**unknown, flag=None, suspect=None)
    share, nothing = scores.noise_share, np.zeros(len(table), dtype=bool)
    wrong = None if np.isnan(share) else Estimate(share, share, share)
    if wrong is not None:
        frame = frame.assign(suspect=suspects(frame["value"].to_numpy(), nothing, wrong))
    facts = RowFacts(Note("valuation.flags-no-clean-rows"), wrong, suspects=int(frame["suspect"].fillna(False).sum()))
    return ScoredRows(frame.astype({"flag": "boolean", "suspect": "boolean"}), facts)


def _by_model(table: Table, schema: Schema, model: ScoringModel) -> RowScores:
    codes = class_positions(class_names(table.labels), model.classes)
    known = np.flatnonzero(codes != UNKNOWN)
    model_log_p, feature = model.scores(scored_features(table, schema))
    # The client's own smoothed class counts are the better prior, and leave it for nobody (DESIGN 2.6).
    own = np.bincount(codes[known], minlength=len(model.classes)) + 1.0
    log_p = log_softmax(model_log_p + np.log(own / own.sum()) - model.log_prior, axis=1)
    share = _tempered_noise_share(log_p[known], codes[known])
    label = np.full(len(codes), np.nan)
    label[known] = -log_p[known, codes[known]]
    log_p[known, codes[known]] = -np.inf
    suggestions = np.array(model.classes)[np.argmax(log_p, axis=1)]
    return RowScores(label, feature, suggestions, comparable=True, noise_share=share)


def _tempered_noise_share(log_p: Floats, codes: NDArray[np.int64]) -> float:
    """Noise share ρ at the temperature T at which the labels are likeliest.

    Gaussians with federated means are far too sure of themselves (T ≈ 0.2 on images), and no clean rows exist to
    calibrate them; but a label is right with probability (1 − ρ)·p_T(y|x), so the labels tell ρ and T apart. The
    scores themselves stay at T = 1 for everybody, because clients compare them.
    """

    def fit(temperature: float) -> tuple[float, float]:
        tempered = log_softmax(temperature * log_p, axis=1)
        right = np.exp(tempered[np.arange(len(codes)), codes])
        share = label_noise(right, log_p.shape[1]).share
        likely = (1.0 - share) * right + share * (1.0 - right) / (log_p.shape[1] - 1)
        return float(np.log(np.maximum(likely, 1e-300)).mean()), share

    return max(map(fit, _TEMPERATURES))[1] if len(codes) else float("nan")


def _by_target(table: Table, schema: Schema, target: SketchPoints) -> RowScores:
    """Label score f(x, y) − min_y' f(x, y') and feature score min_y' f(x, y'), f the soft minimum over the target."""
    cloud = embed(table, schema)
    width, spec = cloud.feature_width, schema.label
    features = cost_matrix(cloud.points[:, :width], target.points[:, :width], 2)
    labels = cost_matrix(cloud.points[:, width:], target.points[:, width:], 2)
    free, joint = (_soft_minimum(costs, target) for costs in (features, features + labels))
    nearest = target.points[np.argmin(features, axis=1), width:]
    if spec.kind == "number":
        numbers = nearest[:, 0] / np.sqrt(max(spec.weight, 1e-12)) * spec.scale + spec.mean
        suggestions = np.array([f"{number:.6g}" for number in numbers])
    else:
        suggestions = np.array(spec.classes)[np.argmax(nearest, axis=1)]
    rows = cloud.point_of_row
    return RowScores((joint - free)[rows], free[rows], suggestions[rows], comparable=spec.kind == "number")


def _soft_minimum(costs: Floats, target: SketchPoints) -> Floats:
    one = Centroids(target.points, np.zeros(costs.shape[1], dtype=np.int64), target.weights)
    return np.asarray(soft_minimum(costs, one, _EPSILON, 1)[:, 0])
