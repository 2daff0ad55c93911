"""What a kind of message asks with and what is answered, by records (`fedbary.forms`), and who learns what by them.

Both sides check by them; the report, `fedbary preview`, `fedbary show`, the ledger's disclosure records and the tables
of docs/privacy.md say what they tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fedbary.errors import ProtocolError
from fedbary.forms import LONGEST_TEXT, MOST_ROWS, Field, Number, Numbers, Record, Text, TextOrNumber
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply
from fedbary.space.notes import FINDINGS, FIT_CODES
from fedbary.wording import on_one_line

NOTHING = Record()
ROWS = Number(1, MOST_ROWS, whole=True, tells="row count", claim="rows", public=True)
SHARED = "share_numbers"


@dataclass(frozen=True)
class Exchange:
    """What a kind of message asks with, and what is answered."""

    message: Record = NOTHING
    reply: Record = NOTHING


@dataclass(frozen=True)
class Notes(Field):
    """Notes of these codes, beside the fields of a reply."""

    codes: frozenset[str]


# What a client may say of how its table fits.
FIT_NOTES = (
    Notes(
        FIT_CODES - FINDINGS,
        when="exact",
        tells="notes on classes of the target that have fewer than {min_group} different rows, and on how many columns "
        "are ignored",
    ),
    Notes(
        FINDINGS,
        when="exact",
        withheld_by=SHARED,
        tells="notes on classes that the target lacks (named from {min_group} different rows on), on columns that lie "
        "beyond anything in the reference (in what share of the rows, and by which power of ten) or lack cells, on "
        "labels that are written in another way, and on the share of different rows where many are copies",
    ),
)
_COLUMNS = (
    "columns as they were read, means and variances, and frequent categories and classes: the common scaling is agreed "
    "from these"
)
_SECOND = "second moments of the coordinates, in all and between classes"
_WORD, _CHOSEN_WORD = Text(20), Text(20, optional=True)
# The agreement on a schema, with which interpolation without a reference begins.
AGREEMENT = {
    "describe": Exchange(
        Record(
            {
                "space.task": _WORD,
                "space.scaling": _WORD,
                "space.metric": _CHOSEN_WORD,
                "space.shrinkage": Number(0.0, 1.0),
                "space.projection": TextOrNumber(_WORD, Number(1, 10**6, whole=True)),
                "space.labels": _CHOSEN_WORD,
                "space.label_weight": Number(optional=True),
                "space.missing": _WORD,
            }
        ),
        Record({"description": Text(LONGEST_TEXT, tells=_COLUMNS, when="no reference")}),
    ),
    "moments": Exchange(
        Record({"schema": Text(LONGEST_TEXT, tells="draft of the schema", when="no reference")}),
        Record(
            {
                "mean": Numbers(("width",), tells="means of the coordinates", when="no reference"),
                "second": Numbers(("width", "width"), tells=_SECOND, when="no reference"),
                "between": Numbers(("width", "width"), tells=_SECOND, when="no reference"),
            }
        ),
    ),
}


def exposed(settings: Mapping[str, Any]) -> bool:
    """Whether points of interpolation may stand for single rows."""
    return bool(settings.get("allow_reconstruction")) or settings.get("interpolation") == "exact"


# In which runs alone a field is sent.
WHEN: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "": lambda _: True,
    "exact": lambda settings: settings.get("epsilon") is None,
    "epsilon": lambda settings: settings.get("epsilon") is not None,
    "reference": lambda settings: settings.get("reference_rows") is not None,
    "no reference": lambda settings: settings.get("reference_rows") is None,
    "masses": lambda settings: settings.get("interpolation") == "exact",
    "eta_p": lambda settings: bool(settings.get("keep_measures")),
}


def told(record: Record, settings: Mapping[str, Any]) -> Iterator[tuple[str, Field]]:
    """Names and fields of a record that tell something in a run with these settings; a note's name is its kind's."""
    notes = (("notes", kind) for kind in record.notes)
    for name, one in (*record.fields.items(), *notes):
        if (
            one.tells
            and WHEN[one.when](settings)
            and not (one.withheld_by == SHARED and not settings.get("numbers", 1))
        ):
            yield name, one


def words(one: Field, settings: Mapping[str, Any]) -> str:
    """What a field tells in a run with these settings."""
    least = settings.get("min_group", "min_group")
    averaging = "" if exposed(settings) else f", each averaging at least {least} different rows"
    private = WHEN["epsilon"](settings)
    return one.tells.format(
        min_group=least,
        averaging=averaging,
        support=settings.get("support", "S"),
        sketch_points=settings.get("sketch_points", "some"),
        points="rows, in public coordinates" if private else "different rows, in all columns",
        agreed=" (a public schema's)" if private else "",
    )


def by_meaning(fields: Iterable[tuple[str, str]]) -> str:
    """What fields tell, with their names: pairs of words and a name, each thing once."""
    names: dict[str, list[str]] = {}
    for tells, name in fields:
        names.setdefault(tells, []).append(name)
    return "; ".join(f"{tells} ({', '.join(which)})" for tells, which in names.items())


@dataclass(frozen=True)
class Learned:
    """What the server, the clients and nobody learned, and what to be careful about."""

    server: tuple[str, ...]
    clients: tuple[str, ...]
    nobody: tuple[str, ...]
    warnings: tuple[str, ...]


def sentences(exchanges: Mapping[str, Exchange], settings: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What the server learns by replies and the clients by messages, each thing once."""
    noisy = WHEN["epsilon"](settings)
    server: dict[str, dict[str, None]] = {}
    clients: dict[str, None] = {}
    for exchange in exchanges.values():
        for _, one in told(exchange.reply, settings):
            begin = f"Unless its owner keeps them ({one.withheld_by})" if one.withheld_by else "From each client"
            begin += "" if one.public or not noisy else ", with noise"
            server.setdefault(begin, {})[words(one, settings)] = None
        clients |= {words(one, settings): None for _, one in told(exchange.message, settings)}
    to_server = [f"{begin}: {'; '.join(facts)}." for begin, facts in server.items()]
    return to_server, [f"{fact[0].upper()}{fact[1:]}." for fact in clients]


