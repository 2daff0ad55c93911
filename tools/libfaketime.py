"""The library with which tests set a program's clock: the one that is there, or else one that is installed.

``python tools/libfaketime.py`` prints its path. Where there is none, it is installed with apt-get, if that needs no
password. FEDBARY_LIBFAKETIME names another one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from packages import Run, install, run_and_show

# Debian has a folder for each kind of processor.
PLACES = ("usr/lib/*/faketime", "usr/lib/faketime", "usr/lib64/faketime", "usr/local/lib/faketime")
FILE = "libfaketime.so.1"


class NoLibfaketimeError(Exception):
    """There is none, and what to do about that."""


def found(root: Path = Path("/")) -> str:
    """The path of this machine's libfaketime."""
    path = _find(root)
    if path is None:
        raise NoLibfaketimeError(
            "There is no libfaketime, with which a test sets a node's clock: run 'apt-get install libfaketime' as "
            f"root, or set FEDBARY_LIBFAKETIME to the path of its {FILE}."
        )
    return path


def found_or_installed(run: Run, *, root: bool) -> str:
    """The path of this machine's libfaketime; where there is none, that of a new one."""
    if _find(Path("/")) is None:
        install(run, ["libfaketime"], root=root)
    return found()


def _find(root: Path) -> str | None:
    named = os.environ.get("FEDBARY_LIBFAKETIME")
    return named or next((str(file) for place in PLACES for file in root.glob(f"{place}/{FILE}")), None)


if __name__ == "__main__":
    try:
        print(found_or_installed(run_and_show, root=os.geteuid() == 0))
    except NoLibfaketimeError as error:
        sys.exit(str(error))
