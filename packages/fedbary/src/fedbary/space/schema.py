"""`Schema`: the agreement that turns every party's rows into points of one space."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.atomic import write_atomically
from fedbary.data.categories import two_spellings
from fedbary.data.reading import ColumnReading, Reading, ReadKind
from fedbary.errors import SchemaError
from fedbary.notes import Note
from fedbary.space.schema_bounds import require_plausible
from fedbary.strict_json import read_json

Floats = NDArray[np.float64]

VERSION = 5
# A schema is a small file; anything larger is not one.
MAX_BYTES = 256 * 2**20
# How columns are read of which a schema only says what they are.
_READ_AS: dict[str, ReadKind] = {
    "numeric": "number", "boolean": "boolean", "categorical": "category", "block": "vector"
}  # fmt: skip
# The fields of a column that hold a number for each of its coordinates.
_NUMBERS = ("mean", "scale", "middle", "low", "high")


@dataclass(frozen=True)
class ColumnSpec:
    """One column: its kind and what is needed to encode it.

    ``numeric`` and ``boolean`` have one coordinate, a ``block`` has ``width`` of them, a ``categorical`` one per
    category and a last one for any ``other``. ``middle`` stands for missing numbers; ``low`` and ``high`` are limits
    beyond anything in the reference, empty without one. ``absence`` is what the column adds to a squared distance where
    all its cells are missing, and ``may_lack`` says that they have a coordinate of their own (`fedbary.space.missing`).
    In a ``bounded`` column numbers beyond the limits stand in the middle: rows of another time are no worse for that.
    """

    name: str
    kind: str
    width: int = 1
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    middle: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    absence: float = 0.0
    may_lack: bool = False
    bounded: bool = False

    @property
    def coordinates(self) -> int:
        """Number of coordinates that the column becomes."""
        return len(self.categories) + 1 if self.kind == "categorical" else self.width


@dataclass(frozen=True)
class LabelSpec:
    """The label: its kind (``classes`` or ``number``), its coordinates and their weight."""

    name: str
    kind: str
    coordinates: str
    classes: tuple[str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Projection:
    """Directions to keep, each a row; a residual coordinate ‖x − proj(x)‖ is appended."""

    directions: Floats


@dataclass(frozen=True, eq=False)
class Schema:
    """How rows become points, the same for every party of a federation.

    A client that is handed a schema with another version, or whose copy has another fingerprint, refuses.
    ``shared_mark`` says that missing cells of columns that may not lack any have a coordinate together, as they do
    where there is a reference: a client may lack what it never does. ``clip`` is the norm to which the points of a
    private card are clipped, in public coordinates (`fedbary.space.public_schema`); other schemas have none.
    ``reading`` says how the columns of a file become these, as far as anybody said; each cell is read by itself.

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
    projection: Projection | None = None
    whitening: Floats | None = None
    shared_mark: bool = True
    clip: float | None = None
    reading: Reading = field(default_factory=Reading)
    version: int = VERSION
    notes: tuple[Note, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse classes and levels of which two are one category: which of them a row has would be anybody's guess."""
        named = [(column.name, column.categories) for column in self.columns]
        named += [(name, how.levels) for name, how in self.reading.items()]
        for column, names in [(self.label.name, self.label.classes), *named]:
            if (spelled := two_spellings(names)) is not None:
                raise SchemaError("schema.two-spellings", column=column, first=spelled[0], second=spelled[1])

    @cached_property
    def fingerprint(self) -> str:
        """Short hash of everything that moves a point; notes do not count."""
        small = {
            "version": self.version,
            "missing": self.missing,
            "shared_mark": self.shared_mark,
            "clip": self.clip,
            "reading": json.loads(self.reading.to_json()),
            "label": vars(self.label),
            "columns": [
                [c.name, c.kind, c.width, c.categories, c.absence, c.may_lack, c.bounded] for c in self.columns
            ],
        }
        digest = hashlib.sha256(_canonical(small).encode())
        numbers = [np.array(values) for c in self.columns for values in (getattr(c, name) for name in _NUMBERS)]
        matrices = [None if self.projection is None else self.projection.directions, self.whitening]
        for array in [*numbers, *matrices]:
            digest.update(b"none" if array is None else repr(array.shape).encode() + array.astype("<f8").tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def whole_reading(self) -> Reading:
        """How a file's columns become these: as was said, and where nobody said anything, as what they are here."""
        said = set(self.reading.columns())
        rest = (column for column in self.columns if column.name not in said)
        return Reading({**self.reading, **{column.name: _read_as(column) for column in rest}})

    @property
    def encoded_width(self) -> int:
        """Number of coordinates that the columns become before any projection."""
        return sum(column.coordinates for column in self.columns)

    @property
    def value_width(self) -> int:
        """Number of coordinates that a point has for the values of its cells."""
        return self.encoded_width if self.projection is None else len(self.projection.directions) + 1

    @property
    def mark_width(self) -> int:
        """Number of coordinates that a point has for missing cells."""
        return 0 if self.missing == "refuse" else sum(column.may_lack for column in self.columns) + self.shared_mark

    @property
    def feature_width(self) -> int:
        """Number of feature coordinates of a point: those of its values, then those of missing cells."""
        return self.value_width + self.mark_width

    @property
    def point_width(self) -> int:
        """Number of coordinates of a point, those of the label included."""
        d = self.value_width
        label = {
            "numeric": 1,
            "onehot": len(self.label.classes) + 1,
            "gaussian": 2 * d,
            "gaussian-full": d + d * d,
        }
        return self.feature_width + label[self.label.coordinates]

    def to_json(self) -> str:
        """Serialise; numbers keep every bit."""
        content = {
            "version": self.version,
            "columns": [_packed_column(column) for column in self.columns],
            "label": vars(self.label),
            "missing": self.missing,
            "shared_mark": self.shared_mark,
            "clip": self.clip,
            "reading": self.reading.to_json(),
            "projection": None if self.projection is None else _pack(self.projection.directions),
            "whitening": None if self.whitening is None else _pack(self.whitening),
            "notes": [note.redacted().to_json() for note in self.notes],  # a schema is sent to everybody
        }
        return _canonical({**content, "fingerprint": self.fingerprint})

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read what `to_json` wrote; a changed or foreign text is refused."""
        return _parsed(text)

    def save(self, path: str | Path) -> None:
        """Write the schema to a JSON file."""
        write_atomically(path, lambda draft: draft.write_text(self.to_json(), encoding="utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a JSON file."""
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
        version = content["version"]
        if version != VERSION:
            raise SchemaError("schema.other-version", version=repr(version), own=VERSION)
        schema = Schema(
            columns=tuple(_column(column) for column in content["columns"]),
            label=LabelSpec(**{**content["label"], "classes": tuple(content["label"]["classes"])}),
            missing=content["missing"],
            shared_mark=content["shared_mark"],
            clip=content["clip"],
            reading=Reading.from_json(content["reading"]),
            projection=None if content["projection"] is None else Projection(_unpack(content["projection"])),
            whitening=None if content["whitening"] is None else _unpack(content["whitening"]),
            version=version,
            notes=tuple(Note.from_json(note) for note in content["notes"]),
        )
        require_plausible(schema)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SchemaError("schema.not-a-schema", why=str(error)) from error
    if content.get("fingerprint") != schema.fingerprint:
        raise SchemaError("schema.changed")
    return schema


def _read_as(column: ColumnSpec) -> ColumnReading:
    return ColumnReading(_READ_AS[column.kind], width=column.width if column.kind == "block" else 0)


def _canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _packed_column(column: ColumnSpec) -> dict[str, Any]:
    """Blocks hold thousands of numbers: as base64 they stay small and exact."""
    content: dict[str, Any] = dict(vars(column))  # asdict would copy every number
    if column.kind == "block":
        content |= {name: _pack(np.array(getattr(column, name))) for name in _NUMBERS}
    return content


def _column(content: dict[str, Any]) -> ColumnSpec:
    numbers = {
        key: tuple(_unpack(content[key]).tolist()) if content["kind"] == "block" else tuple(content[key])
        for key in _NUMBERS
    }
    return ColumnSpec(**{**content, **numbers, "categories": tuple(content["categories"])})


def _pack(values: Floats) -> dict[str, Any]:
    data = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(data.shape), "float64": base64.b64encode(data.tobytes()).decode("ascii")}


def _unpack(content: dict[str, Any]) -> Floats:
    data = np.frombuffer(base64.b64decode(content["float64"], validate=True), dtype="<f8")
    if not np.isfinite(data).all():
        raise ValueError("numbers that are not finite")
    values = data.reshape(content["shape"]).astype(np.float64)
    values.flags.writeable = False
    return values
