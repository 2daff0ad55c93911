"""The Chromium in which reports are tested and photographed: one that is there, or else one that is installed.

``python tools/chromium.py`` prints its path. Looked for, in this order: the program that FEDBARY_CHROMIUM names; a
Chromium or Chrome on the PATH; Playwright's own. Where none starts, one is installed with apt-get, if that needs no
password, or else downloaded by Playwright.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

from packages import Run, install, run_and_show

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium", "fontconfig", "fonts-noto-core")
# Switched off so that whatever is requested is requested by the page.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PLAYWRIGHTS_OWN = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


class NoChromiumError(Exception):
    """There is none, and what to do about that."""


def found() -> str:
    """The path of the Chromium of this machine."""
    path = _find()
    if path is None:
        raise NoChromiumError("There is no Chromium on this machine: 'python tools/chromium.py' installs one.")
    return path


def found_or_installed(run: Run, *, root: bool) -> str:
    """The path of the Chromium of this machine; where there is none, that of a new one."""
    path = _find()
    if path is None:
        install(run, PACKAGES, root=root)
        path = _find()
    if path is None:
        run([sys.executable, "-m", "playwright", "install", "chromium"])
        path = _find()
    if path is None:
        raise NoChromiumError(
            "There is no Chromium to look at the reports in, and none could be installed: run "
            "'apt-get install chromium' as root, or set FEDBARY_CHROMIUM to the program of a Chromium or Chrome."
        )
    return path


def _find() -> str | None:
    named = os.environ.get("FEDBARY_CHROMIUM")
    if named and not _starts(named):
        raise NoChromiumError(f"FEDBARY_CHROMIUM is '{named}', which does not start: name another program or unset it.")
    return named or next(filter(_starts, _candidates()), None)


def _starts(path: str) -> bool:
    """Whether the program can say its version: some systems have only a note about another package in its place."""
    try:
        return subprocess.run([path, "--version"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _candidates() -> Iterator[str]:
    yield from filter(None, map(shutil.which, NAMES))
    # In a process of its own, because two Playwrights in one get in each other's way.
    asked = subprocess.run([sys.executable, "-c", PLAYWRIGHTS_OWN], check=False, capture_output=True, text=True)
    if asked.returncode == 0:
        yield asked.stdout.strip()


if __name__ == "__main__":
    try:
        print(found_or_installed(run_and_show, root=os.geteuid() == 0))
    except NoChromiumError as error:
        sys.exit(str(error))
