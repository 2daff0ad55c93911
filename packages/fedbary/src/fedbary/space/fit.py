"""Fitting a schema: from a reference table, from public rows, or from what the clients of a federation describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fedbary.columns.date import Date
from fedbary.data.table import Table
from fedbary.errors import DataError, SchemaError, SettingsError
from fedbary.notes import Note
from fedbary.space.columns import SPECS, Cells, ColumnSpec, Floats, levels
from fedbary.space.description import Common, Description, common_columns, describe, reading_of
from fedbary.space.encode import ROW_WISE, PublicCoordinates, encode, place
from fedbary.space.labels import LabelSpec, class_names
from fedbary.space.options import Space, Task
from fedbary.space.row_identity import without_rare_values
from fedbary.space.schema import Schema
from fedbary.space.walk import Batch, walk
from fedbary.wording import on_one_line

_PROJECT_ABOVE, _PROJECT_TO = 256, 64
# Least share of the spread that lies inside classes, for a metric by it to make sense.
_LEAST_INSIDE = 1e-6
# Days by which a difference of dates is divided, so that none counts.
_NOTHING_COUNTS = 1e12
# A full covariance per row: beyond this many feature coordinates a point no longer fits in memory.
_FULL_COVARIANCE_LIMIT = 64
# How many times the usual moments of a party are absurd.
_ABSURD = 100.0
# Clip norm relative to the public rows' lengths: less loses more at large ε than it wins at small ones.
_CLIP = 0.8


def fit_schema(reference: Table, settings: Space | None = None, *, seed: int = 0, min_group: int = 5) -> Schema:
    """Fit the schema on one table, the server's validation rows.

    The middle and the limits of its numbers are told as means of ``min_group`` cells, never as a cell, and levels of
    fewer rows count as any other. Columns that are constant, without a value or of names of rows are left
    out, with a note.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits").train
    >>> fb.fit_schema(digits, fb.Space(metric="within", labels="onehot")).value_width
    64
    """
    settings = (settings or Space()).with_defaults(metric="euclidean", labels="gaussian")
    draft = _draft(common_columns({}, describe(reference, settings)), settings)
    columns, notes = [], list(draft.notes)
    for column in draft.columns:
        values, date = reference.columns[column.name], isinstance(reference.reading.get(column.name), Date)
        columns.append(column.by_reference(values, min_group=min_group, date=date))
        pooled = len(levels(values)) - len(columns[-1].categories) if column.kind == "categorical" else 0
        if pooled > 1:  # one level that counts as any other is the same as before
            notes.append(Note("schema.pooled-levels", {"column": on_one_line(column.name), "count": pooled}))
    draft = replace(draft, columns=tuple(columns), notes=tuple(notes))
    width = _projected_width(draft, settings)
    if width is not None:
        from sklearn.decomposition import PCA

        values = encode(reference, draft)
        fitted = PCA(min(width, *values.shape), svd_solver="randomized", random_state=seed).fit(values)
        draft = replace(draft, projection=np.asarray(fitted.components_, dtype=np.float64))
    if not needs_moments(draft, settings):
        return draft
    return with_moments(draft, settings, [table_moments(reference, draft)])


def agree(
    descriptions: Mapping[str, Description], settings: Space, *, reference: Description | None = None, seed: int = 0
) -> tuple[Schema, dict[str, Note]]:
    """Agree on a schema by descriptions: the columns that all can use, see `fedbary.space.description.common_columns`.

    Returns the schema (before `with_moments`, where the metric needs it), whose notes name the columns that are left
    out, and, for each client that has no place beside the others, the reason.
    """
    if not descriptions and reference is None:
        raise SchemaError("schema.nobody-described")
    common = common_columns(descriptions, reference)
    draft = _draft(common, settings)
    # Days count for nothing where no reference says which of them are usual.
    columns = [
        replace(column, scale=(_NOTHING_COUNTS,)) if isinstance(draft.reading.get(column.name), Date) else column
        for column in draft.columns
    ]
    draft = replace(draft, columns=tuple(columns))
    width = _projected_width(draft, settings)
    if width is not None:
        draft = replace(draft, projection=random_directions(draft.encoded_width, width, seed))
    return replace(draft, shared_mark=False), dict(common.refused)


def public_schema(
    table: Table, *, coordinates: int | Literal["auto", "none"] = "auto", task: Task = "auto", seed: int = 0
) -> Schema:
    """Fit a schema with a clip norm on public rows: a reference, or any table of the same columns.

    ``coordinates`` is the number of principal directions to keep, ``auto`` keeps 64 above 256. Rows are clipped at 0.8
    times the root mean square of the public rows' lengths, so that no row's own length is told: noise is measured by
    it, and longer rows keep their direction (docs/cards-privacy.md).

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.public_schema(fb.Table({"age": [30.0, 50.0], "size": [1.0, 2.0]}, ["a", "b"])).clip
    1.1313708498984762
    """
    settings = Space(task=task, metric="euclidean", labels="onehot", projection=coordinates)
    schema = fit_schema(table, settings, seed=seed)
    lengths = ROW_WISE.squares(PublicCoordinates(schema).points(table).T)
    return replace(schema, clip=clip_of_standard_rows(float(lengths.mean())) or 1.0)


def clip_of_standard_rows(squared_length: float) -> float:
    """What rows are clipped at whose mean squared length is this."""
    return _CLIP * float(np.sqrt(squared_length))


def needs_moments(draft: Schema, settings: Space) -> bool:
    """Whether whitening or the label weight has yet to be fitted from second moments."""
    weighed = draft.label.coordinates in ("onehot", "numeric") and settings.label_weight is None
    return settings.metric != "euclidean" or weighed


def with_moments(draft: Schema, settings: Space, parts: Sequence[Moments]) -> Schema:
    """Complete a draft: whitening by the asked covariance, and the weights of labels and missing cells.

    Both are of the size of λ = E‖x − x'‖², what two random rows are apart: a label weighs λ, and a column what it
    contributes to λ.
    """
    if not parts:
        raise SchemaError("schema.nobody-sent-moments")
    # Each party counts the same, and absurdly large moments are left out.
    sizes = np.array([float(np.trace(part.second)) for part in parts])
    sane = [part for part, size in zip(parts, sizes, strict=True) if size <= _ABSURD * max(np.median(sizes), 1e-12)]
    names = ("mean", "second", "between")
    pooled = Moments(*(np.mean([getattr(part, name) for part in sane], axis=0) for name in names))
    if pooled.mean.shape != (draft.value_width,):
        raise SchemaError("schema.moments-width", found=len(pooled.mean), expected=draft.value_width)
    total, within = pooled.second - np.outer(pooled.mean, pooled.mean), pooled.second - pooled.between
    whitening, spread = None, total
    if settings.metric != "euclidean":
        covariance = total
        if settings.metric == "within" and draft.label.kind == "classes":
            # Classes of one row each have no spread inside: whitening by it would blow all distances up.
            covariance = within if np.trace(within) > _LEAST_INSIDE * np.trace(total) else total
        whitening = whitening_matrix(covariance, settings.shrinkage)
        spread = whitening @ spread @ whitening
    label = draft.label
    if label.coordinates in ("onehot", "numeric") and settings.label_weight is None:
        label = replace(label, weight=float(2.0 * np.trace(spread)))
    return replace(draft, whitening=whitening, label=label, columns=_with_absence(draft, np.diag(spread)))


def _draft(common: Common, settings: Space) -> Schema:
    """Columns, scaling and label from descriptions, each client counting the same, and the reference more than all."""
    standard = [] if common.reference is None else [common.reference] * (len(common.descriptions) + 1)
    descriptions = [*common.descriptions.values(), *standard]
    described = [{column.name: column for column in one.columns} for one in descriptions]
    # By name: the order of columns in somebody's file must move nothing.
    columns = []
    for name in sorted(described[0]):
        parts = [one[name] for one in described]
        columns.append(SPECS[parts[0].kind].agreed(parts, settings.scaling))
    constant = {column.name for column, varies in columns if not varies}
    constant |= {made for name, how in common.reading.items() if name in constant for made in how.made(name)}
    if len(constant) == len(columns):  # nothing else is there
        constant = set()
    kept = tuple(column for column, _ in columns if column.name not in constant)
    notes = [Note("schema.constant-column", {"column": on_one_line(name)}) for name in sorted(constant)]
    draft = Schema(
        kept,
        _fit_label(descriptions, settings),
        missing=settings.missing,
        reading=reading_of(frozenset(column.name for column in kept), common.reading),
        notes=(*common.notes, *notes),
    )
    width = _projected_width(draft, settings) or draft.value_width
    if draft.label.coordinates == "gaussian-full" and width > _FULL_COVARIANCE_LIMIT:
        raise SettingsError("schema.full-covariance-too-wide", width=draft.value_width, most=_FULL_COVARIANCE_LIMIT - 1)
    return draft


def _with_absence(draft: Schema, spread: Floats) -> tuple[ColumnSpec, ...]:
    """Columns with what each adds to a squared distance where it is missing, by the variances of the values.

    A column adds what it contributes to the squared distance of two random rows. By itself, imputing it would take
    away no more than half of that on average. No cell adds less than the average one: a column without spread must be
    seen, too. Where a projection mixes the columns, they share by what they have before it.
    """
    total = 2.0 * float(spread.sum())
    if draft.projection is None:
        parts = [2.0 * float(spread[own].sum()) for own in draft.slices.values()]
    else:
        drafted = sum(column.absence for column in draft.columns)
        parts = [total * column.absence / drafted for column in draft.columns]
    return tuple(
        replace(column, absence=max(part, total * column.width / draft.cells))
        for column, part in zip(draft.columns, parts, strict=True)
    )


def _fit_label(descriptions: Sequence[Description], settings: Space) -> LabelSpec:
    first = descriptions[0]
    weight = 1.0 if settings.label_weight is None else settings.label_weight
    if first.label_kind == "number":
        mean = float(np.median([d.label_mean for d in descriptions]))
        variance = float(np.median([d.label_variance + (d.label_mean - mean) ** 2 for d in descriptions]))
        scale = float(np.sqrt(variance)) if variance > (1e-10 * mean) ** 2 else 1.0
        return LabelSpec(first.label_name, "number", "numeric", mean=mean, scale=scale, weight=weight)
    if settings.labels == "numeric":
        raise SettingsError("schema.numeric-labels-of-classes", label=first.label_name)
    classes = tuple(sorted(set().union(*(d.classes for d in descriptions))))
    return LabelSpec(first.label_name, "classes", settings.labels or "gaussian", classes, weight=weight)


def _projected_width(draft: Schema, settings: Space) -> int | None:
    if settings.projection == "none":
        return None
    if settings.projection == "auto":
        return _PROJECT_TO if draft.encoded_width > _PROJECT_ABOVE else None
    return settings.projection if settings.projection < draft.encoded_width else None


def random_directions(columns: int, width: int, seed: int) -> Floats:
    """Orthonormal directions that depend on the seed alone, for federations without a reference."""
    gaussian = np.random.default_rng(seed).standard_normal((columns, min(width, columns)))
    return np.ascontiguousarray(np.linalg.qr(gaussian)[0].T)


def whitening_matrix(covariance: Floats, shrinkage: float) -> Floats:
    """Symmetric Σ^(-1/2) of the covariance shrunk towards a multiple of the identity."""
    width = len(covariance)
    level = float(np.trace(covariance)) / width
    shrunk = (1.0 - shrinkage) * covariance + shrinkage * level * np.eye(width)
    values, vectors = np.linalg.eigh(shrunk)
    # Directions without any spread carry no information on the scale: leave them as they are.
    floor = 1e-10 * max(level, np.finfo(float).tiny)
    factors = np.where(values > floor, 1.0 / np.sqrt(np.maximum(values, floor)), 1.0)
    return np.asarray((vectors * factors) @ vectors.T)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and mean outer product of the features, and the between-class part of the latter.

    ``between`` is Σ_c (n_c/n)·m_c·m_cᵀ. All three are sums over the same rows, those of classes with at least
    ``min_group`` different rows, so that no difference between them shows a smaller group.
    """

    mean: Floats
    second: Floats
    between: Floats


