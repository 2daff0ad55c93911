"""Packages of the system that tests need: installed with apt-get, where that needs no password."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence

Run = Callable[[Sequence[str]], bool]


def install(run: Run, names: Sequence[str], *, root: bool) -> None:
    """Try to install packages; whoever asked looks whether they are there."""
    may = [] if root else ["sudo", "-n"]
    if shutil.which("apt-get") and (root or (shutil.which("sudo") and run([*may, "true"]))):
        apt = [*may, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
        run([*apt, "update"])
        run([*apt, "install", "-y", "--no-install-recommends", *names])


def run_and_show(command: Sequence[str]) -> bool:
    """Run a command before the user's eyes; standard output is for the path alone."""
    print("running", *command, file=sys.stderr, flush=True)
    try:
        return subprocess.run(command, check=False, stdout=sys.stderr).returncode == 0
    except OSError:
        return False
