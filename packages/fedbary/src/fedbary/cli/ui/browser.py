"""Showing a file in the user's browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_OFF = "FEDBARY_NO_BROWSER"


def open_file(path: Path) -> bool:
    """Open a file in the browser of this machine; returns whether one was started.

    Where none can be, it says on standard error where the file is, and the command goes on. ``FEDBARY_NO_BROWSER=1``
    keeps every command from opening anything, for scripts and tests.
    """
    if os.environ.get(_OFF) == "1":
        return False
    if has_screen() and _opened(path.resolve().as_uri()):
        return True
    from fedbary.cli.ui.terminal_text import visible

    print(f"no browser could be opened: the report is {visible(path.resolve())}", file=sys.stderr)
    return False


def has_screen() -> bool:
    """Whether a window can be opened; without a screen Python would choose a browser that takes over the terminal."""
    if sys.platform in ("darwin", "win32") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("WSL_DISTRO_NAME"))


def _opened(address: str) -> bool:
    import webbrowser

    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
