"""A question is one run as its owner counts it: how many messages it has, and what one more could reveal."""

from __future__ import annotations

import hashlib
import json

from fedbary.protocols.cards import Cards
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.messages import Message, Settings

# Beside the rounds: describe, moments and start; of cards the card, the model, common weights and flags.
_INTERPOLATION, _CARDS = 3, 4
# Everything else in the settings of cards is the server's own business.
_OF_A_CARD = ("min_group", "epsilon", "delta", "policy")


def most_messages(settings: Settings) -> int:
    """Most messages of one question: one where an answer says everything, otherwise what an honest run needs.

    Examples
    --------
    >>> import fedbary as fb
    >>> most_messages(fb.Sketch()), most_messages(fb.Interpolation(rounds=10))
    (1, 13)
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


def delta_of(settings: Settings) -> float:
    """The δ of a question; 0 without ε, and where ε needs none."""
    return float(getattr(settings, "delta", 0.0)) if epsilon_of(settings) else 0.0


def tells_nothing(settings: Settings, message: Message) -> bool:
    """Whether nothing of the rows may leave for a message: what a model of cards says of them, if it stays at home."""
    silent = isinstance(settings, Cards) and (settings.epsilon is not None or not settings.numbers)
    return silent and message.kind != "card"


def message_key(message: Message) -> str:
    """What makes a message the same as another one, to the last byte."""
    return f"{message.kind} {message.round} {message.digest}"


def settings_digest(settings: Settings) -> str:
    """A digest of a protocol and all of its settings."""
    return hashlib.sha256(f"{type(settings).__name__} {settings!r}".encode()).hexdigest()


def asked_digest(settings: Settings, message: Message) -> str:
    """A digest of what a question asks: its first message, and the settings in force that its answer depends on."""
    if isinstance(settings, Cards):
        settings = Cards(**{name: getattr(settings, name) for name in _OF_A_CARD})
    return hashlib.sha256(json.dumps([settings_digest(settings), message_key(message)]).encode()).hexdigest()


REVEALS = {
    "sketch": "A server can choose its sketch freely. Exact answers are made of the released rows alone, but two of "
    "them can be subtracted from each other, and a few hundred give all released rows away; with epsilon each costs "
    "what the ledger says, and no more.",
    "interpolation": "Averages of at least min_group rows in every round. The rounds of two questions can be solved "
    "together for single rows, as far as the server can guess each t.",
    "cards": "A card that left is sent again without a question. One more question is a card of the rows that are "
    "released now, and what a model of the server's choice says of them. What came since the last card shows as the "
    "card of those rows, of which there are min_group at least in every class. With epsilon each costs what the "
    "ledger says.",
}
