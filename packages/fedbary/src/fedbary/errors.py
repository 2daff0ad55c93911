"""The one family of exceptions that a user of fedbary can meet: each carries a code and facts, see `fedbary.notes`."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from fedbary.notes import Fact, Note
from fedbary.wording import shown_cell

Kind = TypeVar("Kind", bound="FedbaryError")


class FedbaryError(Exception):
    """Base class: catch this to catch everything fedbary raises on purpose.

    Parameters
    ----------
    code : str
        What happened, such as ``data.no-rows``; its sentence stands in `fedbary.sentences`.
    **facts
        What the sentence names. ``where`` is put before it: the file, client or parameter that it is about.

    Examples
    --------
    >>> error = FedbaryError("internal.error", kind="KeyError", text="'Ann'")
    >>> str(error), error.code, str(error.redacted())
    ("internal error (KeyError: 'Ann')", 'internal.error', 'internal error (KeyError)')
    """

    def __init__(self, code: str, /, **facts: Fact) -> None:
        super().__init__(code)
        self.note = Note(code, facts)

    def __str__(self) -> str:
        return str(self.note)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.note)

    @property
    def code(self) -> str:
        return self.note.code

    @property
    def public(self) -> dict[str, Fact]:
        """Facts that another party may hear."""
        return self.note.public

    @property
    def private(self) -> dict[str, Fact]:
        """Facts that stay with the owner of the data."""
        return self.note.private

    def redacted(self) -> Note:
        """What may leave the owner's machine: the code and the public facts."""
        return self.note.redacted()

    def at(self, where: str) -> Self:
        """The same error, about a file, a client or a part; one that says already where it was stays as it is."""
        if not where or self.note.facts.get("where"):
            return self
        return _rebuilt(type(self), Note(self.code, {**self.note.facts, "where": where}))


def _rebuilt(kind: type[Kind], note: Note) -> Kind:
    return kind(note.code, **note.facts)


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


class Waiting(FedbaryError):  # noqa: N818 - the public name of the contract
    """Answers are not there yet; the same call goes on when they are. ``names`` says whose."""

    @property
    def names(self) -> tuple[str, ...]:
        """The clients that have not answered; empty where anybody may."""
        names = self.note.facts.get("names")
        return names if isinstance(names, tuple) else ()


def as_note(error: BaseException) -> Note:
    """Any exception as a note; the words of one that is not ours stay with the owner."""
    if isinstance(error, FedbaryError):
        return error.note
    return Note("internal.error", {"kind": type(error).__name__, "text": str(error) or None})


def wrong_parameter(name: str, owner: str, expected: str, got: object) -> SettingsError:
    """The error for a parameter whose value makes no sense."""
    return SettingsError("settings.parameter", name=name, owner=owner, expected=expected, got=shown_cell(got))
