"""What may leave of an error: nothing in which a row had a say."""

from __future__ import annotations

from fedbary.errors import FedbaryError, PrivacyError, ProtocolError
from fedbary.notes import Note
from fedbary.protocols.messages import Failure
from fedbary.valuation.outcome import Status

# Raised by an owner's half for the message alone, or for what is declared of a table: its row count and column names.
OF_THE_QUESTION = frozenset(
    {
        "guard.table-unreadable",
        "protocols.asked-otherwise",
        "protocols.card-needs-schema",
        "protocols.gaussian-labels-with-epsilon",
        "protocols.label-kind-changed",
        "protocols.message-unfit",
        "protocols.not-started",
        "protocols.points-not-agreed",
        "protocols.round-skipped",
        "protocols.server-array",
        "protocols.sketch-masses",
        "protocols.sketch-too-large",
        "protocols.target-incomplete",
        "protocols.too-many-rounds",
        "protocols.unknown-message",
        "schema.beyond-bounds",
        "schema.changed",
        "schema.columns-missing",
        "schema.columns-without-names",
        "schema.impossible",
        "schema.not-a-schema",
        "schema.other-fingerprint",
        "schema.other-version",
        "schema.read-otherwise",
        "schema.too-few-rows",
        "schema.too-wide-for-rows",
    }
)
_ABOUT_ROWS = frozenset({"data", "protocols", "schema", "transport", "valuation"})
_UNFIT = Failure(Note("guard.rows-unfit"))
_INSIDE = Failure(Note("guard.failed-inside"))


def refusal(error: Exception) -> Failure:
    """What leaves of an error that was raised before any row was looked at: its code and public facts."""
    return Failure.of(error).redacted() if isinstance(error, FedbaryError) else _INSIDE


def failure(found: Failure) -> Failure:
    """What leaves where an owner's half failed with the rows in its hands.

    A code of a list that depends on the question alone; of all others nothing but whether the table does not fit or
    something failed.
    """
    if found.note.code in OF_THE_QUESTION:
        return found.redacted()
    return _UNFIT if found.note.code.partition(".")[0] in _ABOUT_ROWS else _INSIDE


def as_error(found: Failure) -> FedbaryError:
    """What left, as an exception."""
    kind = PrivacyError if found.status is Status.REFUSED else ProtocolError
    return kind(found.note.code, **found.note.facts)
