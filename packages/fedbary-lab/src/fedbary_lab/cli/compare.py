"""`fedbary compare`: the same clients by several methods, those that train and those that do not."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fedbary.cli.ui.client_files import client_paths, given_files, read_reference
from fedbary.cli.ui.interrupts import on_interrupt
from fedbary.cli.ui.options import (
    READING,
    SOME_FAILED,
    Config,
    Files,
    Json,
    Label,
    Output,
    RowId,
    Seed,
    comma_separated,
    refuse_file,
    require,
)
from fedbary.cli.ui.progress import spinner
from fedbary.cli.ui.settings_options import with_settings
from fedbary.data.options import ReadOptions
from fedbary_lab.cli.completion import methods as known_methods
from fedbary_lab.cli.models import ModelName, named_model
from fedbary_lab.cli.training_options import TRAINING, finished_parts
from fedbary_lab.training.fedavg_settings import FedAvg

_BUDGET = "Budget of each method"


@with_settings(training=TRAINING, reading=READING)
def compare(
    files: Files = None,
    *,
    label: Label = "",
    row_id: RowId = None,
    reference: Annotated[
        Path | None, typer.Option(help="The server's test rows.", metavar="FILE", show_default=False)
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Methods to compare; --list names them, and tmr@decay=0.9 sets an option of one. Default: sketch, "
            "worth, gtg, cgsv; mr and or for up to 14 clients, exactfed for up to ten. With --rows: "
            "sketch, logistic, knn-shapley, lava-exact.",
            show_default=False,
            autocompletion=known_methods,
        ),
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="Value rows instead of clients.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Say what each method does, and stop.")] = False,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="The method to measure the others by. Default: exactfed, if compared.",
            autocompletion=known_methods,
        ),
    ] = None,
    config: Config = None,  # noqa: ARG001 - its callback acts
    output: Output = Path("fedbary-compare"),
    plot: Annotated[
        bool, typer.Option("--plot", help="Also write plot.html, about 2 MB, which works offline.")
    ] = False,
    json: Json = False,
    model: ModelName = "logistic",
    training: FedAvg,
    reading: ReadOptions,
    training_log: Annotated[
        Path | None,
        typer.Option(
            help="A training-log.npz to use instead of training; it must be of these files and this model.",
            metavar="FILE",
            rich_help_panel=TRAINING.panel,
        ),
    ] = None,
    max_evaluations: Annotated[
        int | None, typer.Option(help="Coalitions to train or models to evaluate.", min=1, rich_help_panel=_BUDGET)
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Seconds; the best estimate so far counts.", rich_help_panel=_BUDGET)
    ] = None,
    seed: Seed = 0,
) -> None:
    """Say what several methods think the same clients are worth, how well they agree, and what they cost.

    All rows must be on this machine: this is for research, and for seeing what our protocols say beside the methods
    that train. FILES are as for `fedbary value`. The reference is the test set of every method that evaluates models.
    Methods that train need PyTorch, the extra `torch`. With --rows, methods that value rows are compared instead.
    """
    from fedbary_lab.cli.tables import client_methods, row_methods, show_clients, show_methods, show_rows

    if listed:
        show_methods(row_methods() if rows else client_methods(), json=json)
        return
    patterns = given_files(files)
    require(label, "cli.no-label")
    require(reference, "cli.no-test-rows-to-compare")
    assert reference is not None
    _check_output(output, rows=rows)
    paths = client_paths(patterns, apart_from=[reference])
    options: dict[str, Any] = {"methods": None if methods is None else comma_separated(methods)}
    options |= {"truth": truth, "seed": seed}
    if not rows:
        from fedbary_lab.training.training_log import TrainingLog

        options |= {"model": named_model(model), "training": replace(training, seed=seed)}
        options |= {"max_evaluations": max_evaluations, "max_seconds": max_seconds}
        options["log"] = None if training_log is None else TrainingLog.load(training_log)
    with spinner() as say, on_interrupt(lambda: finished_parts(output)):
        say("reading the files")
        from fedbary.data.files import read_clients
        from fedbary_lab.comparison import compare_clients, compare_rows

        run: Any = compare_rows if rows else compare_clients
        target = read_reference(reference, label, row_id, reading)
        clients = read_clients(paths, label, id=row_id, options=reading, reading=target.reading, errors="collect")
        result: Any = run(clients, target, **options, folder=output, progress=say)
        result.save(output)
        if plot:
            result.display().save(output / "plot.html")
    (show_rows if rows else show_clients)(result, output, json=json)
    unknown = not rows and any(math.isnan(value) for scores in result.scores.values() for value in scores.values)
    if result.failed or unknown:
        raise typer.Exit(SOME_FAILED)


def _check_output(output: Path, *, rows: bool) -> None:
    """Refuse a folder that could not be written in the end, before any work is done."""
    from fedbary_lab.comparison import client_comparison as by_client
    from fedbary_lab.comparison import row_comparison as by_row

    refuse_file(output)
    (by_row if rows else by_client).check_folder(output)