def claims(exchanges: Mapping[str, Exchange]) -> tuple[str, ...]:
    """What a client says of itself, and nobody else can check."""
    fields = (one for exchange in exchanges.values() for one in exchange.reply.fields.values())
    return tuple(dict.fromkeys(one.claim for one in fields if one.claim))


def check_message(exchanges: Mapping[str, Exchange], protocol: str, message: Message) -> None:
    """Refuse a server's message that is not of a known kind and of that kind's record."""
    kind = on_one_line(message.kind)
    if message.kind not in exchanges:
        raise ProtocolError("protocols.unknown-message", protocol=protocol, kind=kind)
    error = exchanges[message.kind].message.misfit(message.scalars, message.arrays)
    if error is not None:
        raise ProtocolError("protocols.message-unfit", kind=kind, name=str(error.public["name"])) from error


def fitting_replies(
    asked: Iterable[str], replies: Mapping[str, Reply | Failure], record: Record, *, number: int
) -> dict[str, Reply | Failure]:
    """One answer for each client that was asked: its reply if it fits the record, else why there is none.

    ``number`` is the round that the replies must be of.
    """

    def fitting(reply: Reply | Failure) -> Reply | Failure:
        if isinstance(reply, Failure):
            return reply
        if reply.round != number:
            return Failure.of(ProtocolError("protocols.other-round", found=reply.round, expected=number))
        error = record.misfit(reply.scalars, reply.arrays)
        return reply if error is None else Failure.of(error)

    return {name: fitting(replies.get(name, NO_ANSWER)) for name in asked}
