"""`ReadOptions`: what a user asks of reading a table, the same for every command, a node's config and Python."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from fedbary.checks import did_you_mean
from fedbary.errors import SettingsError, wrong_parameter

# Families of encoders (`fedbary.data.encoders`), of which some have settings behind a colon.
ENCODERS = ("pixels", "hashing", "timm", "sentence-transformers")
Encoder = str | Callable[[Any], Any] | None


@dataclass(frozen=True)
class ReadOptions:
    """How a file, a query or a frame is read; what is left out is guessed, and a note says what was guessed.

    Parameters
    ----------
    columns : tuple of str
        Feature columns to keep, all others are left out.
    drop : tuple of str
        Columns to leave out.
    dates : tuple of str
        Columns that hold dates or times.
    categories : tuple of str
        Columns whose numbers are names of categories, such as postcodes.
    numeric : tuple of str
        Columns that hold numbers, also where they look like identifiers.
    ordered : tuple of str
        Ordered categories with their levels, lowest first, such as size=S<M<L.
    kinds : tuple of str
        Columns with their kinds, where no other option is for it, such as stay=duration.
    sep : str, optional
        What separates the cells of a CSV file. Default: guessed from its header.
    encoding : str, optional
        Encoding of a CSV file. Default: UTF-8, and Windows-1252 for cells that are not.
    decimal : str, optional
        Decimal point of numbers that are written as text, a point or a comma. Default: guessed for each column.
    sheet : str, optional
        Sheet of an Excel file. Default: the first.
    query : str, optional
        SQL query, where the data is a database (postgresql://…, sqlite:///…). Default: its only table.
    client_column : str, optional
        Column that says whose row it is, where one file holds the rows of many clients.
    person : str, optional
        Column that says which person a row is about, where one has several: guards then count persons, and it is no
        feature. Default: each different row is a person.
    encoder : str, optional
        What turns images and free text into numbers (pixels, hashing, timm:NAME, sentence-transformers:NAME); in
        Python also a function. Default: pixels for images, none for text.

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.ReadOptions(drop=("name",), decimal=",").drop
    ('name',)
    """

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    query: str | None = None
    client_column: str | None = None
    person: str | None = None
    encoder: Encoder = None

    def __post_init__(self) -> None:
        for name in _LISTS:
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        if self.sep is not None and len(self.sep.replace("\\t", "\t")) != 1:
            raise wrong_parameter("sep", "ReadOptions", "one character, such as ; or \\t", self.sep)
        if self.decimal not in (None, ".", ","):
            raise wrong_parameter("decimal", "ReadOptions", "a point or a comma", self.decimal)
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise wrong_parameter("encoding", "ReadOptions", "an encoding, such as utf-8 or latin-1", self.encoding)
        if self.encoder is not None and not isinstance(self.encoder, str) and not callable(self.encoder):
            raise wrong_parameter("encoder", "ReadOptions", "the name of an encoder, or a function", self.encoder)
        if isinstance(self.encoder, str) and self.encoder.partition(":")[0] not in ENCODERS:
            guess = did_you_mean(self.encoder, ENCODERS)
            raise SettingsError("encoders.no-encoder", name=self.encoder, guess=guess, known=", ".join(ENCODERS))
        for one, other in _APART:
            if both := set(getattr(self, one)) & set(getattr(self, other)):
                raise SettingsError("settings.column-in-both", column=min(both), first=one, second=other)

    @property
    def separator(self) -> str | None:
        """``sep`` as one character."""
        return None if self.sep is None else self.sep.replace("\\t", "\t")

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ReadOptions:
        """From the words of a node's config or a settings file: lists may be written with commas.

        Examples
        --------
        >>> ReadOptions.of({"drop": "name, street", "sep": ";"})
        ReadOptions(drop=('name', 'street'), sep=';')
        """
        known = cls.keys()
        for key in config:
            if key.replace("_", "-") not in known:
                guess = did_you_mean(key, known)
                raise SettingsError("settings.no-read-option", name=key, guess=guess, known=", ".join(known))
        return cls(**{key.replace("-", "_"): value for key, value in config.items() if value is not None})

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The names of the options in a node's config."""
        return tuple(one.name.replace("_", "-") for one in fields(cls))

    def given(self) -> dict[str, Any]:
        """What differs from the defaults, as `of` takes it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self._changed().items()}

    def __repr__(self) -> str:
        return f"ReadOptions({', '.join(f'{name}={value!r}' for name, value in self._changed().items())})"

    def _changed(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}


_APART = (("columns", "drop"), ("dates", "categories"), ("dates", "numeric"), ("categories", "numeric"))
_LISTS = ("columns", "drop", "dates", "categories", "numeric", "ordered", "kinds")


def _names(option: str, value: object) -> tuple[str, ...]:
    """Names of columns: one text with commas (a name that has one is quoted), or several."""
    if isinstance(value, str):
        return tuple(name.strip() for name in next(csv.reader([value], skipinitialspace=True), []) if name.strip())
    if not isinstance(value, tuple | list) or not all(isinstance(name, str) for name in value):
        raise wrong_parameter(option, "ReadOptions", "names of columns", value)
    return tuple(value)


def _is_encoding(name: object) -> bool:
    try:
        return isinstance(name, str) and codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        return False
