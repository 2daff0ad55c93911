"""`fedbary value`: value the clients whose data lie in files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.config import use_config
from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.interpolation import Interpolation
    from fedbary.valuation import Valuation

SOME_FAILED = 3
_SPACE, _PROTOCOL, _RUN = "How rows become points", "The protocol", "The run"


def value(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="CSV or Parquet files, quoted globs, or a folder: one file per client.", show_default=False
        ),
    ] = None,
    *,
    label: Annotated[str, typer.Option(help="The column that holds the label.", metavar="COL", show_default=False)],
    row_id: Annotated[str | None, typer.Option("--id", help="A column of unique row ids.", metavar="COL")] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="Validation rows to compare with. Without it: the clients' barycenter.", metavar="FILE"),
    ] = None,
    config: Annotated[  # noqa: ARG001 - its callback acts
        Path | None,
        typer.Option(
            help="A TOML file with any of these options; typed ones win.",
            metavar="FILE",
            is_eager=True,
            callback=use_config,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("fedbary-out"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, to standard output.")] = False,
    protocol: Annotated[
        str, typer.Option(metavar="NAME", help="How the parties talk: interpolation.", rich_help_panel=_PROTOCOL)
    ] = "interpolation",
    support: Annotated[
        int, typer.Option(help="Interpolated points per client and round.", rich_help_panel=_PROTOCOL)
    ] = 100,
    rounds: Annotated[int, typer.Option(help="Most rounds.", rich_help_panel=_PROTOCOL)] = 10,
    t: Annotated[
        float | None, typer.Option(help="A fixed step, between 0 and 1. Default: drawn.", rich_help_panel=_PROTOCOL)
    ] = None,
    p: Annotated[int, typer.Option(help="Order of the distance, 1 or 2.", rich_help_panel=_PROTOCOL)] = 2,
    min_group: Annotated[
        int, typer.Option(help="Fewest rows behind a point that leaves a client.", rich_help_panel=_PROTOCOL)
    ] = 5,
    interpolation: Annotated[
        str, typer.Option(metavar="MODE", help="barycentric or exact.", rich_help_panel=_PROTOCOL)
    ] = "barycentric",
    allow_reconstruction: Annotated[
        bool,
        typer.Option(
            "--allow-reconstruction", help="Permit settings that show rows to the server.", rich_help_panel=_PROTOCOL
        ),
    ] = False,
    gradient: Annotated[
        str,
        typer.Option(
            metavar="WHICH",
            help="Row values towards: eta, gamma, access, server-eta or server-gamma.",
            rich_help_panel=_PROTOCOL,
        ),
    ] = "eta",
    rule: Annotated[
        str, typer.Option(metavar="RULE", help="How rows are flagged: bh or sign.", rich_help_panel=_PROTOCOL)
    ] = "bh",
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="euclidean, within or total.", rich_help_panel=_SPACE)
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="gaussian, gaussian-full, onehot or numeric.", rich_help_panel=_SPACE),
    ] = None,
    projection: Annotated[
        str, typer.Option(metavar="N", help="auto, none or a number of directions.", rich_help_panel=_SPACE)
    ] = "auto",
    scaling: Annotated[
        str, typer.Option(metavar="NAME", help="standard, coordinate or none.", rich_help_panel=_SPACE)
    ] = "standard",
    task: Annotated[
        str, typer.Option(metavar="NAME", help="auto, classification or regression.", rich_help_panel=_SPACE)
    ] = "auto",
    missing: Annotated[
        str, typer.Option(metavar="NAME", help="Missing values: refuse or impute.", rich_help_panel=_SPACE)
    ] = "refuse",
    seed: Annotated[int, typer.Option(help="Makes the run repeatable.", rich_help_panel=_RUN)] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes. Default: as many as pay off.", rich_help_panel=_RUN)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from an interrupted run's last round.", rich_help_panel=_RUN)
    ] = False,
) -> None:
    """Value every client's data by its Wasserstein distance to a reference, or to the clients' barycenter.

    FILES are CSV or Parquet files, quoted globs or a folder. Each file is one client, called after it. A client
    whose file cannot be used is reported with the reason, and the others are valued (exit code 3). The output
    folder gets the ranked clients, the value of every row, a report.html that works offline, and what is needed to
    repeat the run.
    """
    from fedbary.cli.outcome import as_json, write_outcome
    from fedbary.cli.progress import progress

    if not files:
        raise SettingsError("No client was given: name CSV or Parquet files, a quoted glob or a folder.")
    with progress("reading the files", rounds=rounds) as listener:
        from fedbary import LocalEngine, Space, read_clients
        from fedbary import value as run
        from fedbary.cli.sources import client_paths

        settings = _protocol(
            protocol,
            support=support,
            rounds=rounds,
            t=t,
            p=p,
            min_group=min_group,
            interpolation=interpolation,
            allow_reconstruction=allow_reconstruction,
            gradient=gradient,
        )
        space = Space(
            task=task,  # type: ignore[arg-type]  # Space checks what a user typed
            scaling=scaling,  # type: ignore[arg-type]
            metric=metric,  # type: ignore[arg-type]
            labels=labels,  # type: ignore[arg-type]
            projection=int(projection) if projection.isdecimal() else projection,  # type: ignore[arg-type]
            missing=missing,  # type: ignore[arg-type]
        )
        target = None if reference is None else _read_reference(reference, label, row_id)
        clients = read_clients(client_paths(files, apart_from=reference), label, id=row_id, errors="collect")
        result = run(
            clients,
            target,
            protocol=settings,
            space=space,
            rule=rule,  # type: ignore[arg-type]
            seed=seed,
            engine=LocalEngine(workers=workers, folder=output, resume=resume),
            progress=listener,
        )
        written = write_outcome(result, output)
    if json:
        sys.stdout.write(as_json(result, written) + "\n")
    else:
        _show(result, written)
    if result.failed:
        raise typer.Exit(SOME_FAILED)


def _read_reference(path: Path, label: str, row_id: str | None) -> Table:
    """Read the reference, whose rows need no ids; but an id column that it has must not become a feature."""
    from fedbary.data.files import read

    try:
        return read(path, label, id=row_id)
    except DataError:
        if row_id is None:
            raise
        return read(path, label)


def _protocol(name: str, **settings: object) -> Interpolation:
    from fedbary.api import PROTOCOLS

    if name not in PROTOCOLS:
        raise SettingsError(f"There is no protocol {name!r}; there is {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name](**settings)


def _show(result: Valuation, written: dict[str, str]) -> None:
    from fedbary.cli.screen import file_list, ranking, remarks, screen, summary

    console = screen()
    console.print(summary(result), "", ranking(result), "", sep="\n")
    notes = remarks(result)
    if notes is not None:
        console.print(notes, "", sep="\n")
    console.print(file_list(written))
