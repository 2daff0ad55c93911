"""`fedbary answer`: a data owner answers a question that came as a file; policy and ledger have the last word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import (
    DEVICE,
    LEDGER,
    OWN_NAME,
    OWN_TABLE,
    POLICY,
    ROW_ID,
    SOME_FAILED,
    argument,
    option,
)
from fedbary.cli.ui.settings import OWN_READING
from fedbary.data.options import ReadOptions
from fedbary.views.page import Page

if TYPE_CHECKING:
    from fedbary.protocols.messages import Message


@command("fedbary answer mine.parquet question.fb -o mine.answer", reading=OWN_READING)
def answer(
    table: str = OWN_TABLE,
    question: Path = argument("The question (.fb) or model that you were sent.", "FILE"),
    *,
    output: Path | None = option("The answer. Default: TABLE's name with .answer.", "FILE", "-o", "--output"),
    label: str | None = option("The label column. Default: the question's, or 'label'.", "COL"),
    row_id: str | None = ROW_ID,
    name: str | None = OWN_NAME,
    policy: Path | None = POLICY,
    ledger: Path | None = LEDGER,
    results: Path | None = option("For your row values and report. Default: beside the ledger.", "FOLDER"),
    device: str = DEVICE,
    reading: ReadOptions,
) -> Page:
    """Answer a question that a coordinator sent you as a file, and print everything that the answer holds.

    TABLE is your file, folder of images or database, FILE the question; `fedbary show FILE` prints what is in it.
    Your policy decides what may leave, and your ledger has a line of it before the answer is written. The same
    question gets the same answer again. What the question says of your rows is written for you at once: row values
    and a report. Nothing is sent: that is up to you. Exit code 3: you refuse, and the answer says so.
    """
    from fedbary.cli.ui.file_screen import file_page, for_programs
    from fedbary.cli.ui.owner import beside, own_result_parts, owner_config, written
    from fedbary.cli.ui.progress import progress
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
        made = answer_file(file, config)
    made.save(target)
    page, own_files = file_page(made), config.output / envelope.session
    copies = [note.text(COMMAND) for note in config.copies()]
    own = {"written": target, "results": own_files, "ledger": config.ledger.path, "copies": copies}
    parts = [*page.parts, "", written(target, ": send it to the coordinator"), *own_result_parts(own_files, config)]
    return Page(parts, for_programs(made) | own, SOME_FAILED if "failure" in made.packed.head else 0)


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
