"""The command line: one file per command.

Nothing here imports NumPy or pandas before a command runs, so that `fedbary --help` answers at once.
"""

from fedbary.cli.app import main

__all__ = ["main"]
