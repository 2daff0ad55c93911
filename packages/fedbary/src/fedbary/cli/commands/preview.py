"""`fedbary preview`: an owner sees, number by number, what would be sent; nothing is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.client_files import read_reference
from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import LABEL_COLUMN, OWN_TABLE, ROW_ID, one_of, option
from fedbary.cli.ui.preview_screen import Rehearsed, for_programs, preview_parts
from fedbary.cli.ui.results import guess_parts
from fedbary.cli.ui.settings import OWN_READING, chosen_protocol
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError, SettingsError
from fedbary.protocols.registry import DEFAULT, PROTOCOLS
from fedbary.views.page import Page

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.messages import Message, Settings

_REFUSED = 2


@command(
    "fedbary preview mine.parquet --label diagnosis --reference like-theirs.parquet",
    reading=OWN_READING,
)
def preview(
    table: str = OWN_TABLE,
    *,
    label: str = LABEL_COLUMN,
    row_id: str | None = ROW_ID,
    protocol: str | None = option(
        "cards (default), sketch (default with a message), …", "NAME", complete=one_of(*PROTOCOLS)
    ),
    reference: Path | None = option("Rows that stand for the server's reference.", "FILE"),
    message: Path | None = option("The question that the coordinator sent (.fb).", "FILE"),
    others: list[Path] | None = option("Another client's file; may be repeated.", "FILE", "--with"),
    policy: Path | None = option("Your policy file. Default: defaults that allow the protocol.", "FILE"),
    min_group: int | None = option("What the server asks for. Default: your policy's."),
    epsilon: float | None = option(
        "sketch: the ε that the server asks for. Default: the most your policy allows, or none."
    ),
    reading: ReadOptions,
) -> Page:
    """Print what your machine would send to a server: every number, how many bytes, and what the server learns by it.

    TABLE is your file, folder of images or database. The server's half of the protocol runs here, too, with the
    rows of --reference, or without them with the files that you name by --with; or give the question that its
    coordinator sent as a file. Nothing is sent, and nothing is written. Exit code 2: your policy or your data would
    refuse.
    """
    from fedbary.data.files import read, read_any_cells
    from fedbary.filling import COMMAND
    from fedbary.guard.policy import OwnerPolicy
    from fedbary.space.encode import require_readable
    from fedbary.space.schema import Schema

    name = protocol or ("sketch" if message else DEFAULT)
    private = {} if epsilon is None else {"epsilon": epsilon}
    chosen_protocol(name, private)  # refuses what the protocol does not have
    willing = OwnerPolicy(protocols=(name,))
    own = willing if policy is None else OwnerPolicy.load(policy)
    asked = replace(own.most_telling(name, min_group), **private)
    _check_sources(asked, reference, message, others)
    settings = own.applied(asked)
    saved, agreed = None, None
    if message is not None:
        from fedbary.engines.files.message_file import FileKind, MessageFile

        saved, _ = MessageFile.load(message, FileKind.QUESTION, FileKind.MODEL).message()
        if "schema" in saved.scalars:
            agreed = Schema.from_json(str(saved.scalars["schema"])).whole_reading
    target = None
    if reference is not None:
        target = read_reference(reference, label, row_id, reading).replace(origin="reference")
        agreed = target.reading
    how: dict[str, Any] = {"id": row_id, "options": reading, "reading": agreed}
    rest = [read(place, label, **how) for place in others or ()]
    own_rows: Table | DataError
    try:  # as the node would
        own_rows = (read if getattr(settings, "epsilon", None) is None else read_any_cells)(table, label, **how)
        if asked.name != "cards":  # which asks for a card before there is a schema
            require_readable(own_rows, agreed or ())
    except DataError as error:
        if agreed is None:
            raise
        own_rows = error
    found = _rehearse(asked, settings, [own_rows, *rest], target, saved)
    guesses = [] if isinstance(own_rows, DataError) else [note.text(COMMAND) for note in own_rows.notes]
    parts = preview_parts(settings, found, own, with_reference=bool(reference or message), supposed=policy is None)
    refused = any(exchange.refusal is not None for exchange in found)
    data = for_programs(settings, found) | {"guesses": guesses}
    return Page([*guess_parts(guesses), *parts], data, _REFUSED if refused else 0)


def _check_sources(asked: Settings, reference: Path | None, message: Path | None, others: list[Path] | None) -> None:
    if message is not None and (reference is not None or others):
        raise SettingsError("cli.message-alone")
    if message is None and reference is None and asked.needs_reference:
        raise SettingsError("cli.preview-needs-reference", protocol=asked.name)


def _rehearse(
    asked: Settings,
    settings: Settings,
    tables: list[Table | DataError],
    reference: Table | None,
    message: Message | None,
) -> list[Rehearsed]:
    """One message, or the whole protocol, in this process; returns what concerns the first client."""
    import secrets

    from fedbary.engines.local import PreviewEngine, one_thread
    from fedbary.engines.run import Work, run
    from fedbary.protocols.messages import Failure
    from fedbary.valuation.rows import RowRules

    rules, engine = RowRules(), PreviewEngine()
    named = {f"client {index}": table for index, table in enumerate(tables)}
    with one_thread():
        names = engine.clients(Work(settings, rules, named, secrets.randbits(48)), {})
        if message is not None:
            engine.exchange({names[0]: message})
        else:
            server = asked.server(names, reference, asked.space(None), rules=rules, seed=secrets.randbits(48))
            run(server, engine)
    return [
        Rehearsed(sent, None, answer) if isinstance(answer, Failure) else Rehearsed(sent, answer, None)
        for sent, answer in engine.recorded
    ]
