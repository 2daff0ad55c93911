"""The command line: one file per command.

Nothing here imports NumPy or pandas before a command runs, so that `fedbary --help` answers at once.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # Not before: the application takes over the commands of other packages, which stand on `fedbary.cli.ui`.
    from fedbary.cli.app import main as run

    return run(arguments)
