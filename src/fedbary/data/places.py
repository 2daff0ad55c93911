"""Where a table lies: a file, a folder, or a database that has a URL."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

AnyPath: TypeAlias = "str | PathLike[str]"

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# A user's name and password; the password is nobody else's business.
_PASSWORD = re.compile(r"(://[^/@:]*):[^/@]*@")


def is_url(place: AnyPath) -> bool:
    """Whether a table lies in a database.

    Examples
    --------
    >>> is_url("postgresql://ward@host/hospital"), is_url("data/ward.csv")
    (True, False)
    """
    return isinstance(place, str) and _URL.match(place) is not None


def shown(place: AnyPath) -> str:
    """The place for a message: without a password.

    Examples
    --------
    >>> shown("postgresql://ward:secret@host/hospital")
    'postgresql://ward@host/hospital'
    """
    return _PASSWORD.sub(r"\1@", place) if isinstance(place, str) and is_url(place) else fspath(place)


def resolved(place: AnyPath) -> str:
    """The place as it can be found again from anywhere, and may be written down.

    Examples
    --------
    >>> resolved("sqlite:///ward.db") == f"sqlite:///{Path('ward.db').resolve()}"
    True
    """
    if not is_url(place):
        return str(Path(place).resolve())
    text = shown(place)
    scheme, _, path = text.partition(":///")
    return f"{scheme}:///{Path(path).resolve()}" if path and "sqlite" in scheme else text


def place_name(place: AnyPath) -> str:
    """What a client is called whose rows lie there.

    Examples
    --------
    >>> place_name("postgresql://ward@host/hospital"), place_name("data/north.csv.gz"), place_name("sites/oslo/")
    ('hospital', 'north', 'oslo')
    """
    path = Path(shown(place).partition("?")[0])
    return path.stem if is_url(place) else path.name.removesuffix(".gz").removesuffix(".zip").rsplit(".", 1)[0]


def file_name(place: AnyPath) -> str:
    """The last part of a place, for messages.

    Examples
    --------
    >>> file_name("data/north.csv.gz"), file_name("sqlite:///ward.db")
    ('north.csv.gz', 'ward.db')
    """
    return Path(shown(place).partition("?")[0] if is_url(place) else place).name
