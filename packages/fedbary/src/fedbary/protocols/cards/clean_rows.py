"""The coordinator's rows beside the cards: one more card, and rows that calibrate flags without being in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.spool import Spool
from fedbary.data.table import Table
from fedbary.protocols.cards.class_moments import ClassMoments
from fedbary.protocols.cards.model import discriminant, line_model, restricted, scoring_model
from fedbary.protocols.cards.temperature import likeliest_temperature
from fedbary.protocols.sketch.scoring import clean_arrays
from fedbary.space.encode import encode
from fedbary.space.labels import class_names, class_positions
from fedbary.space.points import place
from fedbary.space.schema import Schema
from fedbary.valuation.row_values import CleanRows
from fedbary.valuation.scoring import ScoringModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_FOLDS = 5
_PSEUDO_ROWS = 10.0


class Reference:
    """The reference's rows in the agreed coordinates, and which of them are in its card.

    ``held_out`` are the rows that calibrate and are in no card (``split``). Without them every row calibrates by a
    model that leaves its fold out (``crossfit``).
    """

    def __init__(self, table: Table, schema: Schema, held_out: Table | None, *, seed: int) -> None:
        self._schema = schema
        self._values, self._labels = _values(table, schema)
        self._split = None if held_out is None else _values(held_out, schema)
        self._fold = np.random.default_rng(seed).permutation(len(self._values)) % _FOLDS

    def moments(self) -> ClassMoments:
        """Its card, in the agreed coordinates."""
        width, numeric = self._schema.value_width, self._schema.label.kind == "number"
        width, classes = width + numeric, 1 if numeric else len(self._schema.label.classes)
        nothing = ClassMoments(np.zeros(classes), np.zeros((classes, width)), np.zeros((width, width)))
        negative = _without_rows(nothing, self._values, self._labels, self._schema, least=-np.inf)
        return ClassMoments(-negative.counts, -negative.sums, -negative.second)

    def rows(self) -> tuple[Floats, NDArray[np.generic]]:
        """All of its rows, and their labels."""
        if self._split is None:
            return self._values, self._labels
        return np.vstack([self._values, self._split[0]]), np.concatenate([self._labels, self._split[1]])

    def temperature(self, total: ClassMoments, known: Bools) -> float:
        """The temperature at which held-out rows' labels are likeliest."""
        classes = tuple(np.array(self._schema.label.classes)[known].tolist())
        scored = []
        for moments, values, labels in self._held_out(total):
            model = scoring_model(discriminant(restricted(moments, known)), classes, 1.0)
            scored.append(
                (model.scores(values)[0] - model.log_prior, class_positions(np.asarray(labels, dtype=np.str_), classes))
            )
        odds, codes = (np.concatenate([part[place] for part in scored]) for place in (0, 1))
        there = codes >= 0
        counts = np.bincount(codes[there], minlength=len(classes)) + 1.0
        return likeliest_temperature(odds[there], np.log(counts / counts.sum()), codes[there])

    def calibrated(
        self, total: ClassMoments, known: Bools, temperature: float
    ) -> tuple[dict[str, np.ndarray], Callable[[ScoringModel], ScoringModel]]:
        """Scores of clean rows, for the message, and what makes a client's feature scores comparable with them.

        ``total`` are the moments of everybody, the reference's card included.
        """
        if self._schema.label.kind == "number":
            return self._calibrated_numbers(total), lambda model: model
        classes = tuple(np.array(self._schema.label.classes)[known].tolist())
        scored = [
            (*_scores(scoring_model(discriminant(restricted(moments, known)), classes, temperature), values), labels)
            for moments, values, labels in self._held_out(total)
        ]
        logs, feature = (np.concatenate([part[place] for part in scored]) for place in (0, 1))
        codes = class_positions(np.concatenate([part[2] for part in scored]), classes)
        there = codes >= 0
        logs, feature, codes = logs[there], feature[there], codes[there]
        centre, scale = _by_look(feature, logs.argmax(axis=1), len(classes))
        looks = logs.argmax(axis=1)
        rows = CleanRows(Spool.of(logs), codes, (feature - centre[looks]) / scale[looks])
        return clean_arrays("clean", rows), lambda model: replace(model, feature_centre=centre, feature_scale=scale)

    def _calibrated_numbers(self, total: ClassMoments) -> dict[str, np.ndarray]:
        label, feature = [], []
        for moments, values, labels in self._held_out(total):
            line, model = line_model(moments, self._schema)
            label.append(line.scores(values, np.asarray(labels, dtype=float)))
            feature.append(model.scores(values)[1])
        return {"clean.label": np.concatenate(label), "clean.feature": np.concatenate(feature)}

    def _held_out(self, total: ClassMoments) -> Iterator[tuple[ClassMoments, Floats, NDArray[np.generic]]]:
        """Rows, and the moments of everybody without them."""
        if self._split is not None:
            yield (total, *self._split)
            return
        for number in range(_FOLDS):
            out = self._fold == number
            if out.any():
                values, labels = self._values[out], self._labels[out]
                yield _without_rows(total, values, labels, self._schema), values, labels


def _values(table: Table, schema: Schema) -> tuple[Floats, NDArray[np.generic]]:
    labels = table.labels if schema.label.kind == "number" else class_names(table.labels)
    return place(encode(table, schema), schema), labels


def _scores(model: ScoringModel, values: Floats) -> tuple[Floats, Floats]:
    return model.scores(values)


def _without_rows(
    total: ClassMoments, values: Floats, labels: NDArray[np.generic], schema: Schema, *, least: float = 0.0
) -> ClassMoments:
    """Moments without rows that are in them; no count is below ``least``."""
    if schema.label.kind == "number":
        spec = schema.label
        values = np.column_stack([values, (np.asarray(labels, dtype=float) - spec.mean) / spec.scale])
        codes = np.zeros(len(values), dtype=np.int64)
    else:
        codes = class_positions(np.asarray(labels, dtype=np.str_), schema.label.classes)
    there = codes >= 0
    counts, sums = total.counts.copy(), total.sums.copy()
    np.subtract.at(counts, codes[there], 1.0)
    np.subtract.at(sums, codes[there], values[there])
    gone = values[there].T @ values[there] if total.full else (values[there] ** 2).sum(axis=0)
    return ClassMoments(np.maximum(counts, least), sums, total.second - gone, total.noise)


def _by_look(scores: Floats, looks: NDArray[np.int64], classes: int) -> tuple[Floats, Floats]:
    """Median and spread of the scores of clean rows that look like each class, steadied by all."""
    overall, wide = float(np.median(scores)), max(float(scores.std()), 1e-9)
    centre, scale = np.full(classes, overall), np.full(classes, wide)
    for code in range(classes):
        mine = scores[looks == code]
        if len(mine):
            part = len(mine) / (len(mine) + _PSEUDO_ROWS)
            centre[code] = part * np.median(mine) + (1.0 - part) * overall
            scale[code] = np.sqrt(part * mine.var() + (1.0 - part) * wide**2)
    return centre, np.maximum(scale, 1e-9)
