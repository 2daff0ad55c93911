"""The command line: `fedbary demo`, `value`, `check` and `datasets`.

Nothing here imports NumPy or pandas before a command runs, so that `fedbary --help` answers at once.
"""

from fedbary.cli.app import main

__all__ = ["main"]
