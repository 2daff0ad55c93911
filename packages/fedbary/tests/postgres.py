"""A real PostgreSQL server for tests, from the wheel `pgserver`; it is gone when the test is."""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest


@contextmanager
def postgres(folder: Path, **tables: pd.DataFrame) -> Iterator[str]:
    """The URL of a server that holds these tables."""
    pgserver, sqlalchemy = pytest.importorskip("pgserver"), pytest.importorskip("sqlalchemy")
    # Where root runs the tests, pgserver makes a user of the system, which two workers must not do at a time.
    with (Path(tempfile.gettempdir()) / "fedbary-pgserver.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        engine = sqlalchemy.create_engine(server.get_uri().replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            for name, table in tables.items():
                table.to_sql(name, connection, index=False)
        engine.dispose()
        yield server.get_uri()
    finally:
        server.cleanup()
