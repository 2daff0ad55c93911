"""`fedbary show`: all that is in a file which is sent or was received, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json


def show(
    file: Annotated[
        Path, typer.Argument(help="A question (.fb), answer, card or model.", show_default=False, metavar="FILE")
    ],
    json: Json = False,
) -> None:
    """Print everything that a question, an answer, a card or a model holds.

    FILE is what you are about to send, or what you were sent: nothing else is in it. Arrays are shown by their name,
    size and range; --json prints every number.
    """
    from fedbary.cli.ui.file_screen import for_programs, show_file
    from fedbary.engines.files.message_file import MessageFile

    found = MessageFile.load(file)
    if json:
        write_json(for_programs(found))
    else:
        show_file(found)
