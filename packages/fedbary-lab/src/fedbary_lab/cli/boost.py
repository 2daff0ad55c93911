"""`fedbary boost`: train with and without the flagged rows, and see whether it helped."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from fedbary.cli.ui.command import CONFIG, command
from fedbary.cli.ui.inputs import client_paths, given_files, read_reference
from fedbary.cli.ui.options import (
    FILES,
    LIST,
    ROW_ID,
    SEED,
    SOME_FAILED,
    comma_separated,
    option,
    output_folder,
    refuse_file,
    require,
    several_of,
)
from fedbary.cli.ui.session import on_interrupt
from fedbary.cli.ui.settings import READING, SettingsOf
from fedbary.cli.ui.terminal import spinner
from fedbary.data.options import ReadOptions
from fedbary.space.options import RowRules
from fedbary.views.page import Page
from fedbary_lab.cli.models import MODEL, named_model
from fedbary_lab.cli.training_options import LABEL, TRAINING, finished_parts
from fedbary_lab.training.fedavg_settings import FedAvg


@command(
    "fedbary boost 'sites/*.parquet' --label y --reference validation.parquet --test test.parquet",
    rules=SettingsOf(RowRules, panel="Flags", without=("rule",)),
    training=TRAINING,
    reading=READING,
)
def boost(
    files: list[str] | None = FILES,
    *,
    label: str = LABEL,
    row_id: str | None = ROW_ID,
    reference: Path | None = option("Clean validation rows, which say what is wrong.", "FILE"),
    test: Path | None = option("Other clean rows, which only judge the models.", "FILE"),
    how: str = option(
        "drop: without flagged rows. relabel: with the suggested label where only the label looks wrong. none, all "
        "rows as they are, is always trained.",
        LIST,
        default="drop,relabel",
        complete=several_of("drop", "relabel"),
    ),
    config: Path | None = CONFIG,  # noqa: ARG001 - its callback acts
    output: Path = output_folder("fedbary-boost"),
    rules: RowRules,
    model: str = MODEL,
    training: FedAvg,
    reading: ReadOptions,
    seed: int = SEED,
) -> Page:
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
    from fedbary.cli.ui.results import with_sources
    from fedbary_lab.boosting import boost as run
    from fedbary_lab.boosting import check_folder
    from fedbary_lab.cli.tables import boost_page

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
    unknown = not all(math.isfinite(done.accuracy) for done in result.outcomes.values())
    return boost_page(result, output, code=SOME_FAILED if result.failed or unknown else 0)
