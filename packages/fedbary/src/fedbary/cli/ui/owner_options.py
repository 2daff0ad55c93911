"""What an owner's commands have in common: a name, a policy, a ledger, and where its own results lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.data.places import is_url, place_name
from fedbary.errors import DataError

if TYPE_CHECKING:
    from fedbary.data.options import ReadOptions
    from fedbary.guard.node_config import NodeConfig

OwnName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What you call yourself to the coordinator. Default: the written file's name."),
]
PolicyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Your policy. Default: what `fedbary policy init` writes.")
]
LedgerFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Where your ledger is kept, one folder for a table. Default: in ~/.fedbary, as a node's."
    ),
]
Results = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="For your row values and report. Default: beside the ledger.")
]


def owner_config(
    table: str,
    *,
    label: str,
    row_id: str | None,
    reading: ReadOptions,
    name: str,
    policy: Path | None,
    ledger: Path | None,
    results: Path | None = None,
) -> NodeConfig:
    """What a node of this owner would be configured with: the same table has the same ledger over any engine."""
    from dataclasses import replace

    from fedbary.guard.node_config import NodeConfig

    if not is_url(table) and not Path(table).exists():
        raise DataError("data.no-file", where=table)
    options: dict[str, Any] = {"data-path": table, "label": label, "name": name}
    options |= {} if row_id is None else {"id": row_id}
    options |= {} if policy is None else {"policy": str(policy)}
    config = replace(NodeConfig.of(options, 0), reading=reading)
    if ledger is not None:
        home = ledger.parent if ledger.name == "ledger.jsonl" else ledger
        config = replace(config, home=home, output=home / "results")
    return config if results is None else replace(config, output=results)


def beside(table: str, suffix: str) -> Path:
    """Where what is made of a table is written by default: beside it, or here where it lies in a database."""
    return (Path() if is_url(table) else Path(table).parent) / f"{place_name(table)}{suffix}"


def show_ledger(config: NodeConfig) -> None:
    """Where the ledger is, and which others have questions about the same rows."""
    from fedbary.cli.ui.tables import screen
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.filling import COMMAND

    screen().print(f"ledger   {visible(config.ledger.path)}", soft_wrap=True)
    for note in config.copies():
        screen().print(f"look     {visible(note.text(COMMAND))}", soft_wrap=True)


def show_own_results(folder: Path, config: NodeConfig) -> None:
    """Where the owner finds what is its own, and why something is not there."""
    from fedbary.cli.ui.tables import screen
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.guard.owner_files import LOG

    console = screen()
    values = "rows.csv" if (folder / "rows.csv").is_file() else "rows.parquet"  # of very many rows there is no CSV
    for name, what in (("report.html", "your report"), (values, "your row values")):
        if (folder / name).is_file():
            console.print(f"yours    {visible(folder / name)}  {what}", soft_wrap=True)
    for name in ("no-row-values.txt", "no-report.txt"):
        if (folder / name).is_file():
            console.print(f"yours    {visible((folder / name).read_text(encoding='utf-8').strip())}", soft_wrap=True)
    show_ledger(config)
    if (config.home / LOG).is_file():
        console.print(f"log      {visible(config.home / LOG)}  what failed or was refused, and why", soft_wrap=True)
