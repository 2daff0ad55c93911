"""Options that several commands share, so that they are called and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.config import use_config
from fedbary.cli.ui.settings_options import SettingsOf
from fedbary.data.options import ReadOptions
from fedbary.errors import SettingsError

SOME_FAILED = 3

Files = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files, quoted globs, or a folder: one file per client; or one file with --client-column.",
        show_default=False,
    ),
]
OwnTable = Annotated[
    str,
    typer.Argument(
        help="Your table: a file (CSV, Parquet, Excel, …), a folder of images, or a database's URL.",
        show_default=False,
        metavar="TABLE",
    ),
]
OwnLabel = Annotated[
    str | None, typer.Option(metavar="COL", help="The label column. Default: the schema's, or 'label'.")
]
Label = Annotated[str, typer.Option(help="The column that holds the label.", metavar="COL", show_default=False)]
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
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")]
Seed = Annotated[int, typer.Option(min=0, help="Makes the run repeatable.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, to standard output.")]
OnDevice = Annotated[
    str,
    typer.Option(
        "--device",
        help="Where arithmetic on many rows runs: auto, cpu or cuda.",
        metavar="NAME",
        autocompletion=one_of("auto", "cpu", "cuda"),
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the report in a browser.")]

# How files are read: an owner's own one has no clients in it.
READING = SettingsOf(ReadOptions, panel="Reading the files")
OWN_READING = SettingsOf(ReadOptions, panel="Reading the table", without=("client_column",))


def require(what: object, code: str) -> None:
    """Refuse with this code where nothing was given."""
    if not what:
        raise SettingsError(code)


def refuse_file(output: Path) -> None:
    """Refuse an output folder that is a file."""
    if output.is_file():
        raise SettingsError("valuation.not-a-folder", path=str(output))


def comma_separated(text: str) -> list[str]:
    """The names in a list with commas.

    Examples
    --------
    >>> comma_separated("gtg, mr,")
    ['gtg', 'mr']
    """
    return [name.strip() for name in text.split(",") if name.strip()]
