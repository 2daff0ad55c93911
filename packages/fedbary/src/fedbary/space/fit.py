"""Fitting a schema: from a reference table, or from what the clients of a federation describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.columns import missing_rows
from fedbary.data.reading import Reading, columns_made
from fedbary.data.table import Table
from fedbary.errors import SchemaError, SettingsError
from fedbary.notes import Note
from fedbary.space.common_columns import Common, common_columns, reading_of
from fedbary.space.description import ColumnDescription, Description, describe
from fedbary.space.encode import category_texts, encode
from fedbary.space.levels import named_levels
from fedbary.space.limits import limits, span
from fedbary.space.moments import Moments, merged, table_moments
from fedbary.space.options import Space
from fedbary.space.schema import ColumnSpec, LabelSpec, Projection, Schema
from fedbary.wording import on_one_line

Floats = NDArray[np.float64]

_PROJECT_ABOVE, _PROJECT_TO = 256, 64
# Least share of the spread that lies inside classes, for a metric by it to make sense.
_LEAST_INSIDE = 1e-6
# Days by which a difference of dates is divided, so that none counts.
_NOTHING_COUNTS = 1e12
# A full covariance per row: beyond this many feature coordinates a point no longer fits in memory.
_FULL_COVARIANCE_LIMIT = 64


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
    common = common_columns({}, describe(reference, settings))
    draft = _draft(common, settings)
    columns = tuple(_by_reference(column, reference, min_group) for column in draft.columns)
    draft = replace(draft, columns=columns, notes=(*draft.notes, *_pooled(reference, columns)))
    width = _projected_width(draft, settings)
    if width is not None:
        draft = replace(draft, projection=principal_directions(encode(reference, draft), width, seed))
    if not needs_moments(draft, settings):
        return draft
    return with_moments(draft, settings, [table_moments(reference, draft)])


def agree(
    descriptions: Mapping[str, Description], settings: Space, *, reference: Description | None = None, seed: int = 0
) -> tuple[Schema, dict[str, Note]]:
    """Agree on a schema by descriptions: the columns that all can use, see `fedbary.space.common_columns`.

    Returns the schema (before `with_moments`, where the metric needs it), whose notes name the columns that are left
    out, and, for each client that has no place beside the others, the reason.
    """
    if not descriptions and reference is None:
        raise SchemaError("schema.nobody-described")
    common = common_columns(descriptions, reference)
    draft = _draft(common, settings)
    draft = replace(draft, columns=tuple(_without_period(column, draft.reading) for column in draft.columns))
    width = _projected_width(draft, settings)
    if width is not None:
        draft = replace(draft, projection=random_directions(draft.encoded_width, width, seed))
    return replace(draft, shared_mark=False), dict(common.refused)


def needs_moments(draft: Schema, settings: Space) -> bool:
    """Whether whitening or the label weight has yet to be fitted from second moments."""
    weighed = draft.label.coordinates in ("onehot", "numeric") and settings.label_weight is None
    return settings.metric != "euclidean" or weighed


def with_moments(draft: Schema, settings: Space, parts: Sequence[Moments]) -> Schema:
    """Complete a draft: whitening by the asked covariance, and the weights of labels and missing cells.

    Both are of the size of λ = E‖x − x'‖², what two random rows are apart: a label weighs λ, and a column what it
    contributes to λ.
    """
    pooled = merged(parts)
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
    described = [{column.name: column for column in d.columns} for d in descriptions]
    # By name: the order of columns in somebody's file must move nothing.
    columns = [_fit_column([columns[name] for columns in described], settings) for name in sorted(described[0])]
    constant = {column.name for column, varies in columns if not varies}
    constant |= {made for name, how in common.reading.items() if name in constant for made in columns_made(name, how)}
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
    if (
        draft.label.coordinates == "gaussian-full"
        and (_projected_width(draft, settings) or draft.value_width) > _FULL_COVARIANCE_LIMIT
    ):
        raise SettingsError("schema.full-covariance-too-wide", width=draft.value_width, most=_FULL_COVARIANCE_LIMIT - 1)
    return draft


def _fit_column(parts: Sequence[ColumnDescription], settings: Space) -> tuple[ColumnSpec, bool]:
    """A column, and whether it varies anywhere."""
    first, may_lack = parts[0], any(part.lacks for part in parts)
    if first.kind == "categorical":
        categories = tuple(sorted(set().union(*(part.categories for part in parts))))
        # Two rows with different categories are 2 apart; that of two random rows is not known here.
        return ColumnSpec(first.name, first.kind, categories=categories, absence=2.0, may_lack=may_lack), True
    # Medians over the parties: one with other units, or with nonsense, must not set everybody's scale.
    means = np.array([part.mean for part in parts])
    mean = np.median(means, axis=0)
    spreads = np.array([part.variance for part in parts]) + (means - mean) ** 2
    variance, together = (_spread(found, mean) for found in (np.median(spreads, axis=0), spreads.mean(axis=0)))
    varies = first.kind == "block" or bool(together[0] > 0)
    scale, centre = np.ones_like(mean), np.zeros_like(mean)
    if settings.scaling != "none":
        if settings.scaling == "standard":  # a single column is a block of one
            variance, together = np.full_like(variance, variance.mean()), np.full_like(variance, together.mean())
        # What is constant with most of them, and not with all, has the spread that all have together.
        variance = np.where(variance > 0, variance, together)
        scale, centre = np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0), mean
    column = ColumnSpec(
        first.name,
        first.kind,
        first.width,
        tuple(centre.tolist()),
        tuple(scale.tolist()),
        middle=tuple(mean.tolist()),
        absence=2.0 * float((variance / scale**2).sum()) or 2.0 * first.width,
        may_lack=may_lack,
    )
    return column, varies


def is_date(name: str, reading: Reading) -> bool:
    """Whether a column of a table holds the days of dates."""
    return name in reading and reading[name].kind == "date"


def _without_period(column: ColumnSpec, reading: Reading) -> ColumnSpec:
    """Days that count for nothing, where no reference says which of them are usual."""
    return replace(column, scale=(_NOTHING_COUNTS,)) if is_date(column.name, reading) else column


def _spread(variance: Floats, mean: Floats) -> Floats:
    """What rounding leaves of a constant column's variance is noise, not spread."""
    return np.where(variance > (1e-10 * mean) ** 2, variance, 0.0)


