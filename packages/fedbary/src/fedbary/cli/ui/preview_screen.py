"""What `fedbary preview` shows: each message of the server, and what this owner would send."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.tables import bulleted, screen, table
from fedbary.cli.ui.terminal_text import one_line
from fedbary.filling import COMMAND
from fedbary.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from fedbary.guard.policy import OwnerPolicy
    from fedbary.protocols.messages import Failure, Message, Reply, Settings

_HEAD = 4


@dataclass(frozen=True)
class Rehearsed:
    """One message of the server, and what this owner would send: a reply, or a code that says why there is none."""

    message: Message
    reply: Reply | None
    refusal: Failure | None


def show_preview(
    settings: Settings, found: list[Rehearsed], policy: OwnerPolicy, *, with_reference: bool, supposed: bool
) -> None:
    """Every number that would be sent, how many bytes, and what the server learns by it.

    ``supposed`` says that the owner has named no policy file, so that the policy is one which allows the protocol.
    """
    from fedbary.guard.guarded_client import reply_bytes

    console = screen()
    for exchange in found:
        _show_rehearsed(console, exchange)
    replies = [exchange.reply for exchange in found if exchange.reply is not None]
    if not replies:
        console.print("\nNothing would be answered, and nothing was sent: the preview ran on this machine only.")
        return
    size = sum(map(reply_bytes, replies))
    console.print(
        f"\nIn all {counted(len(replies), 'answer')} of {size:,} bytes. From them the server learns", style="bold"
    )
    facts, warnings = _learned(settings, with_reference)
    console.print(bulleted([*facts, *warnings]))
    if getattr(settings, "epsilon", None) is not None:
        console.print("\nThe noise is drawn anew for every run: what is sent will differ from what is shown.")
    most = policy.most_questions
    allowed = "no other" if most == 1 else f"{most} in all"
    allowed += "" if policy.epsilon_budget is None else ", as far as epsilon_budget pays for them"
    console.print(f"\nThis is one question of the {settings.name} protocol; your policy allows {allowed}.")
    if supposed and not set(policy.protocols) <= set(type(policy)().protocols):
        needs = f'protocols = ["{settings.name}"]'
        console.print(f"Without a policy file your node refuses it; one that allows it has {needs}.")
    console.print("Nothing was sent: the preview ran on this machine only.")


def _show_rehearsed(console: Console, exchange: Rehearsed) -> None:
    from fedbary.guard.guarded_client import failure, reply_bytes

    asked = f"The server asks '{one_line(exchange.message.kind)}', round {exchange.message.round}"
    reply = exchange.reply
    if reply is None:
        assert exchange.refusal is not None
        note = exchange.refusal.note
        console.print(f"\n{asked}: you refuse", style="bold")
        console.print(f"sent: {one_line(str(failure(exchange.refusal).note))}")
        console.print(f"for you alone: {one_line(note.text(COMMAND))}")
        return
    console.print(f"\n{asked}: you send {reply_bytes(reply):,} bytes", style="bold")
    rows: list[tuple[str, str, str]] = [
        (name, type(value).__name__, repr(value)) for name, value in reply.scalars.items()
    ]
    rows += [(name, f"{_shape(array)} {array.dtype}", _head(array)) for name, array in reply.arrays.items()]
    rows += [("note", note.code, one_line(str(note.redacted()))) for note in reply.notes]
    if rows:
        console.print(table(("name", "kind", "value"), rows))
    else:
        console.print("an empty answer: that the message has come")


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
    """The same for `write_json`."""
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
