"""A question is one run as its owner counts it: how many messages it has, and what one more could reveal."""

from __future__ import annotations

import hashlib
import json

from fedbary.protocols.cards import Cards
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.messages import Message, Settings

# Beside the rounds: describe, moments, start and scores; and in cards the card and the model.
_INTERPOLATION, _CARDS = 4, 2


def most_messages(settings: Settings) -> int:
    """Most messages of one question: one where an answer says everything, otherwise what an honest run needs.

    Examples
    --------
    >>> import fedbary as fb
    >>> most_messages(fb.Sketch()), most_messages(fb.Interpolation(rounds=10))
    (1, 14)
    """
    match settings:
        case Interpolation():
            return settings.rounds + _INTERPOLATION
        case Cards():
            return _CARDS
    return 1


def epsilon_of(settings: Settings) -> float:
    """What a question costs; 0 without ε."""
    return float(getattr(settings, "epsilon", None) or 0.0)


def message_key(message: Message) -> str:
    """What makes a message the same as another one, to the last byte."""
    return f"{message.kind} {message.round} {message.digest}"


def settings_digest(settings: Settings) -> str:
    """A digest of a protocol and all of its settings."""
    return hashlib.sha256(f"{type(settings).__name__} {settings!r}".encode()).hexdigest()


def asked_digest(settings: Settings, message: Message) -> str:
    """A digest of what a question asks: its first message, and the settings in force."""
    return hashlib.sha256(json.dumps([settings_digest(settings), message_key(message)]).encode()).hexdigest()


REVEALS = {
    "sketch": "A server can choose its sketch freely. Exact answers to two questions can be subtracted from each "
    "other, and a few hundred of them give the whole table away; with epsilon each costs what the ledger says, and no "
    "more.",
    "triangle": "Averages of at least min_group rows, grouped in another way than before: enough groupings of the same "
    "rows give the rows away.",
    "interpolation": "Averages of at least min_group rows in every round. The rounds of two questions can be solved "
    "together for single rows, as far as the server can guess each t.",
    "cards": "Counts and means of the classes, and a covariance. The cards of two versions of a table can be "
    "subtracted from each other, and what is left is the card of the rows that changed.",
}