def _by_reference(column: ColumnSpec, reference: Table, min_group: int) -> ColumnSpec:
    """What only a reference can say of a column: its middle, its limits, its levels, and whether it lacks cells."""
    values = reference.columns[column.name]
    may_lack = int(missing_rows(values).sum()) >= max(min_group, 1)
    if column.kind == "categorical":
        return replace(column, may_lack=may_lack, categories=named_levels(_levels(values), min_group))
    numbers = np.asarray(values, dtype=np.float64).reshape(len(reference), -1)
    found = limits(numbers, min_group=min_group)
    low, high = ((0.0,), (1.0,)) if column.kind == "boolean" else (found.low.tolist(), found.high.tolist())
    dated = is_date(column.name, reference.reading)
    if dated:
        low, high = (end.tolist() for end in span(numbers, min_group=min_group))
    column = replace(column, middle=tuple(found.middle.tolist()), low=tuple(low), high=tuple(high))
    return replace(column, may_lack=may_lack, bounded=dated)


def _pooled(reference: Table, columns: Sequence[ColumnSpec]) -> list[Note]:
    """Columns with levels that have no coordinate of their own, and how many."""
    categorical = [column for column in columns if column.kind == "categorical"]
    rare = {one.name: len(_levels(reference.columns[one.name])) - len(one.categories) for one in categorical}
    return [
        Note("schema.pooled-levels", {"column": on_one_line(name), "count": count})
        for name, count in rare.items()
        if count > 1  # one level that counts as any other is the same as before
    ]


def _levels(values: NDArray[np.generic]) -> Counter[str]:
    return Counter(text for text in category_texts(values) if text is not None)


def _with_absence(draft: Schema, spread: Floats) -> tuple[ColumnSpec, ...]:
    """Columns with what each adds to a squared distance where it is missing, by the variances of the values.

    A column adds what it contributes to the squared distance of two random rows. By itself, imputing it would take
    away no more than half of that on average. No cell adds less than the average one: a column without spread must be
    seen, too. Where a projection mixes the columns, they share by what they have before it.
    """
    total, cells = 2.0 * float(spread.sum()), sum(column.width for column in draft.columns)
    if draft.projection is None:
        ends = np.cumsum([column.coordinates for column in draft.columns])
        parts = [2.0 * float(part.sum()) for part in np.split(spread, ends[:-1])]
    else:
        drafted = sum(column.absence for column in draft.columns)
        parts = [total * column.absence / drafted for column in draft.columns]
    return tuple(
        replace(column, absence=max(part, total * column.width / cells))
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


def principal_directions(values: Floats, width: int, seed: int) -> Projection:
    """The first ``width`` principal directions of centred rows, signs fixed."""
    from sklearn.decomposition import PCA

    width = min(width, *values.shape)
    fitted = PCA(width, svd_solver="randomized", random_state=seed).fit(values)
    return Projection(np.asarray(fitted.components_, dtype=np.float64))


def random_directions(columns: int, width: int, seed: int) -> Projection:
    """Orthonormal directions that depend on the seed alone, for federations without a reference."""
    gaussian = np.random.default_rng(seed).standard_normal((columns, min(width, columns)))
    return Projection(np.ascontiguousarray(np.linalg.qr(gaussian)[0].T))


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
