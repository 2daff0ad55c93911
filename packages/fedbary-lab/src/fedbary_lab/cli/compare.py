"""`fedbary compare`: the same clients by several methods, those that train and those that do not."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedbary.cli.ui.command import CONFIG, command
from fedbary.cli.ui.inputs import client_paths, given_files, read_reference
from fedbary.cli.ui.options import (
    FILES,
    LIST,
    ROW_ID,
    SEED,
    SOME_FAILED,
    comma_separated,
    flag,
    option,
    output_folder,
    refuse_file,
    require,
)
from fedbary.cli.ui.session import on_interrupt
from fedbary.cli.ui.settings import READING
from fedbary.cli.ui.terminal import spinner
from fedbary.data.options import ReadOptions
from fedbary.views.page import Page
from fedbary_lab.cli.completion import methods as known_methods
from fedbary_lab.cli.models import MODEL, named_model
from fedbary_lab.cli.training_options import LABEL, TRAINING, finished_parts
from fedbary_lab.training.fedavg_settings import FedAvg

_BUDGET = "Budget of each method"


@command(
    "fedbary compare 'sites/*.parquet' --label y --reference test.parquet --methods gtg,mr,cgsv,sketch",
    training=TRAINING,
    reading=READING,
)
def compare(
    files: list[str] | None = FILES,
    *,
    label: str = LABEL,
    row_id: str | None = ROW_ID,
    reference: Path | None = option("The server's test rows.", "FILE"),
    methods: str | None = option(
        "Methods to compare; --list names them, and tmr@decay=0.9 sets an option of one. Default: sketch, worth, gtg, "
        "cgsv; mr and or for up to 14 clients, exactfed for up to ten. With --rows: sketch, logistic, knn-shapley, "
        "lava-exact.",
        LIST,
        complete=known_methods,
    ),
    rows: bool = flag("--rows", "Value rows instead of clients."),
    listed: bool = flag("--list", "Say what each method does, and stop."),
    truth: str | None = option(
        "The method to measure the others by. Default: exactfed, if compared.", "METHOD", complete=known_methods
    ),
    config: Path | None = CONFIG,  # noqa: ARG001 - its callback acts
    output: Path = output_folder("fedbary-compare"),
    plot: bool = flag("--plot", "Also write plot.html, about 2 MB, which works offline."),
    model: str = MODEL,
    training: FedAvg,
    reading: ReadOptions,
    training_log: Path | None = option(
        "A training-log.npz to use instead of training; it must be of these files and this model.",
        "FILE",
        panel=TRAINING.panel,
    ),
    max_evaluations: int | None = option("Coalitions to train or models to evaluate.", min=1, panel=_BUDGET),
    max_seconds: float | None = option("Seconds; the best estimate so far counts.", panel=_BUDGET),
    seed: int = SEED,
) -> Page:
    """Say what several methods think the same clients are worth, how well they agree, and what they cost.

    All rows must be on this machine: this is for research, and for seeing what our protocols say beside the methods
    that train. FILES are as for `fedbary value`. The reference is the test set of every method that evaluates models.
    Methods that train need PyTorch, the extra `torch`. With --rows, methods that value rows are compared instead.
    """
    from fedbary_lab.cli.tables import client_methods, clients_page, methods_page, row_methods, rows_page

    if listed:
        return methods_page(row_methods() if rows else client_methods())
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
    unknown = not rows and any(math.isnan(value) for scores in result.scores.values() for value in scores.values)
    code = SOME_FAILED if result.failed or unknown else 0
    return rows_page(result, output, code=code) if rows else clients_page(result, output, code=code)


def _check_output(output: Path, *, rows: bool) -> None:
    """Refuse a folder that could not be written in the end, before any work is done."""
    from fedbary_lab.comparison import client_comparison as by_client
    from fedbary_lab.comparison import row_comparison as by_row

    refuse_file(output)
    (by_row if rows else by_client).check_folder(output)
