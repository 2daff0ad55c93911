"""`fedbary show`: all that is in a file which is sent or was received, in words."""

from __future__ import annotations

from pathlib import Path

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import argument
from fedbary.views.page import Page


@command("fedbary show mine.card")
def show(file: Path = argument("A question (.fb), answer, card or model.", "FILE")) -> Page:
    """Print everything that a question, an answer, a card or a model holds.

    FILE is what you are about to send, or what you were sent: nothing else is in it. Arrays are shown by their name,
    size and range; --json prints every number.
    """
    from fedbary.cli.ui.file_screen import file_page
    from fedbary.engines.files.message_file import MessageFile

    return file_page(MessageFile.load(file))
