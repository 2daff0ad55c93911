"""`fedbary card`: an owner makes the card of a table, once; all that is in it is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import OWN_READING, Json, OnDevice, OwnLabel, OwnTable, RowId
from fedbary.cli.ui.owner_options import LedgerFolder, OwnName, PolicyFile
from fedbary.cli.ui.settings_options import with_settings
from fedbary.data.options import ReadOptions
from fedbary.space.options import Task


@with_settings(reading=OWN_READING)
def card(
    table: OwnTable,
    *,
    label: OwnLabel = None,
    row_id: RowId = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Differential privacy: the smaller, the more noise. Needs --schema.")
    ] = None,
    delta: Annotated[float, typer.Option(help="The δ that goes with --epsilon.")] = 1e-6,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Public coordinates, from `fedbary schema make`.")
    ] = None,
    min_group: Annotated[int, typer.Option(min=1, help="Fewest different rows behind anything in the card.")] = 5,
    task: Annotated[
        str, typer.Option(metavar="NAME", help="classification, regression or auto.", autocompletion=one_of("auto"))
    ] = "auto",
    name: OwnName = None,
    policy: PolicyFile = None,
    ledger: LedgerFolder = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The card. Default: TABLE's name with .card.")
    ] = None,
    device: OnDevice = "auto",
    reading: ReadOptions,
    json: Json = False,
) -> None:
    """Make the card of your table: counts, sums and products of its classes and columns, and no row.

    TABLE is your file, folder of images or database. One card answers every later question of a coordinator, and
    nobody can steer what is in it; all of it is printed. Your policy decides whether it may leave, and your ledger
    has a line of it. The same command gives the same card again, without counting. Nothing is sent: that is up to
    you.
    """
    from fedbary.cli.ui.file_screen import for_programs, show_file
    from fedbary.cli.ui.owner_options import beside, owner_config, show_ledger
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.tables import screen, show_guesses
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.compute import computing_on
    from fedbary.engines.files.message_file import FileKind
    from fedbary.engines.files.owner import make_card
    from fedbary.engines.local import one_thread
    from fedbary.errors import wrong_parameter
    from fedbary.filling import COMMAND
    from fedbary.guard.guarded_client import as_error
    from fedbary.guard.owner_files import LOG
    from fedbary.protocols.cards import Cards
    from fedbary.protocols.messages import Failure
    from fedbary.space.schema import Schema

    agreed = None if schema is None else Schema.load(schema)
    tasks: dict[str, Task] = {"auto": "auto", "classification": "classification", "regression": "regression"}
    if task not in tasks:
        raise wrong_parameter("task", "card", f"one of {', '.join(tasks)}", task)
    target = output or beside(table, FileKind.CARD.suffix)
    FileKind.CARD.check(target)  # before anything counts
    config = owner_config(
        table,
        label=label or ("label" if agreed is None else agreed.label.name),
        row_id=row_id,
        reading=reading,
        name=name or target.stem,
        policy=policy,
        ledger=ledger,
    )
    settings = Cards(min_group=min_group, epsilon=epsilon, delta=delta, policy="guarded" if epsilon is None else "dp")
    guesses: list[str] = []
    with progress("adding up"), one_thread(), computing_on(device, "card"):
        made = make_card(
            config,
            settings,
            schema=agreed,
            task=tasks[task],
            seen=lambda read: guesses.extend(note.text(COMMAND) for note in read.notes),
        )
    if isinstance(made, Failure):
        if not json:
            screen().print(f"log      {visible(config.home / LOG)}  what was refused, and why", soft_wrap=True)
        raise as_error(made)
    made.save(target)
    if json:
        copies = [note.text(COMMAND) for note in config.copies()]
        own = {"guesses": guesses, "written": target, "ledger": config.ledger.path, "copies": copies}
        write_json(for_programs(made) | own)
        return
    show_file(made)
    show_guesses(screen(), guesses)
    screen().print(f"\nwritten  {visible(target)}: send it to the coordinator", soft_wrap=True)
    show_ledger(config)
