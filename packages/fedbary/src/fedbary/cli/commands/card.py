"""`fedbary card`: an owner makes the card of a table, once; all that is in it is printed."""

from __future__ import annotations

from pathlib import Path

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import DEVICE, LEDGER, OWN_LABEL, OWN_NAME, OWN_TABLE, POLICY, ROW_ID, one_of, option
from fedbary.cli.ui.settings import OWN_READING
from fedbary.data.options import ReadOptions
from fedbary.space.options import Task
from fedbary.views.page import Line, Page


@command("fedbary card mine.parquet --label diagnosis -o mine.card", reading=OWN_READING)
def card(
    table: str = OWN_TABLE,
    *,
    label: str | None = OWN_LABEL,
    row_id: str | None = ROW_ID,
    epsilon: float | None = option("Differential privacy: the smaller, the more noise. Needs --schema."),
    delta: float = option("The δ that goes with --epsilon.", default=1e-6),
    schema: Path | None = option("Public coordinates, from `fedbary schema make`.", "FILE"),
    min_group: int = option("Fewest different rows behind anything in the card.", min=1, default=5),
    task: str = option("classification, regression or auto.", "NAME", default="auto", complete=one_of("auto")),
    name: str | None = OWN_NAME,
    policy: Path | None = POLICY,
    ledger: Path | None = LEDGER,
    output: Path | None = option("The card. Default: TABLE's name with .card.", "FILE", "-o", "--output"),
    device: str = DEVICE,
    reading: ReadOptions,
) -> Page:
    """Make the card of your table: counts, sums and products of its classes and columns, and no row.

    TABLE is your file, folder of images or database. One card answers every later question of a coordinator, and
    nobody can steer what is in it; all of it is printed. Your policy decides whether it may leave, and your ledger
    has a line of it. The same command gives the same card again, without counting. Nothing is sent: that is up to
    you.
    """
    from fedbary.cli.ui.file_screen import file_page, for_programs
    from fedbary.cli.ui.owner import beside, ledger_parts, owner_config, written
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.results import guess_parts
    from fedbary.cli.ui.terminal import show
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
        show(Line(f"log      {config.home / LOG}  what was refused, and why", whole=True))
        raise as_error(made)
    made.save(target)
    page, copies = file_page(made), [note.text(COMMAND) for note in config.copies()]
    own = {"guesses": guesses, "written": target, "ledger": config.ledger.path, "copies": copies}
    end = ["", written(target, ": send it to the coordinator"), *ledger_parts(config)]
    return Page([*page.parts, *guess_parts(guesses), *end], for_programs(made) | own)
