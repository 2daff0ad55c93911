"""One column of a schema that somebody writes by hand: how a file's column is read, and what it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from math import sqrt
from typing import Any

from fedbary.data.reading import MONTH, WEEKDAY, ColumnReading, ReadKind
from fedbary.errors import DataError, SchemaError, SettingsError
from fedbary.space.schema import ColumnSpec
from fedbary.space.written_values import names, numbers, require_known, truth, whole, wrong

# What a column may be, by the key that says so, and the other keys that it may have.
_KEYS = {
    "levels": (),
    "ordered": ("centre", "scale"),
    "boolean": ("centre", "scale"),
    "date": ("centre", "scale"),
    "encoder": ("centre", "scale"),
    "width": ("centre", "scale"),
    "centre": ("scale",),
}
_ALL = (*_KEYS, "scale", "may_lack")
# Cosines and sines of angles that are anywhere on the circle.
_CIRCLE = sqrt(0.5)


@dataclass(frozen=True)
class WrittenColumn:
    """How a column is read, and the columns of the schema that it becomes."""

    reading: ColumnReading
    specs: tuple[ColumnSpec, ...]


def written_column(name: str, found: object) -> WrittenColumn:
    """A column of a hand-written schema, by the keys of its TOML table.

    Examples
    --------
    >>> size = written_column("size", {"ordered": ["S", "M", "L"]})
    >>> size.reading.levels, size.specs[0].mean
    (('S', 'M', 'L'), (1.0,))
    >>> [spec.name for spec in written_column("born", {"date": True, "centre": date(1970, 1, 11), "scale": 9}).specs]
    ['born', 'born (month)', 'born (weekday)']
    """
    place = f"column '{name}'"
    if not isinstance(found, dict):
        raise wrong(f"columns.{name}", "the schema", "a table with centre and scale, or with levels", found)
    what = next((key for key in _KEYS if key in found and found[key] is not False), "centre")
    require_known(found, (what, *_KEYS[what], "may_lack") if what != "centre" else _ALL, place)
    lacks = truth(found, "may_lack", place)
    if what == "levels":
        levels = tuple(sorted(names(found, "levels", place, least=1, column=name)))
        spec = ColumnSpec(name, "categorical", categories=levels, absence=2.0, may_lack=lacks)
        return WrittenColumn(ColumnReading("category"), (spec,))
    if what == "ordered":
        order = names(found, "ordered", place, least=2, column=name)
        usual = {"centre": (len(order) - 1) / 2.0, "scale": sqrt((len(order) ** 2 - 1) / 12.0)}
        return WrittenColumn(ColumnReading("ordered", order), (_numeric(name, usual | found, place, lacks),))
    if what == "boolean":
        truth(found, "boolean", place)
        spec = _numeric(name, {"centre": 0.5, "scale": 0.5} | found, place, lacks, kind="boolean")
        return WrittenColumn(ColumnReading("boolean"), (spec,))
    if what == "date":
        truth(found, "date", place)
        return WrittenColumn(ColumnReading("date"), _dates(name, found, place, lacks))
    if what in ("encoder", "width"):
        reading, width = _encoder(found, place) if what == "encoder" else _vector(found, place)
        return WrittenColumn(reading, (_numeric(name, found, place, lacks, kind="block", width=width),))
    return WrittenColumn(ColumnReading("number"), (_numeric(name, found, place, lacks),))


def _numeric(
    name: str, found: Mapping[str, Any], place: str, lacks: bool, *, kind: str = "numeric", width: int = 1
) -> ColumnSpec:
    for key, remedy in (("centre", "a usual number"), ("scale", "how far numbers usually lie from it")):
        if key not in found:
            raise SchemaError("schema.written-lacks", place=place, key=key, remedy=f"give {remedy}, or levels")
    centre, scale = (numbers(found, key, place, width, least) for key, least in (("centre", None), ("scale", 0.0)))
    return ColumnSpec(name, kind, width, centre, scale, middle=centre, absence=2.0 * width, may_lack=lacks)


def _dates(name: str, found: Mapping[str, Any], place: str, lacks: bool) -> tuple[ColumnSpec, ...]:
    """Days since 1970, and the month and the weekday on circles; the centre is a date, the scale a number of days."""
    centre = found.get("centre")
    if isinstance(centre, date):
        centre = (datetime(centre.year, centre.month, centre.day) - datetime(1970, 1, 1)).days
    days = _numeric(name, {**found, "centre": centre} if "centre" in found else found, place, lacks)
    circle = {"centre": 0.0, "scale": _CIRCLE}
    return days, *(
        _numeric(made.format(name), circle, place, lacks, kind="block", width=2) for made in (MONTH, WEEKDAY)
    )


def _vector(found: Mapping[str, Any], place: str) -> tuple[ColumnReading, int]:
    width = whole(found, "width", place)
    return ColumnReading("vector", width=width), width


def _encoder(found: Mapping[str, Any], place: str) -> tuple[ColumnReading, int]:
    from fedbary.data.encoders import encoder_of, suits

    named = found["encoder"]
    if not isinstance(named, str):
        raise wrong("encoder", place, "the name of an encoder, such as hashing or pixels:28x28x1", named)
    kind: ReadKind = "text" if suits(named, "text") else "image"
    try:
        encoder = encoder_of(named, "text" if kind == "text" else "image")
    except (DataError, SettingsError) as error:
        raise wrong("encoder", place, "the name of an encoder that is here", str(error)) from error
    return ColumnReading(kind, encoder=encoder.name, digest=encoder.digest), encoder.width
