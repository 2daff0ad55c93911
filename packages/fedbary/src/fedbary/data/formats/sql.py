"""Tables in a database: a query's rows, through SQLAlchemy; nothing is ever written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.formats.cells import Request, one_line
from fedbary.data.formats.text_files import PER_CELL
from fedbary.data.places import shown
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from sqlalchemy import Connection

# Rows that come at a time, and what all of them may take in memory.
_ROWS, _MOST_BYTES = 50_000, 4 * 2**30


def read_sql(url: str, request: Request) -> pd.DataFrame:
    """The rows of ``options.query``, or of the database's only table; where each cell is by itself, as it is stored."""
    import pandas as pd

    parts, size, rows = [], 0, 0
    for part in sql_batches(url, request, rows=min(_ROWS, request.most or _ROWS)):
        parts.append(part)
        size += int(part.memory_usage(deep=True).sum())
        rows += len(part)
        if size > _MOST_BYTES:
            raise DataError("data.query-too-large", where=shown(url), rows=rows, most=_MOST_BYTES)
        if request.most is not None and rows >= request.most:
            break
    filled = [part for part in parts if len(part)] or parts[:1]
    frame = pd.concat(filled, ignore_index=True) if len(filled) > 1 else filled[0]
    return frame if request.most is None else frame[: request.most]


def sql_batches(url: str, request: Request, *, rows: int) -> Iterator[pd.DataFrame]:
    """The rows of a query, so many at a time; at least one frame comes, perhaps without a row."""
    # SQLite makes a file that is not there; a typing error must not leave one behind.
    scheme, _, path = url.partition(":///")
    file = Path(path.partition("?")[0])
    if scheme.startswith("sqlite") and path and not file.is_file():
        raise DataError("data.no-file", where=str(file))
    with _connected(url) as connection:
        query = request.options.query or _only_table(url, connection)
        try:
            yield from _rows(connection, query, rows, request)
        except DataError:
            raise
        except Exception as error:  # of the driver, the database or the network, each with classes of its own
            raise DataError("data.query-failed", where=shown(url), why=_why(error)) from error


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    """An open database; what keeps it from being reached is a DataError."""
    if find_spec("sqlalchemy") is None:
        raise DataError("data.no-driver", where=shown(url), package="sqlalchemy", remedy="pip install 'fedbary[sql]'")
    import sqlalchemy

    try:
        address = sqlalchemy.make_url(url)
        # SQLAlchemy's own choice is psycopg 2, which the extra does not bring.
        if address.drivername == "postgresql" and find_spec("psycopg2") is None:
            address = address.set(drivername="postgresql+psycopg")
        engine = sqlalchemy.create_engine(address)
        with engine.connect().execution_options(stream_results=True) as connection:  # never committed: nothing stays
            yield connection
        engine.dispose()
    except DataError:
        raise
    except Exception as error:  # each driver has classes of its own
        raise DataError("data.no-database", where=shown(url), why=_why(error)) from error


def _rows(connection: Any, query: str, rows: int, request: Request) -> Iterator[pd.DataFrame]:
    import pandas as pd
    from sqlalchemy import text

    if request.wanted is None:
        yield from pd.read_sql_query(text(query), connection, chunksize=rows)
        return
    if connection.dialect.name == "sqlite":  # which keeps any bytes as a text
        connection.connection.dbapi_connection.text_factory = lambda cell: cell.decode("utf-8", PER_CELL)
    found = connection.execute(text(query))
    names = list(found.keys())
    places = request.places(names)
    used = [names[place] for place in places]
    yield pd.DataFrame(columns=used, dtype=object)
    while part := found.fetchmany(rows):
        yield pd.DataFrame([[row[place] for place in places] for row in part], columns=used, dtype=object)


def _only_table(url: str, connection: Connection) -> str:
    import sqlalchemy

    names = sqlalchemy.inspect(connection.engine).get_table_names()
    if len(names) != 1:
        raise DataError("data.no-query", where=shown(url), names=tuple(sorted(names)[:20]) or None)
    quoted = names[0].replace('"', '""')
    return f'SELECT * FROM "{quoted}"'  # noqa: S608 - a name that the database has told, quoted


def _why(error: Exception) -> str:
    """The driver's own words, without the query and the links that SQLAlchemy adds."""
    return one_line(error.orig if isinstance(getattr(error, "orig", None), Exception) else error)  # type: ignore[attr-defined]
