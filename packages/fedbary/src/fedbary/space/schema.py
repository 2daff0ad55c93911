"""`Schema`: the agreement that turns every party's rows into points of one space.

It comes from another party and decides how rows become numbers. So its parts must mean to a client what they mean to
its guards, and no number in it may be so large or so small that the arithmetic of a row leaves the finite numbers.
Whether a schema is refused depends on the schema alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fedbary.columns import Boolean, Category, Column, Number, Ordered, Vector
from fedbary.columns.category import two_spellings
from fedbary.data.atomic import write_atomically
from fedbary.data.reading import Reading
from fedbary.errors import SchemaError
from fedbary.notes import Note
from fedbary.space.columns import NUMBERS, SMALLEST, ColumnSpec, Floats, column_from_json, pack, unpack, within_bounds
from fedbary.space.labels import LabelSpec
from fedbary.strict_json import read_json

VERSION = 5
# A schema is a small file; anything larger is not one.
MAX_BYTES = 256 * 2**20
# How columns are read of which a schema only says what they are.
_READ_AS: dict[str, Column] = {"numeric": Number(), "boolean": Boolean(), "categorical": Category()}
# Fields that are written as they are.
_PLAIN = ("version", "missing", "shared_mark", "clip")
_MOST_COORDINATES = 2**20
# How far directions may be from orthonormal, and a metric from symmetric.
_ROUNDING = 1e-6
# Largest ratio of the lengths to which a metric brings two directions. Fitting without any shrinkage stays below.
_MOST_STRETCH = 1e12
_LARGEST_METRIC = 1e50


@dataclass(frozen=True, eq=False)
class Schema:
    """How rows become points, the same for every party of a federation.

    ``projection`` are directions to keep, each a row; a residual coordinate ‖x − proj(x)‖ is appended.
    A client that is handed a schema with another version, or whose copy has another fingerprint, refuses.
    ``shared_mark`` says that missing cells of columns that may not lack any have a coordinate together, as they do
    where there is a reference: a client may lack what it never does. ``clip`` is the norm to which the points of a
    private card are clipped, in public coordinates (`fedbary.space.fit.public_schema`); other schemas have none.
    ``reading`` says how the columns of a file become these, as far as anybody said; each cell is read by itself.

    ``slices`` are the places of each column's coordinates before any projection, ``encoded_width`` is their number and
    ``cells`` the most cells that a row can lack. A point has ``value_width`` coordinates for the values of its cells,
    then ``mark_width`` for missing ones, together ``feature_width``, and ``point_width`` with those of the label.

    Examples
    --------
    >>> import fedbary as fb
    >>> table = fb.Table.from_arrays([[0.0, 1.0], [2.0, 3.0], [4.0, 9.0]], ["a", "b", "a"])
    >>> schema = fb.fit_schema(table)
    >>> fb.Schema.from_json(schema.to_json()).fingerprint == schema.fingerprint
    True
    """

    columns: tuple[ColumnSpec, ...]
    label: LabelSpec
    missing: str = "refuse"
    projection: Floats | None = None
    whitening: Floats | None = None
    shared_mark: bool = True
    clip: float | None = None
    reading: Reading = field(default_factory=Reading)
    version: int = VERSION
    notes: tuple[Note, ...] = field(default=())
    slices: dict[str, slice] = field(init=False, repr=False)
    encoded_width: int = field(init=False, repr=False)
    cells: int = field(init=False, repr=False)
    value_width: int = field(init=False, repr=False)
    mark_width: int = field(init=False, repr=False)
    feature_width: int = field(init=False, repr=False)
    point_width: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        edges = np.cumsum([0, *(column.coordinates for column in self.columns)]).tolist()
        values = edges[-1] if self.projection is None else len(self.projection) + 1
        own_marks = sum(1 for column in self.columns if column.may_lack)
        marks = 0 if self.missing == "refuse" else own_marks + bool(self.shared_mark)
        labels = {"numeric": 1, "onehot": len(self.label.classes) + 1, "gaussian": 2 * values}
        derived = {
            "slices": {column.name: slice(*edges[at : at + 2]) for at, column in enumerate(self.columns)},
            "encoded_width": edges[-1],
            "cells": sum(column.width for column in self.columns),
            "value_width": values,
            "mark_width": marks,
            "feature_width": values + marks,
            "point_width": values + marks + labels.get(self.label.coordinates, values + values**2),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        # Of two names for one category, which of them a row has would be anybody's guess.
        named = [(column.name, column.categories) for column in self.columns]
        named += [(name, how.levels) for name, how in self.reading.items() if isinstance(how, Ordered)]
        for column, names in [(self.label.name, self.label.classes), *named]:
            if (spelled := two_spellings(names)) is not None:
                raise SchemaError("schema.two-spellings", column=column, first=spelled[0], second=spelled[1])

    @cached_property
    def fingerprint(self) -> str:
        """Short hash of everything that moves a point; notes do not count."""
        columns = [[c.name, c.kind, c.width, c.categories, c.absence, c.may_lack, c.bounded] for c in self.columns]
        reading = json.loads(self.reading.to_json())
        digest = hashlib.sha256(self._canonical(columns=columns, reading=reading).encode())
        numbers = [np.array(getattr(column, name)) for column in self.columns for name in NUMBERS]
        for array in [*numbers, self.projection, self.whitening]:
            digest.update(b"none" if array is None else repr(array.shape).encode() + array.astype("<f8").tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def whole_reading(self) -> Reading:
        """How a file's columns become these: as was said, and where nobody said anything, as what they are here."""
        said = set(self.reading.columns())
        rest = {
            column.name: Vector(column.width) if column.kind == "block" else _READ_AS[column.kind]
            for column in self.columns
            if column.name not in said
        }
        return Reading({**self.reading, **rest})

    def to_json(self) -> str:
        return self._canonical(
            columns=[column.to_json() for column in self.columns],
            reading=self.reading.to_json(),
            projection=None if self.projection is None else pack(self.projection),
            whitening=None if self.whitening is None else pack(self.whitening),
            notes=[note.redacted().to_json() for note in self.notes],  # a schema is sent to everybody
            fingerprint=self.fingerprint,
        )

    def _canonical(self, **content: Any) -> str:
        content |= {name: getattr(self, name) for name in _PLAIN} | {"label": vars(self.label)}
        return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read what `to_json` wrote; a changed or foreign text is refused."""
        return _parsed(text)

    def save(self, path: str | Path) -> None:
        write_atomically(path, lambda draft: draft.write_text(self.to_json(), encoding="utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        file = Path(path)
        if not file.is_file():
            raise SchemaError("schema.no-file", file=str(file))
        if file.stat().st_size > MAX_BYTES:
            raise SchemaError("schema.file-too-large", file=str(file), size=file.stat().st_size)
        try:
            return cls.from_json(file.read_text(encoding="utf-8"))
        except SchemaError as error:
            raise error.at(f"'{file}'") from error
        except UnicodeDecodeError as error:
            raise SchemaError("schema.not-a-schema", where=f"'{file}'", why=str(error)) from error

    def require(self, fingerprint: str) -> None:
        """Refuse to go on with another party's schema."""
        if fingerprint != self.fingerprint:
            raise SchemaError("schema.other-fingerprint", own=self.fingerprint, expected=fingerprint)


