"""The coordinator's rows beside the cards: one more card, a model of their own, and rows that nobody doubts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.judging.competition import moved_or_not
from fedbary.judging.discriminant import Discriminant
from fedbary.judging.judge import Judge, held_out_judge
from fedbary.judging.lines import FittedLine, fit_line
from fedbary.judging.model import JudgingModel, ReferenceModel
from fedbary.judging.scoring_fit import Fitted, fit_scoring_model
from fedbary.protocols.cards.class_moments import ClassMoments, common_coordinates, discriminant, restricted
from fedbary.space.encode import encode, place
from fedbary.space.labels import class_names, class_positions
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

_FOLDS = 5


class Reference:
    """The reference's rows in the agreed coordinates.

    Parameters
    ----------
    table : Table
        The rows.
    schema : Schema
        What the cards agree on.
    min_group : int
        Classes of fewer rows have no part in the model.
    seed : int
        Of the folds.
    projected : bool
        Whether rows are looked at in the schema's projection, where it has one.
    busy : callable
        Is told what takes a while.
    """

    def __init__(
        self,
        table: Table,
        schema: Schema,
        *,
        min_group: int,
        seed: int,
        projected: bool = True,
        busy: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._schema, self._least, self._seed, self._busy = schema, max(min_group, 2), seed, busy
        encoded = encode(table, schema)
        self.values = place(encoded, schema) if projected else encoded
        self.labels = table.labels if self._numeric else class_names(table.labels)
        self._fold = np.random.default_rng(seed).permutation(len(self.values)) % _FOLDS

    @property
    def _numeric(self) -> bool:
        return self._schema.label.kind == "number"

    @cached_property
    def codes(self) -> Integers:
        """Places of labels among the schema's classes."""
        if self._numeric:
            return np.zeros(len(self.values), dtype=np.int64)
        return class_positions(self.labels, self._schema.label.classes)

    @cached_property
    def _points(self) -> Floats:
        """The rows, a label that is a number as the last coordinate, standardised by the schema."""
        if not self._numeric:
            return self.values
        return np.column_stack([self.values, self._schema.label.standardised(self.labels)])

    def moments(self, rows: Bools | None = None) -> ClassMoments:
        """The card of all rows, or of some."""
        chosen = self.codes >= 0 if rows is None else rows & (self.codes >= 0)
        classes = 1 if self._numeric else len(self._schema.label.classes)
        points, codes = self._points[chosen], self.codes[chosen]
        sums = np.zeros((classes, points.shape[1]))
        np.add.at(sums, codes, points)
        return ClassMoments(np.bincount(codes, minlength=classes).astype(float), sums, points.T @ points)

    def fitted(self, others: Discriminant, classes: tuple[str, ...]) -> ReferenceModel | None:
        """The model of these rows, beside a discriminant of everybody's; None where they are too few for one."""
        if self._fit is None:
            return None
        width = self.values.shape[1]
        own = self.moments()
        known = np.zeros(1, dtype=np.int64)
        if not self._numeric:
            known = class_positions(classes, self._schema.label.classes)
        counts = own.counts[known]
        means = (own.means[known, :width] - others.centre[:width]) / others.scale[:width]
        means = np.where(counts[:, None] > 0, means, others.means[:, :width])
        within = np.diag(own.within())[:width] / max(own.rows - int((own.counts > 0).sum()), 1.0)
        scoring = self._fit.line if isinstance(self._fit, FittedLine) else self._fit.model
        return ReferenceModel(scoring, means, within / others.scale[:width] ** 2)

    def judge(
        self, everybody: ClassMoments, model: Callable[[ClassMoments], Discriminant], classes: tuple[str, ...]
    ) -> Judge:
        """A judge of these rows, each without itself; ``everybody`` are moments that these rows are in.

        ``model`` makes a discriminant of these classes of moments.
        """
        folds = []
        for number in range(_FOLDS):
            out = self._fold == number
            if out.any():
                folds.append((model(everybody.less(self.moments(out))), np.flatnonzero(out)))
        others = model(everybody)
        found = replace(JudgingModel(classes, others), reference=self.fitted(others, classes))
        labels: Floats | Integers = self._points[:, -1]
        if not self._numeric:
            labels = class_positions(self.labels, classes)
        return held_out_judge(found, folds, self.values, labels, self._out_of_fold())

    @property
    def modelled(self) -> Bools:
        """The schema's classes that are not too small for a model."""
        if self._numeric:
            return np.ones(1, dtype=bool)
        return self.moments().counts >= self._least

    @property
    def agreed(self) -> Bools | None:
        """Which rows the linear part of a model without them gets right; None where there is no model."""
        if not isinstance(self._fit, Fitted):
            return None
        found = np.ones(len(self.values), dtype=bool)
        places = class_positions(self._fit.model.classes, self._schema.label.classes)
        found[self._modelled] = places[self._fit.linear_votes] == self.codes[self._modelled]
        return found

    def _out_of_fold(self) -> Floats | None:
        """What models that have not seen a row say of it."""
        if self._fit is None:
            return None
        if isinstance(self._fit, FittedLine):
            return self._fit.predicted
        found = self._fit.model.scores(self.values)
        found[self._modelled] = self._fit.log_probabilities
        return found

    @cached_property
    def _modelled(self) -> Bools:
        """Rows of classes that are not too small for a model."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self._schema.label.classes))
        return (self.codes >= 0) & (counts[self.codes] >= self._least)

    @cached_property
    def _fit(self) -> Fitted | FittedLine | None:
        if self._numeric:
            return fit_line(self.values, self._points[:, -1], seed=self._seed)
        places, codes = np.unique(self.codes[self._modelled], return_inverse=True)
        if len(places) < 2:
            return None
        classes = tuple(self._schema.label.classes[at] for at in places)
        return fit_scoring_model(
            self.values[self._modelled], codes, classes, min_group=self._least, seed=self._seed, busy=self._busy
        )


def reference_model(reference: Reference, schema: Schema) -> JudgingModel | None:
    """What a client judges its rows by that hears of a reference alone; None where that has one class."""
    total, known = reference.moments(), reference.modelled
    numeric = schema.label.kind == "number"
    if not numeric and known.sum() < 2:
        return None
    coordinates = common_coordinates(total)
    classes = ("",) if numeric else tuple(np.array(schema.label.classes)[known].tolist())

    def model(moments: ClassMoments) -> Discriminant:
        return discriminant(restricted(moments, known), *coordinates)

    judge = reference.judge(total, model, classes)
    weights = moved_or_not(judge.own_weights())
    return replace(judge.model, weights=weights, held_out=judge.evidence(judge.judged(weights)))
