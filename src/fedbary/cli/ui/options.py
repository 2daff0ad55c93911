"""Options that several commands share, so that they are called and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.config import use_config
from fedbary.cli.ui.session import session
from fedbary.errors import SettingsError

Files = Annotated[
    list[str] | None,
    typer.Argument(help="CSV or Parquet files, quoted globs, or a folder: one file per client.", show_default=False),
]
RowId = Annotated[str | None, typer.Option("--id", help="A column of unique row ids.", metavar="COL")]
Config = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file with any of these options; typed ones win.",
        metavar="FILE",
        is_eager=True,
        callback=use_config,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, to standard output.")]
Open = Annotated[bool, typer.Option("--open", help="Open the report in a browser.")]
SOME_FAILED = 3


def given_files(files: list[str] | None) -> list[str]:
    """The files that were typed, or else those of the configuration file; there must be some."""
    # Older typers do not look into the configuration for arguments.
    chosen = files or session().configured.get("files")
    if not chosen:
        raise SettingsError("No client was given: name CSV or Parquet files, a quoted glob or a folder.")
    return list(chosen)


def require(what: object, sentence: str) -> None:
    """Refuse with this sentence where nothing was given."""
    if not what:
        raise SettingsError(sentence)


Label = Annotated[str, typer.Option(help="The column that holds the label.", metavar="COL", show_default=False)]
Fdr = Annotated[
    float, typer.Option(help="Share of flagged rows that may be clean, on average.", rich_help_panel="Flags")
]
