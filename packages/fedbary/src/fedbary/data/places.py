"""Where a table lies: a file, a folder, or a database that has a URL."""

from __future__ import annotations

import os
from os import PathLike, fspath
from pathlib import Path
from string import ascii_letters, digits
from typing import TypeAlias

AnyPath: TypeAlias = "str | PathLike[str]"

_OF_A_SCHEME = frozenset(ascii_letters + digits + "+.-")
# Databases that are files, the usual ports of others, and parameters that say which database is meant.
_OF_FILES = ("sqlite", "duckdb")
_PORTS = {"postgresql": "5432", "mysql": "3306", "mariadb": "3306", "mssql": "1433", "oracle": "1521"}
_WHICH = ("host", "port", "dbname", "database", "service", "service_name", "unix_socket", "odbc_connect")
_SECRETS = ("pass", "pwd", "secret", "token", "key")


def is_url(place: AnyPath) -> bool:
    """Whether a table lies in a database."""
    scheme, found, _ = place.partition("://") if isinstance(place, str) else ("", "", "")
    return bool(found) and len(scheme) > 1 and scheme[0].isalpha() and set(scheme) <= _OF_A_SCHEME


def shown(place: AnyPath) -> str:
    """The place for a message: without a password, which is nobody else's business."""
    if not is_url(place):
        return fspath(place)
    scheme, _, rest = str(place).partition("://")
    address, _, query = rest.partition("?")
    who, at, host = address.rpartition("@")
    kept = [part for part in query.split("&") if part and not any(word in part.lower() for word in _SECRETS)]
    user = who.partition(":")[0]
    return f"{scheme}://{user}{at}{host}{'?' if kept else ''}{'&'.join(kept)}"


def resolved(place: AnyPath) -> str:
    """The place as it can be found again from anywhere, and may be written down."""
    if not is_url(place):
        return str(Path(place).resolve())
    text = shown(place)
    scheme, _, path = text.partition(":///")
    return f"{scheme}:///{Path(path).resolve()}" if path and "sqlite" in scheme else text


def file_of(place: AnyPath) -> Path | None:
    """The file or folder behind a place; None for a database on a server."""
    if not is_url(place):
        return Path(place)
    scheme, _, path = str(place).partition(":///")
    path = path.partition("?")[0].removeprefix("file:")
    return Path(path) if path and scheme.partition("+")[0].lower() in _OF_FILES else None


def identity(place: AnyPath) -> str:
    """What is the same for all spellings of a place: the real path, or which database on which server.

    A driver, a user, a password and how the connection is made do not make other rows of it.
    """
    file = file_of(place)
    if not is_url(place):
        return os.path.realpath(place)
    scheme, _, rest = shown(place).partition("://")
    scheme = scheme.partition("+")[0].lower()
    if file is not None:
        return f"{scheme}:///{os.path.realpath(file)}"
    address, _, query = rest.partition("?")
    host, slash, database = address.rpartition("@")[2].partition("/")
    host = host.lower().removesuffix(f":{_PORTS.get(scheme, '')}")
    kept = sorted(part for part in query.split("&") if part.partition("=")[0].lower() in _WHICH)
    return f"{scheme}://{host}{slash}{database}{'?' if kept else ''}{'&'.join(kept)}"


def place_name(place: AnyPath) -> str:
    """What a client is called whose rows lie there."""
    path = Path(shown(place).partition("?")[0])
    return path.stem if is_url(place) else path.name.removesuffix(".gz").removesuffix(".zip").rsplit(".", 1)[0]


def file_name(place: AnyPath) -> str:
    """The last part of a place, for messages."""
    return Path(shown(place).partition("?")[0] if is_url(place) else place).name
