"""`fedbary preview`: an owner sees, number by number, what would be sent; nothing is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.completion import PROTOCOLS, one_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json, RowId
from fedbary.errors import FedbaryError, SettingsError

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from fedbary.data.table import Table
    from fedbary.protocols.messages import Message, Reply, Settings

_HEAD = 4
_REFUSED = 2


@dataclass(frozen=True)
class Exchange:
    """One question of the server, and what this owner would send: a reply, or the words of a refusal."""

    message: Message
    reply: Reply | None
    refusal: str = ""
    details: str = ""


def preview(
    file: Annotated[Path, typer.Argument(help="Your CSV or Parquet file.", show_default=False)],
    *,
    label: Annotated[str, typer.Option(metavar="COL", help="The label column.")] = "label",
    row_id: RowId = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="sketch (default with a reference or message), consensus (without), …",
            autocompletion=one_of(*PROTOCOLS),
        ),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows that stand for the server's reference.")
    ] = None,
    message: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A message that the server's coordinator saved (.npz).")
    ] = None,
    others: Annotated[
        list[Path] | None, typer.Option("--with", metavar="FILE", help="Another client's file; may be repeated.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Your policy file. Default: defaults.")] = None,
    min_group: Annotated[int | None, typer.Option(help="What the server asks for. Default: your policy's.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="sketch: the ε that the server asks for.")] = None,
    json: Json = False,
) -> None:
    """Print what your machine would send to a server: every number, how many bytes, and what the server learns by it.

    FILE is your CSV or Parquet file. The server's half of the protocol runs here, too, with the rows of --reference,
    or without them with the files that you name by --with; or give a message that its coordinator saved. Nothing is
    sent, and nothing is written. Exit code 2: your policy or your data would refuse.
    """
    from fedbary.cli.ui.chosen_protocol import chosen_protocol
    from fedbary.data.files import read
    from fedbary.guard.policy import OwnerPolicy

    name = protocol or ("sketch" if reference or message else "consensus")
    asked = chosen_protocol(name, epsilon=epsilon)
    own = OwnerPolicy(protocols=(name,)) if policy is None else OwnerPolicy.load(policy)
    asked = replace(asked, min_group=own.min_group if min_group is None else min_group)  # type: ignore[type-var]
    _check_sources(asked, reference, message, others)
    settings = own.applied(asked)
    table = read(file, label, id=row_id)
    if message is not None:
        from fedbary.guard.message_file import load_message

        found = [_exchange(settings, table, load_message(message))]
    else:
        rest = [read(path, label, id=row_id) for path in others or ()]
        target = None if reference is None else _reference(reference, label, row_id)
        found = _run(asked, settings, table, rest, target)
    if json:
        write_json(_for_programs(settings, found))
    else:
        _show(settings, found, with_reference=bool(reference or message))
    if any(exchange.reply is None for exchange in found):
        raise typer.Exit(_REFUSED)


def _check_sources(asked: Settings, reference: Path | None, message: Path | None, others: list[Path] | None) -> None:
    if message is not None and (reference is not None or others):
        raise SettingsError("--message stands for the server: leave out --reference and --with.")
    if message is None and reference is None and getattr(asked, "needs_reference", False):
        raise SettingsError(
            f"The {asked.name} protocol compares with a reference: give rows that stand for it (--reference), or a "
            "message that the coordinator saved (--message)."
        )


def _reference(path: Path, label: str, row_id: str | None) -> Table:
    from fedbary.cli.commands.value import read_reference

    return read_reference(path, label, row_id).replace(origin="reference")


def _exchange(settings: Settings, table: Table, message: Message) -> Exchange:
    import secrets

    from fedbary.valuation.rules import RowRules

    return _answered(settings.client(table, rules=RowRules(), seed=secrets.randbits(48)), message, table.origin)


def _run(
    asked: Settings, settings: Settings, table: Table, rest: list[Table], reference: Table | None
) -> list[Exchange]:
    """The whole protocol in this process; returns what concerns the first client."""
    import secrets

    from fedbary.engines.local import one_thread
    from fedbary.protocols.messages import Failure
    from fedbary.valuation.rules import RowRules

    rules, seed = RowRules(), secrets.randbits(48)
    names = [f"client {index}" for index in range(1 + len(rest))]
    halves = {
        name: settings.client(data, rules=rules, seed=secrets.randbits(48))
        for name, data in zip(names, (table, *rest), strict=True)
    }
    found: list[Exchange] = []
    with one_thread():
        server = asked.server(names, reference, asked.space(None), rules=rules, seed=seed)
        while tasks := server.tasks():
            replies: dict[str, Reply | Failure] = {}
            for name, message in tasks.items():
                exchange = _answered(halves[name], message, table.origin)
                replies[name] = Failure(exchange.refusal) if exchange.reply is None else exchange.reply
                if name == names[0]:
                    found.append(exchange)
            server.absorb(replies)
    return found


def _answered(client: Any, message: Message, origin: str) -> Exchange:
    from fedbary.guard.guarded_client import safe_reason

    try:
        return Exchange(message, client.answer(message))
    except FedbaryError as error:
        return Exchange(message, None, safe_reason(error, message, hidden=(origin,)), str(error))


def _show(settings: Settings, found: list[Exchange], *, with_reference: bool) -> None:
    from fedbary.cli.ui.tables import bulleted, screen
    from fedbary.cli.ui.terminal_text import plural
    from fedbary.guard.guarded_client import reply_bytes

    console = screen()
    for exchange in found:
        _show_exchange(console, exchange)
    replies = [exchange.reply for exchange in found if exchange.reply is not None]
    if not replies:
        console.print("\nNothing would be answered, and nothing was sent: the preview ran on this machine only.")
        return
    size = sum(map(reply_bytes, replies))
    console.print(
        f"\nIn all {plural(len(replies), 'answer')} of {size:,} bytes. From them the server learns", style="bold"
    )
    facts, warnings = _learned(settings, with_reference)
    console.print(bulleted([*facts, *warnings]))
    if getattr(settings, "epsilon", None) is not None:
        console.print("\nThe noise is drawn anew for every run: what is sent will differ from what is shown.")
    console.print("\nNothing was sent: the preview ran on this machine only.")


def _show_exchange(console: Console, exchange: Exchange) -> None:
    from fedbary.cli.ui.tables import table
    from fedbary.cli.ui.terminal_text import one_line
    from fedbary.guard.guarded_client import reply_bytes

    asked = f"The server asks '{one_line(exchange.message.kind)}', round {exchange.message.round}"
    if exchange.reply is None:
        console.print(f"\n{asked}: you refuse", style="bold")
        console.print(f"sent: {one_line(exchange.refusal)}")
        console.print(f"for you alone: {one_line(exchange.details)}")
        return
    reply = exchange.reply
    console.print(f"\n{asked}: you send {reply_bytes(reply):,} bytes", style="bold")
    rows: list[tuple[str, str, str]] = [
        (name, type(value).__name__, repr(value)) for name, value in reply.scalars.items()
    ]
    rows += [(name, f"{_shape(array)} {array.dtype}", _head(array)) for name, array in reply.arrays.items()]
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
    from dataclasses import asdict

    from fedbary.views.report.learned import learned

    facts: dict[str, Any] = {"protocol": settings.name, **asdict(settings)}  # type: ignore[call-overload]
    facts |= {"reference_rows": 1 if with_reference else None, "rides_on": "sketch" if with_reference else "consensus"}
    said = learned(facts)
    return ((), ()) if said is None else (said.server, said.warnings)


def _for_programs(settings: Settings, found: list[Exchange]) -> dict[str, Any]:
    from dataclasses import asdict

    from fedbary.guard.guarded_client import reply_bytes

    exchanges = []
    for exchange in found:
        content: dict[str, Any] = {"asked": exchange.message.kind, "round": exchange.message.round}
        if exchange.reply is None:
            content["refusal"] = exchange.refusal
        else:
            content |= {
                "bytes": reply_bytes(exchange.reply),
                "scalars": dict(exchange.reply.scalars),
                "arrays": {
                    name: {"shape": list(array.shape), "dtype": str(array.dtype), "values": array}
                    for name, array in exchange.reply.arrays.items()
                },
            }
        exchanges.append(content)
    options = asdict(settings)  # type: ignore[call-overload]
    return {"protocol": settings.name, "settings": options, "answers": exchanges}
