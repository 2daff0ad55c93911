"""Tables in a database: a query's rows, through SQLAlchemy or ADBC; nothing is ever written there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.formats.damage import one_line
from fedbary.data.formats.text_files import PER_CELL
from fedbary.data.options import ReadOptions
from fedbary.data.places import shown
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

# Rows that come at a time, and what all of them may take in memory.
_ROWS, _MOST_BYTES = 50_000, 4 * 2**30
_ADBC = "adbc+"
# Scheme → driver of ADBC, and how the rest of a URL is told to it.
_ADBC_DRIVERS = {"sqlite": "adbc_driver_sqlite", "postgresql": "adbc_driver_postgresql"}


def read_sql(url: str, options: ReadOptions, most: int | None = None, *, alone: bool = False) -> pd.DataFrame:
    """The rows of ``options.query``, or of the database's only table; with ``alone`` each cell as it is stored."""
    import pandas as pd

    parts, size, rows = [], 0, 0
    for part in sql_batches(url, options, rows=min(_ROWS, most or _ROWS), alone=alone):
        parts.append(part)
        size += int(part.memory_usage(deep=True).sum())
        rows += len(part)
        if size > _MOST_BYTES:
            raise DataError("data.query-too-large", where=shown(url), rows=rows, most=_MOST_BYTES)
        if most is not None and rows >= most:
            break
    filled = [part for part in parts if len(part)] or parts[:1]
    frame = pd.concat(filled, ignore_index=True) if len(filled) > 1 else filled[0]
    return frame if most is None else frame[:most]


def sql_batches(url: str, options: ReadOptions, *, rows: int, alone: bool = False) -> Iterator[pd.DataFrame]:
    """The rows of a query, so many at a time; at least one frame comes, perhaps without a row."""
    if alone and url.startswith(f"{_ADBC}sqlite"):  # there the first rows decide what those after them may hold
        url = url.removeprefix(_ADBC)
    opened = _adbc if url.startswith(_ADBC) else _sqlalchemy
    _require_file(url.removeprefix(_ADBC))
    with opened(url) as database:
        query = options.query or _only_table(url, database.tables())
        try:
            yield from database.rows_of(query, rows, alone)
        except Exception as error:  # of the driver, the database or the network, each with classes of its own
            raise DataError("data.query-failed", where=shown(url), why=_why(error)) from error


@dataclass(frozen=True)
class _Database:
    """An open database: the names of its tables, and a query's rows, so many at a time."""

    tables: Callable[[], list[str]]
    rows_of: Callable[[str, int, bool], Iterator[pd.DataFrame]]


@contextmanager
def _sqlalchemy(url: str) -> Iterator[_Database]:
    _require(url, "sqlalchemy", "pip install 'fedbary[sql]'")
    import sqlalchemy

    with _reached(url):
        address = sqlalchemy.make_url(url)
        # SQLAlchemy's own choice is psycopg 2, which the extra does not bring.
        if address.drivername == "postgresql" and find_spec("psycopg2") is None:
            address = address.set(drivername="postgresql+psycopg")
        engine = sqlalchemy.create_engine(address)
        with engine.connect().execution_options(stream_results=True) as connection:  # never committed: nothing stays
            yield _Database(
                lambda: sqlalchemy.inspect(engine).get_table_names(),
                partial(_sqlalchemy_rows, connection),
            )
        engine.dispose()


@contextmanager
def _adbc(url: str) -> Iterator[_Database]:
    scheme, _, rest = url.removeprefix(_ADBC).partition("://")
    if scheme not in _ADBC_DRIVERS:
        raise DataError("data.no-adbc", where=shown(url), known=", ".join(_ADBC + name for name in _ADBC_DRIVERS))
    driver = _ADBC_DRIVERS[scheme]
    _require(url, driver, f"pip install {driver.replace('_', '-')}")
    address = rest.removeprefix("/") if scheme == "sqlite" else f"{scheme}://{rest}"
    with _reached(url), import_module(f"{driver}.dbapi").connect(address) as connection:
        yield _Database(partial(_adbc_tables, connection), partial(_adbc_rows, connection))


@contextmanager
def _reached(url: str) -> Iterator[None]:
    """What keeps a database from being reached is a DataError."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # each driver has classes of its own
        raise DataError("data.no-database", where=shown(url), why=_why(error)) from error


def _sqlalchemy_rows(connection: Any, query: str, rows: int, alone: bool) -> Iterator[pd.DataFrame]:
    import pandas as pd
    from sqlalchemy import text

    if not alone:
        yield from pd.read_sql_query(text(query), connection, chunksize=rows)
        return
    if connection.dialect.name == "sqlite":  # which keeps any bytes as a text
        connection.connection.dbapi_connection.text_factory = lambda cell: cell.decode("utf-8", PER_CELL)
    found = connection.execute(text(query))
    names = list(found.keys())
    yield pd.DataFrame(columns=names, dtype=object)
    while part := found.fetchmany(rows):
        yield pd.DataFrame([tuple(row) for row in part], columns=names, dtype=object)


def _adbc_rows(connection: Any, query: str, rows: int, alone: bool) -> Iterator[pd.DataFrame]:
    import pyarrow as pa

    with connection.cursor() as cursor:
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        if not reader.schema.names:
            raise ValueError("the query returns no rows")
        yield pa.Table.from_batches([], reader.schema).to_pandas()
        for batch in reader:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows).to_pandas(integer_object_nulls=alone)


def _adbc_tables(connection: Any) -> list[str]:
    tree = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
    schemas = [schema for catalog in tree for schema in catalog["catalog_db_schemas"] or ()]
    own = [s for s in schemas if s["db_schema_name"] not in ("pg_catalog", "information_schema", "pg_toast")]
    return [t["table_name"] for s in own for t in s["db_schema_tables"] or () if t["table_type"] in ("table", "r")]


def _only_table(url: str, names: list[str]) -> str:
    if len(names) != 1:
        raise DataError("data.no-query", where=shown(url), names=tuple(sorted(names)[:20]) or None)
    quoted = names[0].replace('"', '""')
    return f'SELECT * FROM "{quoted}"'  # noqa: S608 - a name that the database has told, quoted


def _require_file(url: str) -> None:
    """SQLite makes a file that is not there; a typing error must not leave one behind."""
    scheme, _, path = url.partition(":///")
    file = Path(path.partition("?")[0])
    if scheme.startswith("sqlite") and path and not file.is_file():
        raise DataError("data.no-file", where=str(file))


def _require(url: str, package: str, remedy: str) -> None:
    if find_spec(package) is None:
        raise DataError("data.no-driver", where=shown(url), package=package, remedy=remedy)


def _why(error: Exception) -> str:
    """The driver's own words, without the query and the links that SQLAlchemy adds."""
    return one_line(error.orig if isinstance(getattr(error, "orig", None), Exception) else error)  # type: ignore[attr-defined]
