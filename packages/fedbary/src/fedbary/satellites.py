"""The other packages of this repository: joined to the core by entry points, and named where they are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fedbary.errors import SettingsError

# Package → the extra of fedbary that brings it.
EXTRAS = {"fedbary_flower": "flower", "fedbary_nvflare": "nvflare", "fedbary_lab": "lab"}
# What is typed at the command line although another package brings it.
COMMANDS = {"compare": "fedbary_lab", "boost": "fedbary_lab", "datasets": "fedbary_lab", "reproduce": "fedbary_lab"}


def is_missing(package: str) -> bool:
    """Whether a package of this repository is not installed."""
    return find_spec(package) is None


def missing(package: str, wanted: str) -> SettingsError:
    """What to type where something is wanted that a missing package would bring.

    Examples
    --------
    >>> str(missing("fedbary_lab", "fb.boost"))
    "fb.boost needs the package fedbary-lab, which is not installed: pip install 'fedbary[lab]'"
    """
    return SettingsError(
        "settings.package-missing", wanted=wanted, package=package.replace("_", "-"), extra=EXTRAS[package]
    )


def names_of(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`, which imports a public name from its home when it is first used.

    Where a package of this repository is missing for it, the `ImportError` says what to install.
    """

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise ImportError(str(missing(error.name, f"{module}.{name}"))) from error

    return attribute
