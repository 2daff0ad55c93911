"""What a kind of message asks with and what is answered, by forms (`fedbary.forms`); both sides check by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fedbary.errors import ProtocolError
from fedbary.forms import Form
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply
from fedbary.wording import on_one_line

NOTHING = Form()


@dataclass(frozen=True)
class Exchange:
    """What a kind of message asks with, and what is answered."""

    message: Form = NOTHING
    reply: Form = NOTHING


def check_message(exchanges: Mapping[str, Exchange], protocol: str, message: Message) -> None:
    """Refuse a server's message that is not of a known kind and of that kind's form."""
    kind = on_one_line(message.kind)
    if message.kind not in exchanges:
        raise ProtocolError("protocols.unknown-message", protocol=protocol, kind=kind)
    error = exchanges[message.kind].message.misfit(message.scalars, message.arrays)
    if error is not None:
        raise ProtocolError("protocols.message-unfit", kind=kind, name=str(error.public["name"])) from error


def fitting_replies(
    asked: Iterable[str], replies: Mapping[str, Reply | Failure], form: Form, *, number: int
) -> dict[str, Reply | Failure]:
    """One answer for each client that was asked: its reply if it fits the form, else why there is none.

    ``number`` is the round that the replies must be of.

    Examples
    --------
    >>> from fedbary.forms import Number
    >>> found = fitting_replies(["a", "b"], {"a": Reply(0, {"rows": -1})}, Form({"rows": Number()}), number=0)
    >>> found["a"].note.code, found["b"].note.code
    ('protocols.number-unfit', 'protocols.no-answer')
    """
    return {name: _fitting(replies.get(name, NO_ANSWER), form, number) for name in asked}


def _fitting(reply: Reply | Failure, form: Form, expected: int) -> Reply | Failure:
    if isinstance(reply, Failure):
        return reply
    if reply.round != expected:
        return Failure.of(ProtocolError("protocols.other-round", found=reply.round, expected=expected))
    error = form.misfit(reply.scalars, reply.arrays)
    return reply if error is None else Failure.of(error)
