"""A public schema that somebody writes by hand: what everybody knows of the columns before anybody looks at a row."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from math import isfinite, sqrt
from typing import Any

from fedbary.checks import did_you_mean
from fedbary.columns import Boolean, Category, Column, Date, Image, Number, Ordered, Text, Vector
from fedbary.columns.category import category_name, two_spellings
from fedbary.data.reading import Reading
from fedbary.errors import DataError, SchemaError, SettingsError
from fedbary.space.columns import BlockSpec, BooleanSpec, CategorySpec, ColumnSpec
from fedbary.space.fit import clip_of_standard_rows, random_directions
from fedbary.space.labels import LabelSpec
from fedbary.space.schema import Schema

_TOP = ("label", "classes", "label_centre", "label_scale", "clip", "coordinates", "seed", "columns")
# What says what a column is; but for ``levels``, each goes with ``centre`` and ``scale``.
_KINDS = ("levels", "ordered", "boolean", "date", "encoder", "width", "centre")
# Cosines and sines of angles that are anywhere on the circle.
_CIRCLE = sqrt(0.5)


def hand_written_schema(text: str) -> Schema:
    """The schema in a TOML text; a mistake is named with its column and what to write instead.

    Columns have ``centre`` and ``scale`` (a usual number and how far numbers usually lie from it; a block also
    ``width``, or the name of an ``encoder`` of texts or images) or ``levels``; ``date = true``, ``boolean = true`` and
    ``ordered = ["S", "M", "L"]`` say how their cells are read; ``may_lack = true`` that some may be missing. The label
    has ``classes``, or ``label_centre`` and ``label_scale`` where it is a number. ``coordinates`` keeps so many random
    directions of ``seed``; rows are clipped at the length ``clip``, by default 0.8 times that of a usual row.
    """
    try:
        whole = _Keys("the schema", tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SchemaError("schema.written-not-toml", why=str(error)) from error
    whole.require_known(_TOP)
    columns = whole.values.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise whole.lacks("[columns.NAME]", "describe each column")
    reading, specs = {}, list[ColumnSpec]()
    for name, values in columns.items():
        if not isinstance(values, dict):
            raise whole.wrong(f"columns.{name}", "a table with centre and scale, or with levels", values)
        reading[name], made = _column(name, _Keys(f"column '{name}'", values))
        specs += made
    # A scaled number is 1 on average, squared, and so are all levels of a column together.
    usual = sum(1 if spec.kind == "categorical" else spec.width for spec in specs)
    label = _label(whole, weight=2.0 * usual)  # two labels are as far apart as two usual rows
    projection, width = None, sum(spec.coordinates for spec in specs)
    if "coordinates" in whole.values:
        kept = whole.whole("coordinates", most=width)
        projection = random_directions(width, kept, whole.whole("seed", least=0, most=2**31, default=0))
    clip = clip_of_standard_rows(usual + (label.kind == "number"))
    made_by_hand = Schema(
        tuple(specs),
        label,
        missing="indicate",
        reading=Reading(reading),
        projection=projection,
        clip=whole.number("clip", least=0.0) if "clip" in whole.values else clip,
    )
    return Schema.from_json(made_by_hand.to_json())  # within the bounds of any schema


def _label(whole: _Keys, *, weight: float) -> LabelSpec:
    name = whole.values.get("label")
    if not isinstance(name, str) or not name:
        raise whole.wrong("label", "the name of the label's column", name)
    if "classes" in whole.values:
        return LabelSpec(name, "classes", "onehot", whole.names("classes", least=2, column=name), weight=weight)
    if "label_centre" not in whole.values or "label_scale" not in whole.values:
        raise whole.lacks("classes", "list the classes, or give label_centre and label_scale where it is a number")
    centre, scale = whole.number("label_centre"), whole.number("label_scale", least=0.0)
    return LabelSpec(name, "number", "numeric", mean=centre, scale=scale, weight=weight)


def _column(name: str, keys: _Keys) -> tuple[Column, tuple[ColumnSpec, ...]]:
    """How a column of a file is read, and what it becomes."""
    values = keys.values
    what = next((key for key in _KINDS if key in values and values[key] is not False), "centre")
    beside = () if what == "levels" else ("centre", "scale")
    keys.require_known((what, *beside, "may_lack") if what != "centre" else (*_KINDS, "scale", "may_lack"))
    lacks = keys.truth("may_lack")
    if what == "levels":
        levels = tuple(sorted(keys.names("levels", least=1, column=name)))
        return Category(), (CategorySpec(name, categories=levels, absence=2.0, may_lack=lacks),)
    if what == "ordered":
        order = keys.names("ordered", least=2, column=name)
        usual = keys.over(centre=(len(order) - 1) / 2.0, scale=sqrt((len(order) ** 2 - 1) / 12.0))
        return Ordered(order), (_numbers(ColumnSpec, name, usual, lacks),)
    if what == "boolean":
        keys.truth("boolean")
        return Boolean(), (_numbers(BooleanSpec, name, keys.over(centre=0.5, scale=0.5), lacks),)
    if what == "date":
        keys.truth("date")
        centre = values.get("centre")
        if isinstance(centre, date):
            since = datetime(centre.year, centre.month, centre.day) - datetime(1970, 1, 1)
            keys = _Keys(keys.place, {**values, "centre": since.days})
        circle = _Keys(keys.place, {"centre": 0.0, "scale": _CIRCLE})
        circles = (_numbers(BlockSpec, made, circle, lacks, width=2) for made in Date().made(name)[1:])
        return Date(), (_numbers(ColumnSpec, name, keys, lacks), *circles)
    if what in ("encoder", "width"):
        if what == "encoder":
            reading, width = _encoder(keys)
        else:
            width = keys.whole("width")
            reading = Vector(width=width)
        return reading, (_numbers(BlockSpec, name, keys, lacks, width=width),)
    return Number(), (_numbers(ColumnSpec, name, keys, lacks),)


def _numbers(spec: type[ColumnSpec], name: str, keys: _Keys, lacks: bool, *, width: int = 1) -> ColumnSpec:
    for key, remedy in (("centre", "a usual number"), ("scale", "how far numbers usually lie from it")):
        if key not in keys.values:
            raise keys.lacks(key, f"give {remedy}, or levels")
    centre, scale = keys.numbers("centre", width), keys.numbers("scale", width, least=0.0)
    return spec(name, width=width, mean=centre, scale=scale, middle=centre, absence=2.0 * width, may_lack=lacks)


def _encoder(keys: _Keys) -> tuple[Column, int]:
    from fedbary.data.encoders import encoder_of, suits

    named = keys.values["encoder"]
    if not isinstance(named, str):
        raise keys.wrong("encoder", "the name of an encoder, such as hashing or pixels:28x28x1", named)
    kind = Text if suits(named, "text") else Image
    try:
        encoder = encoder_of(named, kind.cell_kind)
    except (DataError, SettingsError) as error:
        raise keys.wrong("encoder", "the name of an encoder that is here", str(error)) from error
    return kind(encoder.name, encoder.digest), encoder.width


class _Keys:
    """The keys of one place of a hand-written schema: each value is what its key needs, or a mistake with its place."""

    def __init__(self, place: str, values: Mapping[str, Any]) -> None:
        self.place, self.values = place, values

    def over(self, **usual: float) -> _Keys:
        """With usual values where a key is left out."""
        return _Keys(self.place, {**usual, **self.values})

    def require_known(self, known: Sequence[str]) -> None:
        """Refuse keys that mean nothing, with the closest one that does."""
        for key in self.values:
            if key not in known:
                guess, names = did_you_mean(key, known), ", ".join(known)
                raise SchemaError("schema.written-unknown-key", place=self.place, key=key, guess=guess, known=names)

    def number(self, key: str, *, least: float | None = None) -> float:
        """A finite number, above ``least`` where there is one."""
        (number,) = self.numbers(key, 1, least=least, listed=False)
        return number

    def numbers(self, key: str, width: int, *, least: float | None = None, listed: bool = True) -> tuple[float, ...]:
        """One number for each coordinate of a column: all the same, or a list."""
        values = self.values[key]
        if not listed or not isinstance(values, list):
            values = [values] * width
        elif len(values) != width:
            expected = f"one number, or {width} of them, as many as its width"
            raise self.wrong(key, expected, f"{len(values)} numbers")
        for value in values:
            finite = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
            if not finite or (least is not None and value <= least):
                raise self.wrong(key, "a number" if least is None else f"a number above {least:g}", value)
        return tuple(map(float, values))

    def truth(self, key: str) -> bool:
        """True or false; false where the key is left out."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false", value)
        return value

    def whole(self, key: str, *, least: int = 1, most: int = 2**20, default: int | None = None) -> int:
        """A whole number within bounds."""
        value = self.values.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise self.wrong(key, f"a whole number from {least} to {most}", value)

    def names(self, key: str, *, least: int, column: str) -> tuple[str, ...]:
        """Different names of a column's categories, as these are called."""
        value = self.values[key]
        wrong = self.wrong(key, f"a list of {least} different names or more", value)
        if not isinstance(value, list) or not all(isinstance(one, str | int) for one in value):
            raise wrong
        if (spelled := two_spellings([str(one).strip() for one in value])) is not None:
            raise SchemaError("schema.two-spellings", column=column, first=spelled[0], second=spelled[1])
        names = tuple(category_name(one) for one in value)
        if len(set(names)) < max(least, len(names)):
            raise wrong
        return names

    def wrong(self, key: str, expected: str, got: object) -> SchemaError:
        return SchemaError("schema.written-value", place=self.place, key=key, expected=expected, got=repr(got)[:80])

    def lacks(self, key: str, remedy: str) -> SchemaError:
        return SchemaError("schema.written-lacks", place=self.place, key=key, remedy=remedy)
