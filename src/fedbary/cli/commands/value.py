"""`fedbary value`: value the clients whose data lie in files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.ui.completion import PROTOCOLS, one_of
from fedbary.cli.ui.interrupts import kept
from fedbary.cli.ui.options import SOME_FAILED, Config, Fdr, Files, Json, Label, Open, RowId, given_files
from fedbary.errors import DataError

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation import Valuation

_SPACE, _PROTOCOL, _FLAGS, _RUN = "How rows become points", "The protocol", "Flags", "The run"


def value(
    files: Files = None,
    *,
    label: Label,
    row_id: RowId = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="Validation rows to compare with. Without it: the clients' barycenter.", metavar="FILE"),
    ] = None,
    config: Config = None,  # noqa: ARG001 - its callback acts
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("fedbary-out"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")] = True,
    show: Open = False,
    json: Json = False,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="sketch (default with a reference), consensus (default without), coalition (Shapley values), "
            "interpolation (the paper's) or triangle.",
            rich_help_panel=_PROTOCOL,
            autocompletion=one_of(*PROTOCOLS),
        ),
    ] = None,
    support: Annotated[
        int | None, typer.Option(help="Points of the sketch, or of the measure in between.", rich_help_panel=_PROTOCOL)
    ] = None,
    min_group: Annotated[
        int | None,
        typer.Option(help="Fewest rows behind anything that leaves a party. Default: 5.", rich_help_panel=_PROTOCOL),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="sketch: differential privacy of the clients' answers.", rich_help_panel=_PROTOCOL),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="sketch: trusted, coarsen or dp; coalition: not dp.", rich_help_panel=_PROTOCOL
        ),
    ] = None,
    lower: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="sketch: lower end, improved or triangle.", rich_help_panel=_PROTOCOL),
    ] = None,
    adapt: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="sketch: correct flags for another class mix, both (default), labels or none.",
            rich_help_panel=_PROTOCOL,
        ),
    ] = None,
    points_per_class: Annotated[
        int | None,
        typer.Option(help="consensus, coalition: most points or groups of a class.", rich_help_panel=_PROTOCOL),
    ] = None,
    utility: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="coalition: mean (default), ridge, soft, wasserstein or coverage.",
            rich_help_panel=_PROTOCOL,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="consensus: robust, uniform or rows.", rich_help_panel=_PROTOCOL),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="interpolation, consensus: most rounds.", rich_help_panel=_PROTOCOL)
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="interpolation, consensus: when to stop early.", rich_help_panel=_PROTOCOL),
    ] = None,
    t: Annotated[
        float | None,
        typer.Option(help="interpolation, triangle: a fixed step between 0 and 1.", rich_help_panel=_PROTOCOL),
    ] = None,
    p: Annotated[
        int | None, typer.Option(help="interpolation: order of the distance, 1 or 2.", rich_help_panel=_PROTOCOL)
    ] = None,
    interpolation: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="interpolation: barycentric or exact.", rich_help_panel=_PROTOCOL),
    ] = None,
    allow_reconstruction: Annotated[
        bool,
        typer.Option(
            "--allow-reconstruction",
            help="interpolation, triangle: permit settings that show rows to the server.",
            rich_help_panel=_PROTOCOL,
        ),
    ] = False,
    gradient: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            help="interpolation: row values towards eta, gamma, access, server-eta or server-gamma.",
            rich_help_panel=_PROTOCOL,
        ),
    ] = None,
    fdr: Fdr = 0.1,
    calibration: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="split (guarantee) or crossfit (more power, no proof).",
            rich_help_panel=_FLAGS,
        ),
    ] = "split",
    rule: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="bh (false-discovery rate) or sign (the paper's: positive gradient).",
            rich_help_panel=_FLAGS,
        ),
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
    label_weight: Annotated[
        float | None, typer.Option(help="Squared distance of two labels. Default: fitted.", rich_help_panel=_SPACE)
    ] = None,
    shrinkage: Annotated[
        float, typer.Option(help="Share of the identity in the covariance.", rich_help_panel=_SPACE)
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Makes the run repeatable.", rich_help_panel=_RUN)] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Clients to work on at a time. Default: all cores.", rich_help_panel=_RUN)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from an interrupted run's last round.", rich_help_panel=_RUN)
    ] = False,
) -> None:
    """Value every client's data by its Wasserstein distance to a reference, or to the clients' barycenter.

    With --protocol coalition a client is valued by what it adds to the others (Shapley values, no training).

    FILES are CSV or Parquet files, quoted globs or a folder. Each file is one client, called after it. A client
    whose file cannot be used is reported with the reason, and the others are valued (exit code 3). The output
    folder gets the ranked clients, the value of every row, a report.html that works offline, and what is needed to
    repeat the run.
    """
    from fedbary.cli.ui.browser import open_file
    from fedbary.cli.ui.json import write_json
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.written_result import for_programs, with_sources, write_outcome
    from fedbary.valuation.storage import check_output
    from fedbary.views.report.write import check_report

    named = given_files(files)
    check_output(output)
    if report:
        check_report(output / "report.html")
    with progress("reading the files") as listener, kept(lambda: _kept(output)):
        from fedbary import LocalEngine, Space, read_clients
        from fedbary import value as run
        from fedbary.cli.ui.chosen_protocol import chosen_protocol
        from fedbary.cli.ui.client_files import client_paths

        settings = chosen_protocol(
            protocol or ("consensus" if reference is None else "sketch"),
            support=support,
            min_group=min_group,
            epsilon=epsilon,
            policy=policy,
            lower=lower,
            adapt=adapt,
            points_per_class=points_per_class,
            utility=utility,
            weights=weights,
            rounds=rounds,
            tolerance=tolerance,
            t=t,
            p=p,
            interpolation=interpolation,
            allow_reconstruction=allow_reconstruction or None,
            gradient=gradient,
        )
        space = Space(
            task=task,  # type: ignore[arg-type]  # Space checks what a user typed
            scaling=scaling,  # type: ignore[arg-type]
            metric=metric,  # type: ignore[arg-type]
            shrinkage=shrinkage,
            labels=labels,  # type: ignore[arg-type]
            label_weight=label_weight,
            projection=int(projection) if projection.isdecimal() else projection,  # type: ignore[arg-type]
            missing=missing,  # type: ignore[arg-type]
        )
        options: dict[str, object] = {
            "protocol": settings,
            "space": space,
            "fdr": fdr,
            "rule": rule,
            "calibration": calibration,
        }
        options["seed"] = seed
        paths = client_paths(named, apart_from=reference)
        target = None if reference is None else read_reference(reference, label, row_id)
        result = run(
            read_clients(paths, label, id=row_id, errors="collect"),
            target,
            **options,  # type: ignore[arg-type]  # value checks what a user typed
            engine=LocalEngine(workers=workers, folder=output, resume=resume),
            progress=listener,
        )
        written = write_outcome(with_sources(result, paths, label, row_id), output, report=report)
    if json:
        write_json(for_programs(result, written))
    else:
        _show(result, written)
    if show and report:
        open_file(Path(written["report"]))
    if result.failed or result.without_rows:
        raise typer.Exit(SOME_FAILED)


def _kept(output: Path) -> str:
    """What an interrupted run leaves, and how to go on."""
    from fedbary.cli.ui.session import session
    from fedbary.engines.checkpoint import NAME

    try:
        fresh = time.time() - (output / NAME).stat().st_mtime <= session().elapsed()
    except OSError:
        fresh = False
    if not fresh and "--resume" not in session().arguments:
        return "interrupted: no round was finished, nothing was kept"
    return f"interrupted: the finished rounds are kept in {output}; go on with\n  {session().again('--resume')}"


def read_reference(path: Path, label: str, row_id: str | None) -> Table:
    """Read the reference, whose rows need no ids; but an id column that it has must not become a feature."""
    from fedbary.data.files import read

    try:
        return read(path, label, id=row_id)
    except DataError:
        if row_id is None:
            raise
        return read(path, label)


def _show(result: Valuation, written: dict[str, str]) -> None:
    from fedbary.cli.ui.tables import file_list, ranking, remarks, screen, summary

    console = screen()
    console.print(summary(result), "", ranking(result), "", sep="\n")
    notes = remarks(result)
    if notes is not None:
        console.print(notes, "", sep="\n")
    console.print(file_list(written))
