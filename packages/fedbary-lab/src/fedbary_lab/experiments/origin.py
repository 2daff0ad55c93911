"""The code that computes a table: the commit of the repository, and the versions of what the numbers depend on."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import fedbary

PACKAGES = ("numpy", "scipy", "POT", "scikit-learn", "torch", "pandas")


def commit() -> str:
    """The commit of the repository that this package lies in; without one, the version of the package.

    Examples
    --------
    >>> commit() != ""
    True
    """
    home = Path(fedbary.__file__).parent
    # A package that is installed inside of somebody else's repository is no part of it.
    tracked = _git(home, "ls-files", "--error-unmatch", "__init__.py")
    found = _git(home, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*") if tracked else ""
    return found or f"fedbary {fedbary.__version__}"


def versions() -> dict[str, str]:
    """Python and the packages that numbers depend on, those that are there.

    Examples
    --------
    >>> list(versions())[:2]
    ['python', 'numpy']
    """
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _git(home: Path, *words: str) -> str:
    try:
        command = ["git", "-C", str(home), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    except OSError:  # no git on this machine
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
