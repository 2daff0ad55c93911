"""`Judge`: a received model at work on a client's rows, at home.

The rows come a part at a time and are looked at once; then they are judged as often as weights change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.compute.device import map_by_all_cores
from fedbary.data.spool import Spool
from fedbary.judging.candidates import Candidates, OwnRows, with_classes
from fedbary.judging.competition import (
    MOST_ROWS,
    JudgedLabels,
    coarse,
    joint,
    judged_labels,
    own_weights,
    with_others,
)
from fedbary.judging.discriminant import Discriminant, Moved
from fedbary.judging.evidence import (
    SHARES,
    Evidence,
    Groups,
    counted,
    one_row_decides,
    share_likelihood,
    shared_odds,
)
from fedbary.judging.label_evidence import LabelEvidence, label_evidence
from fedbary.judging.lines import Line, Lines, judged_numbers, line_weights
from fedbary.judging.model import JudgingModel
from fedbary.judging.scoring import Scorer, ScoringModel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

# From so many rows on, numbers have single precision; farther away than this, rows are equally far.
_MANY_ROWS, _FAR = 65_537, 1e12
_BLOCK = 8192
# Rows so many times as far away as usual say less of their label, the farther the less.
_FAR_TIMES = 1.5
# Feature surprise: so many steps of the grid's unit for each factor e of squared distance over the usual one.
_FEATURE_UNITS = 4.0
# Rows of all classes that each class's usual distance is pooled with; and rows of a class that tell how it scatters.
_PSEUDO_ROWS, _ENOUGH_ROWS = 10.0, 10
# Rows that tell what labels look like, and standard deviations beyond which they lie no farther out.
_MOST_LOOKED_AT, _FAR_OUT = 20_000, 100.0
# The rows in the middle, by whose distance all others are measured.
_MIDDLE = (0.45, 0.55)
# A client's own moments are of cells not farther out than so many robust deviations.
_REACH, _MAD = 6.0, 1.4826
# Columns are named until they make up half of what makes a row odd, at most so many.
_HALF, _MOST_NAMED = 0.5, 3


@dataclass(frozen=True, eq=False)
class Judged:
    """A client's rows by some weights: labels, features in units of the grid, and, of numbers, what they should be."""

    labels: JudgedLabels
    features: Floats
    suggested: Floats | None = None