class MomentsFold:
    """Sums of features, of their products and of each class, before whitening."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._classes: dict[str, tuple[int, Floats]] = {}
        self._total: Floats = np.zeros(())
        self._second: Floats = np.zeros(())

    def add(self, batch: Batch) -> None:
        self.add_rows(place(batch.encoded, self._schema), self.names(batch.table.labels))

    def names(self, labels: Cells) -> Cells:
        """The class of each row; all have one where labels are numbers."""
        return class_names(labels) if self._schema.label.kind == "classes" else np.full(len(labels), "")

    def add_rows(self, values: Floats, names: Cells) -> None:
        self._add(
            {str(name): (int((names == name).sum()), values[names == name].sum(axis=0)) for name in np.unique(names)},
            values.sum(axis=0),
            values.T @ values,
        )

    def merge(self, other: MomentsFold) -> None:
        self._add(other._classes, other._total, other._second)

    def _add(self, classes: Mapping[str, tuple[int, Floats]], total: Floats, second: Floats) -> None:
        for name, (rows, sums) in classes.items():
            before = self._classes.get(name, (0, np.zeros(())))
            self._classes[name] = before[0] + rows, before[1] + sums
        self._total, self._second = self._total + total, self._second + second

    def done(self) -> Moments:
        rows = sum(count for count, _ in self._classes.values())
        second = self._second / rows
        between = np.zeros_like(second)
        for _, (count, sums) in sorted(self._classes.items()):
            between += count / rows * np.outer(sums / count, sums / count)
        return Moments(self._total / rows, second, between)


def table_moments(table: Table, draft: Schema, *, min_group: int = 1) -> Moments:
    """Second moments of a table's features before whitening; of rows and values of which there are enough."""
    fold = MomentsFold(draft)
    if min_group <= 1:
        walk(table, draft, fold)
        return fold.done()
    values = place(without_rare_values(encode(table, draft), min_group), draft)
    names = fold.names(table.labels)
    large = np.zeros(len(values), dtype=bool)
    for name in np.unique(names):
        rows = names == name
        large |= rows & (len(np.unique(values[rows], axis=0)) >= min_group)
    if not large.any():
        raise DataError("schema.no-class-with-enough-rows", least=min_group)
    fold.add_rows(values[large], names[large])
    return fold.done()
