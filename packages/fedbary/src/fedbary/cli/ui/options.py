"""Options: declared once each, called and explained alike in every command; and what a shell offers after Tab."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from fedbary.errors import SettingsError
from fedbary.protocols.registry import PROTOCOLS

SOME_FAILED = 3
_LARGEST_INDEX = 10_000_000
# How an option that takes several names is shown.
LIST = "A,B,…"

Completer = Callable[[str], list[str]]


def option(
    words: str,
    metavar: str | None = None,
    *names: str,
    default: Any = None,
    panel: str | None = None,
    complete: Callable[..., list[str]] | None = None,
    **more: Any,
) -> Any:
    """An option as the default of a command's parameter: what it says, what stands for its value, what it is called."""
    return typer.Option(
        default, *names, help=words, metavar=metavar, rich_help_panel=panel, autocompletion=complete, **more
    )


def flag(name: str, words: str, *, default: bool | None = False, **more: Any) -> Any:
    """An option without a value."""
    return option(words, None, name, default=default, **more)


def argument(words: str, metavar: str | None = None, default: Any = ..., **more: Any) -> Any:
    """An argument as the default of a command's parameter."""
    return typer.Argument(default, help=words, metavar=metavar, show_default=default not in (..., None), **more)


def one_of(*names: str) -> Completer:
    """A completion that offers these names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def several_of(*names: str) -> Completer:
    """A completion of a list with commas, which offers what is not in it yet."""

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


def comma_separated(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def require(what: object, code: str) -> None:
    """Refuse with this code where nothing was given."""
    if not what:
        raise SettingsError(code)


def refuse_file(output: Path) -> None:
    """Refuse an output folder that is a file."""
    if output.is_file():
        raise SettingsError("valuation.not-a-folder", path=str(output))


def output_folder(default: str) -> Any:
    return option("Folder to write to.", None, "-o", "--output", default=Path(default))


FILES = argument(
    "Files, quoted globs, or a folder: one file per client; or one file with --client-column.", default=None
)
OWN_TABLE = argument("Your table: a file (CSV, Parquet, Excel, …), a folder of images, or a database's URL.", "TABLE")
OWN_LABEL = option("The label column. Default: the schema's, or 'label'.", "COL")
LABEL_COLUMN = option("The label column.", "COL", default="label")
ROW_ID = option("A column of unique row ids.", "COL", "--id")
SEED = option("Makes the run repeatable.", min=0, default=0)
DEVICE = option(
    "Where arithmetic on many rows runs: auto, cpu or cuda.",
    *("NAME", "--device"),
    default="auto",
    complete=one_of("auto", "cpu", "cuda"),
)
OPEN = flag("--open", "Open the report in a browser.")
PROTOCOL = option(
    "cards (default), sketch (only scalars leave a client), or interpolation (the paper's).",
    "NAME",
    panel="The protocol",
    complete=one_of(*PROTOCOLS),
)
# What an owner's commands have in common.
OWN_NAME = option("What you call yourself to the coordinator. Default: the written file's name.", "NAME")
POLICY = option("Your policy. Default: what `fedbary policy init` writes.", "FILE")
LEDGER = option("Where your ledger is kept, one folder for a table. Default: in ~/.fedbary, as a node's.", "FOLDER")
LEDGER_FILE = argument("The ledger of your node, such as ledger.jsonl.")
