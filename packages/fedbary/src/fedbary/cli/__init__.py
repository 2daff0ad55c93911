"""The command line: one file per command.

Nothing here imports NumPy or pandas before a command runs, so that `fedbary --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if arguments is None:
        _without_this_folder()
    # Not before: the application takes over the commands of other packages, which stand on `fedbary.cli.ui`.
    from fedbary.cli.app import main as run

    return run(arguments)


def _without_this_folder() -> None:
    """Files of the folder in which a command is typed are no modules, here and in every Python that is started.

    ``python -m`` without ``-P`` looks there before any of this runs.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):  # noqa: PTH109 - as Python writes it
        del sys.path[0]
