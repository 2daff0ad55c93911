"""Which family an object belongs to, told from its class, so that no package is imported for objects of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from fedbary.data.formats.cells import one_line
from fedbary.errors import DataError, FedbaryError

# A stream does not say how long it is.
MOST_STREAMED = 100_000


def is_of(data: object, package: str) -> bool:
    """Whether a class of this package is among the classes of an object.

    Examples
    --------
    >>> import numpy as np
    >>> is_of(np.zeros(1), "numpy"), is_of(np.zeros(1), "torch")
    (True, False)
    """
    return any(kind.__module__.partition(".")[0] == package for kind in type(data).__mro__)


def streamed(rows: Iterable[Any], kind: str) -> list[Any]:
    """The rows of a stream, which is refused where there are too many of them, or no end."""
    found = list(islice(rows, MOST_STREAMED + 1))
    if len(found) > MOST_STREAMED:
        raise DataError("data.stream-too-long", kind=kind, most=MOST_STREAMED)
    return found


@contextmanager
def foreign(data: Any) -> Iterator[None]:
    """What another package raises while it hands over its rows is a DataError with that text."""
    try:
        yield
    except FedbaryError:
        raise
    except Exception as error:
        raise DataError("data.object-unreadable", kind=type(data).__name__, why=one_line(error)) from error