class Judge:
    """Holds rows in standardised coordinates, and what the candidates say of them.

    Parameters
    ----------
    model : JudgingModel
        What the client was sent.
    rows : int
        How many rows there will be.
    groups : Groups, optional
        With it, the client's own means and spreads are of rows of which none lies farther out, in any coordinate, than
        so many different ones: all rows are judged by them, so that one row would show in what is told of all.
    """

    def __init__(self, model: JudgingModel, rows: int, groups: Groups | None = None) -> None:
        self.model, self.rows, self._groups = model, rows, groups
        self.single = rows >= _MANY_ROWS
        self._dtype = np.dtype(np.float32 if self.single else np.float64)
        self._values = Spool(model.features, self._dtype)
        self._labels: list[Floats | Integers] = []
        self._lacking: list[Floats] = []

    def add(self, values: Floats, labels: Floats | Integers, lacking: Floats, holes: Bools | None = None) -> None:
        """Take the next rows: their coordinates, codes or numbers as labels, the share of cells that each lacks.

        ``holes`` are the coordinates that were made up for missing cells.
        """
        width, others = self.model.features, self.model.others
        rows = np.clip((values - others.centre[:width]) / others.scale[:width], -_FAR, _FAR)
        if holes is not None:
            rows[holes] = np.nan
        self._values.append(rows)
        self._labels.append(labels)
        self._lacking.append(lacking)

    def merge(self, other: Judge) -> None:
        """Take the rows that another one took, after its own."""
        for rows in other._values.parts():
            self._values.append(rows)
        self._labels += other._labels
        self._lacking += other._lacking

    @cached_property
    def labels(self) -> ClassLabels | NumberLabels:
        """What candidates judge; ``codes`` are classes, −1 for those that the model does not know, 0 for numbers."""
        return (NumberLabels if self.model.numeric else ClassLabels)(self, np.concatenate(self._labels))

    def limits(self, rows: Floats, usual: Floats, place: slice | Integers = slice(None)) -> tuple[Floats, Floats]:
        """`limits` of the rows at a place; with groups, no farther out than so many different ones."""
        if self._groups is None:
            return limits(rows, usual)
        return limits(rows, usual, self._groups.first()[place], self._groups.least)

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        """Where the client's own moments are cut off: a broken cell would move all its rows."""
        chosen = np.arange(0, self.rows, max(1, -(-self.rows // MOST_ROWS)))
        others = self.model.others.first(self.model.features)
        return self.limits(self._values.take(chosen), np.sqrt(others.variances + others.means.var(axis=0)), chosen)

    def _usual(self, rows: Floats) -> tuple[Floats, Bools]:
        """Cells as far as a client's own moments are made of them, and which they are made of.

        Not of missing ones, nor of those far outside of where most lie; where groups decide, these lie at the limits.
        """
        low, high = self._limits
        with np.errstate(invalid="ignore"):
            if self._groups is not None:
                return np.clip(rows, low, high), np.isfinite(rows)
            return rows, np.asarray((rows >= low) & (rows <= high))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Means and variances of usual cells."""
        there, sums, squares = (np.zeros(self.model.features) for _ in range(3))
        for part in self._values.parts():
            rows, known = self._usual(part.astype(np.float64))
            filled = rows if known.all() else np.where(known, rows, 0.0)
            there += known.sum(axis=0)
            sums += filled.sum(axis=0)
            squares += np.einsum("ij,ij->j", filled, filled)
        mean = sums / np.maximum(there, 1.0)
        return mean, np.maximum(squares / np.maximum(there, 1.0) - mean**2, 0.0)

    def usual_rows(self) -> Iterator[tuple[slice, Floats]]:
        """Rows with their places, the client's own mean where cells are not usual."""
        for place, part in self._values.placed():
            rows, known = self._usual(part)
            yield place, np.where(known, rows, self._moments[0])

    def _filled(self, rows: Floats) -> Floats:
        """Cells that are missing lie at the client's own mean: they say nothing, and are not odd."""
        holes = np.isnan(rows)
        return np.where(holes, self._moments[0].astype(rows.dtype), rows) if holes.any() else rows

    @cached_property
    def own(self) -> OwnRows:
        """Sums of the client's rows by class."""
        classes = len(self.model.classes)
        codes, sums = self.labels.codes, np.zeros((classes, self.model.features))
        for place, rows in self.usual_rows():
            known = codes[place] >= 0
            np.add.at(sums, codes[place][known], rows[known])
        counts = np.bincount(codes[codes >= 0], minlength=classes).astype(float)
        return OwnRows(counts, sums, *self._moments)

    @cached_property
    def features_model(self) -> Candidates:
        """The others' discriminant of the features alone, with the client's own rows."""
        found = Candidates(self.model.others.first(self.model.features), self.own)
        if self._groups is not None:  # nothing but groups decides where rows are looked at
            return found
        chosen = np.arange(0, self.rows, max(1, self.rows // MOST_ROWS))
        return found.unless_nearer_unmoved(self._filled(self._values.take(chosen)).astype(np.float64))

    @property
    def moved(self) -> Moved:
        """Where the others expect these rows."""
        return self.features_model.moved

    @cached_property
    def _seen(self) -> tuple[Spool, Floats]:
        """What every candidate says of every row, and squared distances of moved rows."""
        spool, distances = Spool(self.labels.width, self._dtype), list[Floats]()
        for place, part in self._values.placed():
            said, away = self.look(self._filled(part), place)
            spool.append(said)
            distances.append(away)
        # As if rows had all cells; of those that lack most of them nothing odd can be said.
        lacking = np.concatenate(self._lacking)
        most = lacking > 0.5
        whole = np.concatenate(distances) / np.where(most, 1.0, 1.0 - lacking)
        if most.any():
            whole[most] = np.minimum(whole[most], middle(whole[~most]) if not most.all() else np.inf)
        return spool, whole

    def look(self, rows: Floats, place: slice | Integers) -> tuple[Floats, Floats]:
        """What candidates say of the rows at a place, standardised and without holes, and their squared distances."""
        with np.errstate(all="ignore"):
            said, away = self.labels.look(rows, place)
        return said, np.clip(np.nan_to_num(away.astype(np.float64), nan=_FAR, posinf=_FAR), 1e-12, _FAR)

    @cached_property
    def _ratio(self) -> Floats:
        """Squared distances over the usual ones of rows with the same label, pooled with all: classes differ in spread.

        Not of rows that look alike, since rows of noise may all look like one class.
        """
        away = self._seen[1]
        overall = np.log(middle(away))
        usual = np.full(len(self.model.classes) + 1, overall)  # the last is of classes that are not known
        for code in range(len(self.model.classes)):
            mine = away[self.labels.codes == code]
            if len(mine):
                usual[code] = (len(mine) * np.log(middle(mine)) + _PSEUDO_ROWS * overall) / (len(mine) + _PSEUDO_ROWS)
        return np.asarray(away / np.exp(usual[self.labels.codes]))

    def _scatter(self, groups: Groups | None) -> Floats:
        """Log of the usual squared distance of each class's rows, and of all; before they were moved, NaN for few."""
        away, codes, least = self._seen[1], self.labels.codes, 1
        if groups is not None:
            away, codes, least = away[groups.first()], codes[groups.first()], groups.least
        found = np.full(len(self.model.classes) + 1, np.nan)
        for code in range(len(found)):
            mine = away if code + 1 == len(found) else away[codes == code]
            if len(mine) >= max(_ENOUGH_ROWS, 2 * least):
                found[code] = np.log(middle(mine, least=least)) + 2.0 * self.moved.log_times
        return np.asarray(np.round(found, 3))

    @cached_property
    def told(self) -> Floats:
        """How much each row says of its label: less where cells are missing, or where it lies far out."""
        near = np.minimum(1.0, _FAR_TIMES / self._ratio)
        return np.asarray(near * (1.0 - np.concatenate(self._lacking)))

    def own_weights(self, groups: Groups | None = None) -> Floats:
        """The weights at which the client's own labels are likeliest; of very many rows some tell them.

        With ``groups`` no fewer different rows than one of them decide.
        """
        known = self.labels.codes >= 0
        chosen = np.flatnonzero(known if groups is None else known & groups.first())
        chosen = chosen[:: max(1, -(-len(chosen) // MOST_ROWS))]
        if not len(chosen):
            return np.ones(self.model.candidates + self.model.numeric) / self.model.candidates
        return self.labels.weights(self._seen[0].take(chosen), chosen, groups)

    def judged(self, weights: Floats) -> Judged:
        """All rows by some weights."""
        labels, suggested = self.labels.judged(self._seen[0], weights)
        return Judged(labels, _FEATURE_UNITS * np.maximum(np.log(self._ratio), 0.0), suggested)

    def evidence(self, judged: Judged, groups: Groups | None = None) -> Evidence:
        """What leaves the client; with ``groups``, no fewer different rows than one of them decide any of it."""
        labels, known = judged.labels, judged.labels.known
        right, wrong = labels.right[known], labels.wrong[known]
        silent, some = not known.any(), None
        if groups is not None:
            some = groups.among(known)
            right, wrong = shared_odds(right, wrong, some)
            silent = silent or one_row_decides(right, wrong, groups.least, len(self.model.classes))
        likelihood = np.zeros(len(SHARES)) if silent else np.round(share_likelihood(right, wrong), 2)
        return Evidence(
            likelihood=likelihood,
            seen=round(labels.seen, 3 if groups is None else 2),
            labels=counted(labels.surprise[known], groups=some),
            features=counted(judged.features, groups=groups),
            scatter=self._scatter(groups),
        )

    def label_evidence(
        self, codes: Integers, places: Integers, classes: int, groups: Groups | None = None
    ) -> LabelEvidence:
        """What the rows of each label look like; ``codes`` are among all classes, the model's at these places.

        With ``groups`` copies count once, and no fewer different rows than one of them decide any of it.
        """
        means, counts = np.zeros((classes, self.model.features)), np.zeros(classes)
        means[places], counts[places] = (
            self.features_model.model.means @ self.features_model.model.root,
            self.model.others.counts,
        )
        some = np.arange(0, len(codes), max(1, len(codes) // _MOST_LOOKED_AT))
        told = codes >= 0 if groups is None else (codes >= 0) & groups.first()
        some = some[told[some]]
        rows = self._filled(self._values.take(some)).astype(np.float64)
        white = np.clip(rows, -_FAR_OUT, _FAR_OUT) @ self.features_model.model.root
        least = 1 if groups is None else groups.least
        return label_evidence(white, codes[some], means, counts, least=least)

    def odd_columns(self, chosen: Integers, names: list[str], edges: Integers) -> list[str | None]:
        """For each of some rows, in order, the columns that take it away from where the others expect it, worst first.

        The squared distance rᵀPr = Σ_j r_j·(Pr)_j, r the moved row's deviation from the nearest class mean, so that
        each coordinate has its part; ``edges`` are where columns begin.
        """
        features = self.features_model
        away = features.deviations(self._filled(self._values.take(chosen)).astype(np.float64))
        parts = away * (away @ (features.model.root @ features.model.root.T))
        parts = np.maximum(np.add.reduceat(parts, edges, axis=1), 0.0)
        worst = np.argsort(-parts, axis=1)[:, :_MOST_NAMED]
        reached, total = np.cumsum(np.take_along_axis(parts, worst, axis=1), axis=1), parts.sum(axis=1)
        enough = np.concatenate([np.zeros((len(parts), 1), bool), reached[:, :-1] >= _HALF * total[:, None]], axis=1)
        # Few columns make most rows odd, so that each list of them is written once.
        lists, of_row = np.unique(np.where(enough, -1, worst), axis=0, return_inverse=True)
        texts = [", ".join(names[place] for place in some if place >= 0) for some in lists]
        return [texts[one] if odd else None for one, odd in zip(of_row.ravel(), total > 0.0, strict=True)]


class ClassLabels:
    """Labels that are classes: of each row every candidate says log-probabilities of all classes."""

    def __init__(self, judge: Judge, labels: NDArray[Any]) -> None:
        self._judge, self.codes = judge, labels.astype(np.int64)
        self.width = judge.model.candidates * len(judge.model.classes)

    def look(self, rows: Floats, place: slice | Integers) -> tuple[Floats, Floats]:
        """What candidates say side by side, and squared distances."""
        candidates, own, codes = self._judge.features_model, self._judge.own, self.codes[place]

        def block(start: int) -> tuple[list[Floats], Floats, Floats]:
            return candidates(rows[start : start + _BLOCK], codes[start : start + _BLOCK])

        found = map_by_all_cores(block, range(0, max(len(rows), 1), _BLOCK))
        logs = [np.concatenate([one[0][k] for one in found]) for k in range(3)]
        if (reference := self._judge.model.reference) is not None:
            scoring, scorer, known = self._scoring
            others, prior = self._judge.model.others, np.log(self._judge.own.shares)[known]
            near = np.concatenate([one[2] for one in found])
            as_they_are, moved = (rows, logs[0], near), (own.moved_to(reference)(rows), logs[1], np.ones(len(rows)))
            for points, by_others, says in (as_they_are, moved):
                values = (points * others.scale + others.centre).astype(rows.dtype)
                said = says[:, None] * (scorer(values) - scoring.log_prior) + prior
                # Of classes that the reference does not know, the others say how likely they are.
                logs.append(with_classes(said, known, by_others))
        # Where a server's numbers leave the finite ones, a row has its prior and is no failure: that would tell of it.
        sound = [np.isfinite(one).all(axis=1)[:, None] for one in logs]
        shares = np.log(own.shares)
        said = np.hstack([np.where(fine, one, shares) for fine, one in zip(sound, logs, strict=True)])
        return said, np.concatenate([one[1] for one in found])

    @cached_property
    def _scoring(self) -> tuple[ScoringModel, Scorer, Integers]:
        """The reference's model, at work, and where its classes are."""
        model = self._judge.model
        assert model.reference is not None
        scoring = model.reference.scoring
        assert isinstance(scoring, ScoringModel)
        scoring.require_affordable(self._judge.rows)
        scorer = Scorer(scoring.in_single() if self._judge.single else scoring, self._judge.rows)
        return scoring, scorer, np.array([model.classes.index(name) for name in scoring.classes])

    def _candidates(self, said: Floats, place: slice | Integers) -> Floats:
        """Log-probabilities (k, n, K) of some rows."""
        told, prior = self._judge.told[place][:, None], np.log(self._judge.own.shares)
        by_candidate = np.split(said.astype(np.float64), self._judge.model.candidates, axis=1)
        return np.stack([log_softmax(told * logs + (1.0 - told) * prior, axis=1) for logs in by_candidate])

    def weights(self, said: Floats, place: Integers, groups: Groups | None) -> Floats:
        """The weights at which these rows' labels are likeliest; with ``groups`` no fewer rows decide."""
        candidates = self._candidates(said, place)
        if groups is None:
            return own_weights(candidates, self.codes[place])
        candidates = with_others(candidates, np.log(self._judge.own.shares), groups.least)
        return coarse(own_weights(candidates, self.codes[place]))

    def judged(self, spool: Spool, weights: Floats) -> tuple[JudgedLabels, None]:
        """All labels by some weights."""
        found = [
            judged_labels(joint(self._candidates(part, place), weights), self.codes[place])
            for place, part in spool.placed(_BLOCK * 4)
        ]
        rows = np.array([len(one.right) for one in found], dtype=float)
        seen = float(rows @ [one.seen for one in found] / max(rows.sum(), 1.0))
        right, wrong, surprise, other = (
            np.concatenate([getattr(one, name) for one in found]) for name in ("right", "wrong", "surprise", "other")
        )
        return JudgedLabels(right, wrong, surprise, other, seen), None


class NumberLabels:
    """Labels that are numbers, standardised: of each row every candidate says what its label should be."""

    def __init__(self, judge: Judge, labels: NDArray[Any]) -> None:
        self._judge, self.width = judge, judge.model.candidates
        self._centre, self._scale = judge.model.others.centre[-1], judge.model.others.scale[-1]
        self._numbers = np.asarray((labels - self._centre) / self._scale)
        self.codes = np.zeros(len(labels), dtype=np.int64)

    @cached_property
    def _lines(self) -> Lines:
        judge = self._judge
        labels = np.clip(self._numbers, *judge.limits(self._numbers[:, None], np.ones(1)))
        mean, width = np.append(judge.own.mean, labels.mean()), judge.model.features
        second = np.zeros((width + 1, width + 1))
        for place, part in judge.usual_rows():
            both = np.column_stack([part, labels[place]]) - mean
            second += both.T @ both
        return Lines(judge.model.others, mean, second / max(judge.rows, 1), float(judge.rows))

    def look(self, rows: Floats, place: slice | Integers) -> tuple[Floats, Floats]:
        """Predictions side by side, and squared distances of the features."""
        judge, rows = self._judge, rows.astype(np.float64)
        features, reference, others = judge.features_model, judge.model.reference, judge.model.others
        said = self._lines(rows, features.moved(rows), self._numbers[place])
        if reference is not None:
            assert isinstance(reference.scoring, Line)
            width = judge.model.features
            for points in (rows, judge.own.moved_to(reference)(rows)):
                predicted = reference.scoring.predicted(points * others.scale[:width] + others.centre[:width])
                said.append((predicted - self._centre) / self._scale)
        found = np.nan_to_num(np.column_stack(said), posinf=_FAR, neginf=-_FAR)
        return found, features(rows, self.codes[place])[1]

    def weights(self, said: Floats, place: Integers, groups: Groups | None) -> Floats:
        """The weights at which these rows' residuals are smallest, and their spread; no fewer than a group decide."""
        return line_weights(said.T, self._numbers[place], least=1 if groups is None else groups.least)

    def judged(self, spool: Spool, weights: Floats) -> tuple[JudgedLabels, Floats]:
        """All labels by some weights, and what they should be."""
        labels, said = judged_numbers(spool.array().T, self._numbers, weights)
        return replace(labels, surprise=labels.surprise * self._judge.told), said * self._scale + self._centre


def held_out_judge(
    model: JudgingModel,
    folds: Sequence[tuple[Discriminant, Integers]],
    values: Floats,
    labels: Floats | Integers,
    by_reference: Floats | None,
) -> Judge:
    """A judge of a reference's rows as if these were a client's, each judged by what was made without it.

    ``folds`` are the discriminants of everybody without some of the rows, and which rows these are; ``by_reference``
    what models that have not seen a row say of it: log-probabilities of the classes that the reference's model knows,
    or predicted labels.
    """
    alone = replace(model, reference=None)
    judge = Judge(model, len(values))
    judge.add(values, labels, np.zeros(len(values)))
    said, away = np.zeros((len(values), judge.labels.width)), np.zeros(len(values))
    for others, rows in folds:
        without = Judge(replace(alone, others=others), len(values))
        without.add(values, labels, np.zeros(len(values)))
        standardised = without.model.others.first(model.features).standardised(values[rows])
        said[rows, : without.labels.width], away[rows] = without.look(standardised, rows)
    if by_reference is not None and model.reference is not None:
        known = model.reference.scoring
        theirs = (by_reference - model.others.centre[-1])[:, None] / model.others.scale[-1]
        if isinstance(known, ScoringModel):
            places = np.array([model.classes.index(name) for name in known.classes])
            own = by_reference + np.log(judge.own.shares)[places] - known.log_prior
            theirs = with_classes(own, places, said[:, : len(model.classes)])
        # Moved to where they are, they stay where they are.
        said[:, -2 * theirs.shape[1] :] = np.hstack([theirs, theirs])
    judge._seen = Spool.of(said), away
    return judge


def limits(rows: Floats, usual: Floats, different: Bools | None = None, least: int = 1) -> tuple[Floats, Floats]:
    """Far outside of where most rows lie in each coordinate, below and above: a slipped comma is no site effect.

    Six robust deviations from the median, of the rows themselves or ``usual`` ones, whichever are larger: rows of a
    rare class may lie far from most others.

    With ``least`` no farther from the middle than so many different rows.
    """
    known = rows.astype(np.float64)
    holes = np.isnan(known)
    if holes.any():
        known = np.where(holes, np.nanmedian(np.where(holes.all(axis=0), 0.0, known), axis=0), known)
    middle = np.median(known, axis=0)
    spread = _MAD * np.median(np.abs(known - middle), axis=0)
    reach = _REACH * np.maximum(spread, usual)
    if different is not None:
        away = np.sort(np.abs(known[different] - middle), axis=0)[-min(least, int(different.sum()))]
        reach = np.minimum(reach, away)
    return middle - reach, middle + reach


def middle(distances: Floats, *, least: int = 1) -> float:
    """The usual distance: a mean of those in the middle, ``least`` of them at least, as a median is one row's value."""
    ordered = np.sort(distances)
    first, last = (int(place * (len(ordered) - 1)) for place in _MIDDLE)
    more = max(0, -(-(least - (last - first + 1)) // 2))
    return max(float(np.exp(np.log(ordered[max(first - more, 0) : last + more + 1]).mean())), 1e-12)
