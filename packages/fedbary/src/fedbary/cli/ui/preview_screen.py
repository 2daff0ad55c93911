"""What `fedbary preview` shows: each message of the server, and what this owner would send."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.session import one_line
from fedbary.filling import COMMAND
from fedbary.views.page import HEADING, Grid, Items, Line, Part
from fedbary.wording import counted

if TYPE_CHECKING:
    import numpy as np

    from fedbary.guard.policy import OwnerPolicy
    from fedbary.protocols.messages import Failure, Message, Reply, Settings

_HEAD = 4


@dataclass(frozen=True)
class Rehearsed:
    """One message of the server, and what this owner would send: a reply, or a code that says why there is none."""

    message: Message
    reply: Reply | None
    refusal: Failure | None


def preview_parts(
    settings: Settings, found: list[Rehearsed], policy: OwnerPolicy, *, with_reference: bool, supposed: bool
) -> list[Part]:
    """Every number that would be sent, how many bytes, and what the server learns by it.

    ``supposed`` says that the owner has named no policy file, so that the policy is one which allows the protocol.
    """
    from fedbary.guard.guarded_client import reply_bytes

    parts = [part for exchange in found for part in _rehearsed(exchange)]
    replies = [exchange.reply for exchange in found if exchange.reply is not None]
    if not replies:
        return [*parts, "", "Nothing would be answered, and nothing was sent: the preview ran on this machine only."]
    size = sum(map(reply_bytes, replies))
    learned = f"In all {counted(len(replies), 'answer')} of {size:,} bytes. From them the server learns"
    facts, warnings = _learned(settings, with_reference)
    parts += ["", Line(learned, HEADING), Items([*facts, *warnings])]
    if getattr(settings, "epsilon", None) is not None:
        parts += ["", "The noise is drawn anew for every run: what is sent will differ from what is shown."]
    most = policy.most_questions
    allowed = "no other" if most == 1 else f"{most} in all"
    allowed += "" if policy.epsilon_budget is None else ", as far as epsilon_budget pays for them"
    parts += ["", f"This is one question of the {settings.name} protocol; your policy allows {allowed}."]
    if supposed and not set(policy.protocols) <= set(type(policy)().protocols):
        needs = f'protocols = ["{settings.name}"]'
        parts.append(f"Without a policy file your node refuses it; one that allows it has {needs}.")
    return [*parts, "Nothing was sent: the preview ran on this machine only."]


def _rehearsed(exchange: Rehearsed) -> list[Part]:
    from fedbary.guard.guarded_client import failure, reply_bytes

    asked = f"The server asks '{one_line(exchange.message.kind)}', round {exchange.message.round}"
    reply = exchange.reply
    if reply is None:
        assert exchange.refusal is not None
        return [
            *("", Line(f"{asked}: you refuse", HEADING)),
            f"sent: {one_line(str(failure(exchange.refusal).note))}",
            f"for you alone: {one_line(exchange.refusal.note.text(COMMAND))}",
        ]
    rows: list[tuple[str, str, str]] = [
        (name, type(value).__name__, repr(value)) for name, value in reply.scalars.items()
    ]
    rows += [(name, f"{_shape(array)} {array.dtype}", _head(array)) for name, array in reply.arrays.items()]
    rows += [("note", note.code, one_line(str(note.redacted()))) for note in reply.notes]
    sent = Grid(("name", "kind", "value"), rows) if rows else "an empty answer: that the message has come"
    return ["", Line(f"{asked}: you send {reply_bytes(reply):,} bytes", HEADING), sent]


def _shape(array: np.ndarray) -> str:
    return "×".join(map(str, array.shape)) or "1"


def _head(array: np.ndarray) -> str:
    first = ", ".join(f"{value:.6g}" for value in array.ravel()[:_HEAD].tolist())
    return first + (", …" if array.size > _HEAD else "")


def _learned(settings: Settings, with_reference: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from fedbary.protocols.registry import learned

    facts: dict[str, Any] = {"protocol": settings.name, **asdict(settings)}
    facts |= {"reference_rows": 1 if with_reference else None}
    lesson = learned(facts)
    return ((), ()) if lesson is None else (lesson.server, lesson.warnings)


def for_programs(settings: Settings, found: list[Rehearsed]) -> dict[str, Any]:
    """The same for programs."""
    from fedbary.guard.guarded_client import failure, reply_bytes

    exchanges = []
    for exchange in found:
        content: dict[str, Any] = {"asked": exchange.message.kind, "round": exchange.message.round}
        if exchange.refusal is not None:
            content["refusal"] = failure(exchange.refusal).note.to_json()
        elif exchange.reply is not None:
            content |= {
                "bytes": reply_bytes(exchange.reply),
                "scalars": dict(exchange.reply.scalars),
                "arrays": {
                    name: {"shape": list(array.shape), "dtype": str(array.dtype), "values": array}
                    for name, array in exchange.reply.arrays.items()
                },
                "notes": [note.redacted().to_json() for note in exchange.reply.notes],
            }
        exchanges.append(content)
    options = asdict(settings)
    return {"protocol": settings.name, "settings": options, "answers": exchanges}