@lru_cache(maxsize=2)  # clients of one process are all sent the same text; a schema never changes
def _parsed(text: str) -> Schema:
    try:
        content = read_json(text, longest=MAX_BYTES)
        if content["version"] != VERSION:
            raise SchemaError("schema.other-version", version=repr(content["version"]), own=VERSION)
        schema = Schema(
            columns=tuple(column_from_json(column) for column in content["columns"]),
            label=LabelSpec(**{**content["label"], "classes": tuple(content["label"]["classes"])}),
            reading=Reading.from_json(content["reading"]),
            projection=None if content["projection"] is None else unpack(content["projection"]),
            whitening=None if content["whitening"] is None else unpack(content["whitening"]),
            notes=tuple(Note.from_json(note) for note in content["notes"]),
            **{name: content[name] for name in _PLAIN},
        )
        require_plausible(schema)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SchemaError("schema.not-a-schema", why=str(error)) from error
    if content.get("fingerprint") != schema.fingerprint:
        raise SchemaError("schema.changed")
    return schema


def require_plausible(schema: Schema) -> None:
    """Refuse a schema that no honest party makes."""
    columns, label = schema.columns, schema.label
    names = [column.name for column in columns]
    possible = (
        bool(columns)
        and all(isinstance(name, str) for name in [*names, label.name])
        and len(set(names)) == len(names)
        and label.is_possible()
        and schema.missing in ("refuse", "indicate")
        and type(schema.shared_mark) is bool
        and schema.encoded_width <= _MOST_COORDINATES
        and is_reading_of(schema.reading, {column.name: (column.kind, column.width) for column in columns})
    )
    if not possible:
        raise SchemaError("schema.impossible")
    bounded = {f"scaling of column '{column.name}'": column.is_bounded() for column in columns} | {
        "label": label.is_bounded(),
        "clip norm": schema.clip is None or within_bounds(schema.clip, SMALLEST),
        "projection": schema.projection is None or _orthonormal(schema.projection, schema.encoded_width),
        "metric": schema.whitening is None or _metric(schema.whitening, schema.value_width),
    }
    for what, fine in bounded.items():
        if not fine:
            raise SchemaError("schema.beyond-bounds", what=what)


def is_reading_of(reading: Reading, columns: Mapping[str, tuple[str, int]]) -> bool:
    """Whether files that are read like this have columns of such kinds and widths, each from one of a file's."""
    made = reading.columns()
    if len(set(made)) < len(made) or any(column.left_out for column in reading.values()):
        return False
    return all(is_made_of(name, column, columns) for name, column in reading.items())


def is_made_of(name: str, column: Column, found: Mapping[str, tuple[str, int]]) -> bool:
    """Whether what a file's column becomes is among columns of some kinds and widths.

    Of another width, a few words of a schema would make a client fill its memory with numbers that have no place in it.
    """
    from fedbary.data.encoders import width_of

    own, *circles = column.made(name)
    kind, width = found.get(own, ("", 0))
    fits = kind in column.schema_kinds and width_of(column) in (None, width)
    return fits and all(found.get(one) == ("block", 2) for one in circles)


def _orthonormal(directions: Floats, width: int) -> bool:
    if directions.ndim != 2 or directions.shape[1] != width or not 1 <= len(directions) <= width:
        return False
    if np.abs(directions).max() > 1.0 + _ROUNDING:
        return False
    return bool(np.abs(directions @ directions.T - np.eye(len(directions))).max() <= _ROUNDING)


def _metric(matrix: Floats, width: int) -> bool:
    """Symmetric, and with eigenvalues that lie neither far out nor far apart."""
    if matrix.shape != (width, width) or np.abs(matrix).max() > _LARGEST_METRIC:
        return False
    size = float(np.sqrt((matrix**2).sum()))
    if size < 1.0 / _LARGEST_METRIC or np.abs(matrix - matrix.T).max() > _ROUNDING * size:
        return False
    try:
        np.linalg.cholesky(matrix / size - np.eye(width) / _MOST_STRETCH)
    except np.linalg.LinAlgError:
        return False
    return True
