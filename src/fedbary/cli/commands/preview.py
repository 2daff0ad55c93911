"""`fedbary preview`: an owner sees, number by number, what would be sent; nothing is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.client_files import read_reference
from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json, RowId
from fedbary.cli.ui.preview_screen import Exchange, for_programs, show_preview
from fedbary.cli.ui.protocol_options import chosen_protocol
from fedbary.errors import FedbaryError, SettingsError
from fedbary.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.messages import Message, Reply, Settings

_REFUSED = 2


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
    from fedbary.data.files import read
    from fedbary.guard.policy import OwnerPolicy

    name = protocol or ("sketch" if reference or message else "consensus")
    asked = chosen_protocol(name, **({} if epsilon is None else {"epsilon": epsilon}))
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
        target = None if reference is None else read_reference(reference, label, row_id).replace(origin="reference")
        found = _run(asked, settings, table, rest, target)
    if json:
        write_json(for_programs(settings, found))
    else:
        show_preview(settings, found, with_reference=bool(reference or message))
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
