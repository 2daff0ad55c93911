"""Ctrl-C: what was done is kept, and the user is told how to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupted(Exception):  # noqa: N818 - no error: the user wanted it; and typer swallows KeyboardInterrupt
    """The user stopped the command; the message says what was kept."""


@contextmanager
def kept(sentence: Callable[[], str]) -> Iterator[None]:
    """Where the work inside is interrupted, say what was kept.

    Examples
    --------
    >>> with kept(lambda: "two methods are kept"):
    ...     raise KeyboardInterrupt
    Traceback (most recent call last):
    fedbary.cli.ui.interrupts.Interrupted: two methods are kept
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(sentence()) from None
