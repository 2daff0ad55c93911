"""A public schema that somebody writes by hand: what everybody knows of the columns before anybody looks at a row."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from fedbary.data.reading import Reading
from fedbary.errors import SchemaError
from fedbary.space.fit import random_directions
from fedbary.space.public_schema import clip_of_standard_rows
from fedbary.space.schema import LabelSpec, Projection, Schema
from fedbary.space.written_columns import written_column
from fedbary.space.written_values import names, number, require_known, whole, wrong

_TOP = ("label", "classes", "label_centre", "label_scale", "clip", "coordinates", "seed", "columns")
_WHOLE = "the schema"


def hand_written_schema(text: str) -> Schema:
    """The schema in a TOML text; a mistake is named with its column and what to write instead.

    Columns have ``centre`` and ``scale`` (a usual number and how far numbers usually lie from it; a block also
    ``width``, or the name of an ``encoder`` of texts or images) or ``levels``; ``date = true``, ``boolean = true`` and
    ``ordered = ["S", "M", "L"]`` say how their cells are read; ``may_lack = true`` that some may be missing. The label
    has ``classes``, or ``label_centre`` and ``label_scale`` where it is a number. ``coordinates`` keeps so many random
    directions of ``seed``; rows are clipped at the length ``clip``, by default 0.8 times that of a usual row.
    """
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SchemaError("schema.written-not-toml", why=str(error)) from error
    require_known(content, _TOP, _WHOLE)
    columns = content.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise SchemaError("schema.written-lacks", place=_WHOLE, key="[columns.NAME]", remedy="describe each column")
    written = {name: written_column(name, found) for name, found in columns.items()}
    specs = tuple(spec for column in written.values() for spec in column.specs)
    # A scaled number is 1 on average, squared, and so are all levels of a column together.
    usual = sum(1 if spec.kind == "categorical" else spec.width for spec in specs)
    label = _label(content, weight=2.0 * usual)  # two labels are as far apart as two usual rows
    clip = clip_of_standard_rows(usual + (label.kind == "number"))
    made = Schema(
        specs,
        label,
        missing="indicate",
        reading=Reading({name: column.reading for name, column in written.items()}),
        projection=_projection(content, sum(spec.coordinates for spec in specs)),
        clip=number(content, "clip", _WHOLE, least=0.0) if "clip" in content else clip,
    )
    return Schema.from_json(made.to_json())  # within the bounds of any schema


def _projection(content: Mapping[str, Any], width: int) -> Projection | None:
    if "coordinates" not in content:
        return None
    kept = whole(content, "coordinates", _WHOLE, most=width)
    return random_directions(width, kept, whole(content, "seed", _WHOLE, least=0, most=2**31, default=0))


def _label(content: Mapping[str, Any], *, weight: float) -> LabelSpec:
    name = content.get("label")
    if not isinstance(name, str) or not name:
        raise wrong("label", _WHOLE, "the name of the label's column", name)
    if "classes" in content:
        classes = names(content, "classes", _WHOLE, least=2, column=name)
        return LabelSpec(name, "classes", "onehot", classes, weight=weight)
    if "label_centre" not in content or "label_scale" not in content:
        remedy = "list the classes, or give label_centre and label_scale where it is a number"
        raise SchemaError("schema.written-lacks", place=_WHOLE, key="classes", remedy=remedy)
    centre, scale = number(content, "label_centre", _WHOLE), number(content, "label_scale", _WHOLE, least=0.0)
    return LabelSpec(name, "number", "numeric", mean=centre, scale=scale, weight=weight)
