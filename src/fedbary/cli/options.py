"""Options that several commands share, so that they are called and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.config import use_config

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
NO_FILES = "No client was given: name CSV or Parquet files, a quoted glob or a folder."
SOME_FAILED = 3
