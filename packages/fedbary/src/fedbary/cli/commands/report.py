"""`fedbary report`: the coordinator's report of a result, or a data owner's report of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.ui.completion import clients as known_clients
from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.image_shapes import image_shape
from fedbary.cli.ui.options import SOME_FAILED, Json, Open
from fedbary.errors import FedbaryError, SettingsError

if TYPE_CHECKING:
    from fedbary.valuation.result import ImageShape, Valuation


@dataclass(frozen=True)
class _Options:
    """What was typed about an owner's file and report."""

    data: str | None
    label: str | None
    row_id: str | None
    images: ImageShape
    output: Path | None


def report(
    folder: Annotated[Path, typer.Argument(help="A result folder of `fedbary value`, or of a node of a federation.")],
    *,
    client: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Write this client's report of its rows.", autocompletion=known_clients),
    ] = None,
    all_clients: Annotated[bool, typer.Option("--all-clients", help="Write a report for each client.")] = False,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="The client's file. Default: the one that was valued.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COL", help="Its label column. Default: the one that was used.")
    ] = None,
    row_id: Annotated[
        str | None, typer.Option("--id", metavar="COL", help="Its column of row ids. Default: the one that was used.")
    ] = None,
    images: Annotated[
        str,
        typer.Option(
            metavar="SHAPE",
            help="Rows as pictures: auto, none, HxW or HxWx3, such as 28x28.",
            autocompletion=one_of("auto", "none", "28x28", "32x32x3"),
        ),
    ] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The HTML file. Default: in the folder.")
    ] = None,
    show: Open = False,
    json: Json = False,
) -> None:
    """Write a report: one HTML file that works offline.

    Without --client it is the coordinator's: whom to include, whom to look at first, and why. It holds no row. With
    --client it is that data owner's: flagged rows and suspects with reasons and suggested labels, a map, and pictures
    where rows are images. It holds rows and is for their owner. In the folder of a federation's node it is always the
    owner's.
    """
    from fedbary.cli.ui.browser import open_file
    from fedbary.cli.ui.json import write_json
    from fedbary.cli.ui.result_folder import load_result

    options = _Options(data, label, row_id, image_shape(images), output)
    result = load_result(folder)
    owner = client or result.settings.get("owner")
    _check(options, client=owner, all_clients=all_clients)
    written: dict[str, Path] = {}
    failed: dict[str, str] = {}
    if all_clients:
        for name in result.clients["client"]:
            try:
                written[name] = _owners(result, folder, str(name), options)
            except FedbaryError as error:
                failed[name] = str(error)
        if failed and not written:
            raise SettingsError("cli.no-report-written", why=next(iter(failed.values())))
    elif owner is None:
        written["report"] = result.report(output or folder / "report.html")
    else:
        written[owner] = _owners(result, folder, owner, options)
    if json:
        write_json({"written": written, "failed": failed})
    else:
        _show(written, failed, rows=owner is not None or all_clients)
    if show:
        open_file(next(iter(written.values())))
    if failed:
        raise typer.Exit(SOME_FAILED)


def _check(options: _Options, *, client: str | None, all_clients: bool) -> None:
    about_rows = options.data or options.label or options.row_id or options.images != "auto"
    if client is None and not all_clients and about_rows:
        raise SettingsError("cli.report-of-whom")
    if all_clients and (client is not None or options.data or options.output):
        raise SettingsError("cli.all-clients-alone")


def _owners(result: Valuation, folder: Path, client: str, options: _Options) -> Path:
    """One owner's report, with its rows where their file is known."""
    from fedbary.cli.ui.result_folder import owner_report_file, source_of, valued_table

    names = result.rows(client)["row"]
    table = None
    if options.data is not None or source_of(result, client) is not None:
        table = valued_table(result, names, client, data=options.data, row_id=options.row_id, label=options.label)
    path = options.output or owner_report_file(result, folder, client)
    return result.report(path, client=client, table=table, images=options.images)


def _show(written: dict[str, Path], failed: dict[str, str], *, rows: bool) -> None:
    from fedbary.cli.ui.tables import bulleted, screen
    from fedbary.cli.ui.terminal_text import visible

    console = screen()
    for path in written.values():
        console.print(f"written  {visible(path)}", soft_wrap=True)
    if failed:
        console.print(bulleted(f"{name}: {reason}" for name, reason in failed.items()))
    if rows:
        console.print(
            "It holds rows: it is for their owner." if len(written) == 1 else "They hold rows: each is for its owner."
        )
