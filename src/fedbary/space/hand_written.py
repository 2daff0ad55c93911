"""A public schema that somebody writes by hand: what everybody knows of the columns before anybody looks at a row."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from fedbary.checks import did_you_mean
from fedbary.errors import SchemaError
from fedbary.space.fit import random_directions
from fedbary.space.public_schema import clip_of_standard_rows
from fedbary.space.schema import ColumnSpec, LabelSpec, Projection, Schema

_TOP = ("label", "classes", "label_centre", "label_scale", "clip", "coordinates", "seed", "columns")
_NUMBERS, _LEVELS = ("centre", "scale", "width", "may_lack"), ("levels", "may_lack")
_WHOLE = "the schema"


def hand_written_schema(text: str) -> Schema:
    """The schema in a TOML text; a mistake is named with its column and what to write instead.

    Columns have ``centre`` and ``scale`` (a usual number and how far numbers usually lie from it; a block also
    ``width``) or ``levels``, and ``may_lack = true`` where cells may be missing. The label has ``classes``, or
    ``label_centre`` and ``label_scale`` where it is a number. ``coordinates`` keeps so many random directions of
    ``seed``, and ``clip`` is the length at which rows are clipped; default: 0.8 times that of a usual row.

    Examples
    --------
    >>> schema = hand_written_schema('''
    ... label = "diagnosis"
    ... classes = ["ill", "well"]
    ... [columns.age]
    ... centre = 55
    ... scale = 15
    ... may_lack = true
    ... [columns.city]
    ... levels = ["Oslo", "Rome"]
    ... ''')
    >>> schema.value_width, round(schema.clip, 2)
    (4, 1.13)
    """
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SchemaError("schema.written-not-toml", why=str(error)) from error
    _require_known(content, _TOP, _WHOLE)
    columns = content.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise SchemaError("schema.written-lacks", place=_WHOLE, key="[columns.NAME]", remedy="describe each column")
    specs = tuple(_column(name, found) for name, found in columns.items())
    # A scaled number is 1 on average, squared, and so are all levels of a column together.
    usual = sum(1 if spec.kind == "categorical" else spec.width for spec in specs)
    label = _label(content, weight=2.0 * usual)  # two labels are as far apart as two usual rows
    clip = clip_of_standard_rows(usual + (label.kind == "number"))
    made = Schema(
        specs,
        label,
        missing="indicate",
        projection=_projection(content, sum(spec.coordinates for spec in specs)),
        clip=_number(content, "clip", _WHOLE, least=0.0) if "clip" in content else clip,
    )
    return Schema.from_json(made.to_json())  # within the bounds of any schema


def _projection(content: Mapping[str, Any], width: int) -> Projection | None:
    if "coordinates" not in content:
        return None
    kept = _whole(content, "coordinates", _WHOLE, most=width)
    return random_directions(width, kept, _whole(content, "seed", _WHOLE, least=0, most=2**31, default=0))


def _label(content: Mapping[str, Any], *, weight: float) -> LabelSpec:
    name = content.get("label")
    if not isinstance(name, str) or not name:
        raise _wrong("label", _WHOLE, "the name of the label's column", name)
    if "classes" in content:
        classes = _names(content, "classes", _WHOLE, least=2)
        return LabelSpec(name, "classes", "onehot", classes, weight=weight)
    if "label_centre" not in content or "label_scale" not in content:
        remedy = "list the classes, or give label_centre and label_scale where it is a number"
        raise SchemaError("schema.written-lacks", place=_WHOLE, key="classes", remedy=remedy)
    centre, scale = _number(content, "label_centre", _WHOLE), _number(content, "label_scale", _WHOLE, least=0.0)
    return LabelSpec(name, "number", "numeric", mean=centre, scale=scale, weight=weight)


def _column(name: str, found: object) -> ColumnSpec:
    place = f"column '{name}'"
    if not isinstance(found, dict):
        raise _wrong(f"columns.{name}", _WHOLE, "a table with centre and scale, or with levels", found)
    if "levels" in found:
        _require_known(found, _LEVELS, place)
        levels = tuple(sorted(_names(found, "levels", place, least=1)))
        lacks = _lacks(found, place)
        return ColumnSpec(name, "categorical", categories=levels, absence=2.0, may_lack=lacks)
    _require_known(found, _NUMBERS, place)
    for key, remedy in (("centre", "a usual number"), ("scale", "how far numbers usually lie from it")):
        if key not in found:
            raise SchemaError("schema.written-lacks", place=place, key=key, remedy=f"give {remedy}, or levels")
    width = _whole(found, "width", place, default=1)
    centre, scale = (_numbers(found, key, place, width, least) for key, least in (("centre", None), ("scale", 0.0)))
    kind, lacks = "block" if "width" in found else "numeric", _lacks(found, place)
    return ColumnSpec(name, kind, width, centre, scale, middle=centre, absence=2.0 * width, may_lack=lacks)


def _require_known(found: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    for key in found:
        if key not in known:
            guess = did_you_mean(key, known)
            raise SchemaError("schema.written-unknown-key", place=place, key=key, guess=guess, known=", ".join(known))


def _lacks(found: Mapping[str, Any], place: str) -> bool:
    lacks = found.get("may_lack", False)
    if not isinstance(lacks, bool):
        raise _wrong("may_lack", place, "true or false", lacks)
    return lacks


def _number(found: Mapping[str, Any], key: str, place: str, *, least: float | None = None) -> float:
    value = found[key]
    finite = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if finite and (least is None or value > least):
        return float(value)
    raise _wrong(key, place, "a number" if least is None else f"a number above {least:g}", value)


def _numbers(found: Mapping[str, Any], key: str, place: str, width: int, least: float | None) -> tuple[float, ...]:
    """One number for each coordinate of a column: all the same, or a list."""
    value = found[key]
    if not isinstance(value, list):
        return (_number(found, key, place, least=least),) * width
    if len(value) != width:
        raise _wrong(key, place, f"one number, or {width} of them, as many as its width", f"{len(value)} numbers")
    return tuple(_number({key: one}, key, place, least=least) for one in value)


def _whole(
    found: Mapping[str, Any], key: str, place: str, *, least: int = 1, most: int = 2**20, default: int | None = None
) -> int:
    value = found.get(key, default)
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise _wrong(key, place, f"a whole number from {least} to {most}", value)


def _names(found: Mapping[str, Any], key: str, place: str, *, least: int) -> tuple[str, ...]:
    value = found[key]
    expected = f"a list of {least} different names or more"
    if not isinstance(value, list) or not all(isinstance(one, str | int) for one in value):
        raise _wrong(key, place, expected, value)
    names = tuple(str(int(one)) if isinstance(one, bool) else str(one).strip() for one in value)
    if len(set(names)) < max(least, len(names)):
        raise _wrong(key, place, expected, value)
    return names


def _wrong(key: str, place: str, expected: str, got: object) -> SchemaError:
    return SchemaError("schema.written-value", place=place, key=key, expected=expected, got=repr(got)[:80])
