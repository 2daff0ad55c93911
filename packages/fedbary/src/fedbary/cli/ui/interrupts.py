"""Ctrl-C: what is done is not lost, and the user learns how to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupted(Exception):  # noqa: N818 - no error: the user wanted it; and typer swallows KeyboardInterrupt
    """The user stopped the command; the message says what is left of its work."""


@contextmanager
def on_interrupt(sentence: Callable[[], str]) -> Iterator[None]:
    """Where the work inside is interrupted, say what is left of it.

    Examples
    --------
    >>> with on_interrupt(lambda: "interrupted: two methods are finished"):
    ...     raise KeyboardInterrupt
    Traceback (most recent call last):
    fedbary.cli.ui.interrupts.Interrupted: interrupted: two methods are finished
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(sentence()) from None
