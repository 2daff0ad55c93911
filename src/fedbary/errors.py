"""The one family of exceptions that a user of fedbary can meet."""

from __future__ import annotations

import re

# Invisible mark around what only the owner of the data may read.
_MARK = "\u2060"


def private(text: str) -> str:
    """Mark a part of a message, such as the example of a bad cell, that must not leave the owner's machine.

    Examples
    --------
    >>> error = DataError("column 'age' holds text" + private(" such as 'Ann'"))
    >>> str(error), error.public
    ("column 'age' holds text such as 'Ann'", "column 'age' holds text")
    """
    return f"{_MARK}{text.replace(_MARK, '')}{_MARK}"


class FedbaryError(Exception):
    """Base class: catch this to catch everything fedbary raises on purpose."""

    def __str__(self) -> str:
        return self.marked.replace(_MARK, "")

    @property
    def marked(self) -> str:
        """The message with its private parts marked, to be put into another message."""
        return str(self.args[0]) if self.args else ""

    @property
    def public(self) -> str:
        """The message without its private parts: what an engine may send to another party."""
        return re.sub(f"{_MARK}[^{_MARK}]*{_MARK}", "", self.marked)


class DataError(FedbaryError):
    """A table cannot be used as it is; the message names the file, the column and the remedy."""


class DatasetUnavailable(FedbaryError):  # noqa: N818 - the public name of the contract
    """A named data set is not on this machine and could not be fetched."""


class SchemaError(FedbaryError):
    """A table does not fit the agreed schema, or two schemas differ."""


class SettingsError(FedbaryError):
    """A parameter has a value that makes no sense; the message names it."""


class TransportError(FedbaryError):
    """An optimal transport problem is ill posed or its solver did not converge."""


class ProtocolError(FedbaryError):
    """A message does not follow the protocol (wrong round, wrong shape, not finite)."""


class PrivacyError(FedbaryError):
    """What was asked would reveal more than the owner allows."""
