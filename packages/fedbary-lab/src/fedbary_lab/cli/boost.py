"""`fedbary boost`: train with and without the flagged rows, and see whether it helped."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.client_files import client_paths, given_files, read_reference
from fedbary.cli.ui.completion import several_of
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
from fedbary.cli.ui.settings_options import SettingsOf, with_settings
from fedbary.data.options import ReadOptions
from fedbary.valuation.rows import RowRules
from fedbary_lab.cli.models import ModelName, named_model
from fedbary_lab.cli.training_options import TRAINING, finished_parts
from fedbary_lab.training.fedavg_settings import FedAvg


@with_settings(rules=SettingsOf(RowRules, panel="Flags", without=("rule",)), training=TRAINING, reading=READING)
def boost(
    files: Files = None,
    *,
    label: Label = "",
    row_id: RowId = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="Clean validation rows, which say what is wrong.", metavar="FILE", show_default=False),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Other clean rows, which only judge the models.", metavar="FILE", show_default=False),
    ] = None,
    how: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="drop: without flagged rows. relabel: with the suggested label where only the label looks wrong. "
            "none, all rows as they are, is always trained.",
            autocompletion=several_of("drop", "relabel"),
        ),
    ] = "drop,relabel",
    config: Config = None,  # noqa: ARG001 - its callback acts
    output: Output = Path("fedbary-boost"),
    json: Json = False,
    rules: RowRules,
    model: ModelName = "logistic",
    training: FedAvg,
    reading: ReadOptions,
    seed: Seed = 0,
) -> None:
    """Say whether leaving out or relabelling flagged rows makes a better federated model, by trying it.

    Clients are valued against the reference, FedAvg trains once on all rows and once for each way of acting, and the
    models are tested on rows that neither valued nor trained anything. FILES are as for `fedbary value`.

    All rows must be on this machine: this is for research and for trying out. In a federation each owner cleans its
    own table: `fedbary rows DIR --client NAME --export clean`. Training needs PyTorch, the extra `torch`.
    """
    patterns = given_files(files)
    require(label, "cli.no-label")
    require(reference, "cli.no-reference")
    require(test, "cli.no-test-rows")
    assert reference is not None
    assert test is not None
    refuse_file(output)
    from fedbary.cli.ui.written_result import with_sources
    from fedbary_lab.boosting import boost as run
    from fedbary_lab.boosting import check_folder
    from fedbary_lab.cli.tables import show_boost

    check_folder(output)
    paths = client_paths(patterns, apart_from=[reference, test])
    trained = named_model(model)
    with spinner() as say, on_interrupt(lambda: finished_parts(output)):
        say("reading the files")
        from fedbary.data.files import read_clients

        target = read_reference(reference, label, row_id, reading)
        result = run(
            read_clients(paths, label, id=row_id, options=reading, reading=target.reading, errors="collect"),
            target,
            read_reference(test, label, row_id, reading, target.reading),
            how=list(dict.fromkeys(["none", *comma_separated(how)])),
            fdr=rules.fdr,
            model=trained,
            training=replace(training, seed=seed),
            seed=seed,
            folder=output,
            progress=say,
        )
        result = replace(result, valuation=with_sources(result.valuation, paths, label, row_id, reading))
        result.save(output)
    show_boost(result, output, json=json)
    if result.failed or not all(math.isfinite(done.accuracy) for done in result.outcomes.values()):
        raise typer.Exit(SOME_FAILED)
