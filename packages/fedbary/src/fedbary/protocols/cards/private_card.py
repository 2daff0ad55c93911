"""`private_card`: class moments with differential privacy; the proof is in docs/cards-privacy.md.

A row becomes whole numbers: z in the public coordinates of a schema, clipped to its norm, times `GRID`. Each is
a function of the row's own cells and the schema. Summed are a one for its class, z for its class, and zzᵀ; where rows
have norm 1, replacing one of them moves

    (e_c/√2, e_c ⊗ z, svec(zzᵀ)/√2)

by at most 2. So discrete Gaussian noise of variance 2σ² on counts and squares and σ² on all else is 2/σ²-zCDP. A row of
a class that the schema does not have adds nothing. All classes of the schema are released, and nothing refuses or
branches because of rows.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import SchemaError
from fedbary.privacy.noise import Below, discrete_gaussian, largest_rho
from fedbary.protocols.cards.card import Card, Release
from fedbary.space.encode import (
    ROW_WISE,
    PublicCoordinates,
    require_columns,
)
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Coordinates are counted in parts of the clip norm; so many rows at a time keep all sums exact in doubles (2⁵³).
GRID = 2**15
_ROWS_AT_ONCE = 2**16
# The square of what replacing a row moves.
SENSITIVITY_SQUARED = 4
# Parts of σ² = 1, to which it is rounded up.
_FINEST = 2**20
# What a norm is off by, after rounding its squares and their sum.
_ROUNDING = 2.0**-30
MOST_COORDINATES = 1024
# Sums of all classes; each is drawn noise for, one by one, and a server's schema must not keep an owner busy for hours.
MOST_SUMS = 2**20


@dataclass(frozen=True, eq=False)
class WholeSums:
    """What is released, before the noise: counts (K,), sums (K, d) in parts of `GRID`, products (d, d) of GRID²."""

    counts: Integers
    sums: Integers
    second: Integers


def private_card(table: Table, schema: Schema, *, name: str = "", epsilon: float, delta: float) -> Card:
    """The (ε, δ)-differentially private card of a table, for neighbours that differ in one row.

    Refuses by the schema and the names and widths of columns alone. Should something fail inside, its owner's log says
    so, and the card is that of a table whose rows add nothing. This holds for one card: another of the same rows, or of
    a later version of them, costs ε and δ again.
    """
    require_public(schema)
    require_columns(table, schema)
    variance = noise_variance(epsilon, delta)
    try:
        found = whole_sums(table, schema)
    except Exception:
        logging.getLogger("fedbary.owner").exception("A private card failed inside; what leaves is noise alone.")
        found = no_rows(schema)
    return released(found, len(table), schema, variance, name=name, epsilon=epsilon, delta=delta)


def require_public(schema: Schema) -> None:
    """Refuse a schema that was not made for private cards."""
    if schema.clip is None:
        raise SchemaError("schema.no-clip")
    public = PublicCoordinates(schema)
    if (width := public.width) > MOST_COORDINATES:
        raise SchemaError("schema.too-wide-for-cards", width=width, most=MOST_COORDINATES)
    if (sums := width * len(public.classes)) > MOST_SUMS:
        raise SchemaError("schema.too-many-sums", sums=sums, most=MOST_SUMS)


def noise_variance(epsilon: float, delta: float) -> Fraction:
    """σ², relative to rows of norm 1: Δ²/(2ρ), rounded up."""
    return Fraction(ceil(SENSITIVITY_SQUARED / (2 * Fraction(largest_rho(epsilon, delta))) * _FINEST), _FINEST)


def whole_sums(table: Table, schema: Schema) -> WholeSums:
    """The integers before the noise; different rows count once, by what the schema sees of them."""
    found = no_rows(schema)
    for codes, points in _different_rows(table, schema):
        corners = codes[:, None] == np.arange(len(found.counts))
        found.counts[:] += corners.sum(axis=0)
        # Products of matrices round nothing here: all terms and sums are whole numbers below 2⁵³.
        found.sums[:] += (corners.T.astype(float) @ points).astype(np.int64)
        found.second[:] += (points.T @ points).astype(np.int64)
    return found


def no_rows(schema: Schema) -> WholeSums:
    """The sums of no rows."""
    public = PublicCoordinates(schema)
    classes, width = len(public.classes), public.width
    shapes = ((classes,), (classes, width), (width, width))
    return WholeSums(*(np.zeros(shape, dtype=np.int64) for shape in shapes))


def released(
    found: WholeSums, rows: int, schema: Schema, variance: Fraction, *, name: str, epsilon: float, delta: float
) -> Card:
    """The sums with noise, in the schema's units; all after the noise is post-processing."""
    noisy = with_noise(found, variance)
    assert schema.clip is not None
    public = PublicCoordinates(schema)
    units = np.full(public.width, schema.clip / GRID)
    marks = slice(schema.value_width, schema.value_width + len(public.mark_cells))
    units[marks] /= public.mark_weight
    return Card(
        name,
        rows,
        schema.label.name,
        schema.label.kind,
        (),
        public.classes,
        np.zeros(public.width),
        noisy.counts.astype(float),
        noisy.sums.astype(float) * units,
        noisy.second.astype(float) * np.outer(units, units),
        schema=schema,
        release=Release(epsilon, delta, sqrt(variance), schema.clip),
    )


def with_noise(found: WholeSums, variance: Fraction, *, below: Below = secrets.randbelow) -> WholeSums:
    """Independent noise for every count, sum, square and product of two coordinates; Python's integers, as objects."""

    def add_to(values: NDArray[np.object_], units: int) -> None:
        for place in np.ndindex(values.shape):
            values[place] += discrete_gaussian(variance * units, below=below)

    counts, sums, second = (part.astype(object) for part in (found.counts, found.sums, found.second))
    lower = np.tril_indices(len(second), -1)
    diagonal, products = np.diag(second).copy(), second[lower]
    for values, units in ((counts, 2), (sums, GRID**2), (diagonal, 2 * GRID**4), (products, GRID**4)):
        add_to(values, units)
    np.fill_diagonal(second, diagonal)
    second[lower] = second.T[lower] = products
    return WholeSums(counts, sums, second)


def _different_rows(table: Table, schema: Schema) -> Iterator[tuple[Integers, Floats]]:
    """Class and point of every different row that has a class."""
    public, seen = PublicCoordinates(schema), set[bytes]()
    for part in table.replace(ids=None).batches(_ROWS_AT_ONCE):
        codes, points = public.codes(part), public.points(part)
        lines = np.column_stack([points.T + 0.0, codes])  # −0.0 and 0.0 have different bytes
        new = []
        for row in np.flatnonzero(codes >= 0):
            key = blake2b(lines[row].tobytes(), digest_size=16).digest()
            if key not in seen:
                seen.add(key)
                new.append(row)
        assert schema.clip is not None
        yield codes[new], whole_points(points[:, new], schema.clip)


def whole_points(points: Floats, clip: float) -> Floats:
    """Clipped points as whole numbers in doubles, one line per row, none longer than `GRID`.

    Elementwise, so that what is rounded does not depend on where a row stands.
    """
    with np.errstate(all="ignore"):
        relative = points / clip
        length = np.maximum(np.sqrt(ROW_WISE.squares(relative.T)), 1.0)
        whole = np.trunc(relative / length * (GRID * (1.0 - _ROUNDING)))
        inside = ROW_WISE.squares(whole.T) <= GRID**2  # false for NaN, too
    return np.where(inside, whole, 0.0).T
