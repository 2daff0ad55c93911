"""What a shell offers after Tab: names, without importing anything heavy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import typer

_LARGEST_INDEX = 10_000_000

Completer = Callable[[str], list[str]]


def one_of(*names: str) -> Completer:
    """A completion that offers these names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def several_of(*names: str) -> Completer:
    """A completion of a list with commas, which offers what is not in it yet.

    Examples
    --------
    >>> several_of("gtg", "mr")("mr,")
    ['mr,gtg']
    """

    def complete(incomplete: str) -> list[str]:
        done, _, last = incomplete.rpartition(",")
        taken = done.split(",")
        return [f"{done},{name}" if done else name for name in names if name.startswith(last) and name not in taken]

    return complete


def clients(ctx: typer.Context, incomplete: str) -> list[str]:
    """Clients with row values in the result folder that was typed."""
    # Click has not come to the arguments when the option to be completed has no value yet.
    folder = ctx.params.get("folder") or next(iter(ctx.args), "")
    try:
        index = Path(folder) / "valuation.json"
        if index.stat().st_size > _LARGEST_INDEX:
            return []
        names = json.loads(index.read_text(encoding="utf-8"))["rows"] or {}
    except (OSError, ValueError, KeyError, TypeError):  # half a command line may name anything
        return []
    # A name with a control character cannot be typed, and a shell might act on it.
    return sorted(str(name) for name in names if str(name).startswith(incomplete) and str(name).isprintable())
