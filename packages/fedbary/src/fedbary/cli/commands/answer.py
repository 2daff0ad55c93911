"""`fedbary answer`: a data owner answers a question that came as a file; policy and ledger have the last word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import OWN_READING, SOME_FAILED, Json, OnDevice, OwnTable, RowId
from fedbary.cli.ui.owner_options import LedgerFolder, OwnName, PolicyFile, Results
from fedbary.cli.ui.settings_options import with_settings
from fedbary.data.options import ReadOptions

if TYPE_CHECKING:
    from fedbary.protocols.messages import Message


@with_settings(reading=OWN_READING)
def answer(
    table: OwnTable,
    question: Annotated[
        Path, typer.Argument(help="The question (.fb) or model that you were sent.", show_default=False, metavar="FILE")
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The answer. Default: TABLE's name with .answer."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COL", help="The label column. Default: the question's, or 'label'.")
    ] = None,
    row_id: RowId = None,
    name: OwnName = None,
    policy: PolicyFile = None,
    ledger: LedgerFolder = None,
    results: Results = None,
    device: OnDevice = "auto",
    reading: ReadOptions,
    json: Json = False,
) -> None:
    """Answer a question that a coordinator sent you as a file, and print everything that the answer holds.

    TABLE is your file, folder of images or database, FILE the question; `fedbary show FILE` prints what is in it.
    Your policy decides what may leave, and your ledger has a line of it before the answer is written. The same
    question gets the same answer again. What the question says of your rows is written for you at once: row values
    and a report. Nothing is sent: that is up to you. Exit code 3: you refuse, and the answer says so.
    """
    from fedbary.cli.ui.file_screen import for_programs, show_file
    from fedbary.cli.ui.owner_options import beside, owner_config, show_own_results
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.tables import screen
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.compute import computing_on
    from fedbary.engines.files.message_file import FileKind, MessageFile
    from fedbary.engines.files.owner import answer_file
    from fedbary.engines.local import one_thread
    from fedbary.filling import COMMAND

    file = MessageFile.load(question, FileKind.QUESTION, FileKind.MODEL)
    message, envelope = file.message()
    target = output or beside(table, FileKind.ANSWER.suffix)
    FileKind.ANSWER.check(target)  # before anything counts
    config = owner_config(
        table,
        label=label or label_of(message),
        row_id=row_id,
        reading=reading,
        name=name or target.stem,
        policy=policy,
        ledger=ledger,
        results=results,
    )
    with progress("answering"), one_thread(), computing_on(device, "answer"):
        written = answer_file(file, config)
    written.save(target)
    own_files = config.output / envelope.session
    if json:
        copies = [note.text(COMMAND) for note in config.copies()]
        own = {"written": target, "results": own_files, "ledger": config.ledger.path, "copies": copies}
        write_json(for_programs(written) | own)
    else:
        show_file(written)
        screen().print(f"\nwritten  {visible(target)}: send it to the coordinator", soft_wrap=True)
        show_own_results(own_files, config)
    if "failure" in written.packed.head:
        raise typer.Exit(SOME_FAILED)


def label_of(message: Message) -> str:
    """The label column of a question's schema; its usual name where there is none."""
    from fedbary.errors import FedbaryError
    from fedbary.space.schema import Schema

    if "schema" not in message.scalars:
        return "label"
    try:
        return Schema.from_json(str(message.scalars["schema"])).label.name
    except FedbaryError:
        return "label"  # the refusal is the owner's half's to say
