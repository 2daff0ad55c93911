"""The one family of exceptions that a user of fedbary can meet."""

from __future__ import annotations


class FedbaryError(Exception):
    """Base class: catch this to catch everything fedbary raises on purpose."""


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
