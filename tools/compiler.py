"""The C compiler with which a test builds its shifted clock: the one that is there, or else one that is installed.

``python tools/compiler.py`` prints its path. Where there is none, it is installed with apt-get, if that needs no
password. libfaketime would need none, but Python 3.11's ``time.sleep`` fails or hangs under its release 0.9.10.
"""

from __future__ import annotations

import os
import shutil
import sys

from packages import Run, install, run_and_show


class NoCompilerError(Exception):
    """There is none, and what to do about that."""


def found() -> str:
    """The path of this machine's C compiler."""
    path = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if path is None:
        raise NoCompilerError(
            "There is no C compiler, for a test that sets a node's clock: run 'apt-get install gcc libc6-dev' as root."
        )
    return path


def found_or_installed(run: Run, *, root: bool) -> str:
    """The path of this machine's C compiler; where there is none, that of a new one."""
    try:
        return found()
    except NoCompilerError:
        install(run, ["gcc", "libc6-dev"], root=root)
    return found()


if __name__ == "__main__":
    try:
        print(found_or_installed(run_and_show, root=os.geteuid() == 0))
    except NoCompilerError as error:
        sys.exit(str(error))
