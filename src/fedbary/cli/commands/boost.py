"""`fedbary boost`: train with and without the flagged rows, and see whether it helped."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.completion import several_of
from fedbary.cli.ui.interrupts import kept
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import SOME_FAILED, Config, Fdr, Files, Json, Label, RowId, given_files, require
from fedbary.cli.ui.progress import spinner
from fedbary.cli.ui.training_options import (
    BatchSize,
    ClientsPerRound,
    LearningRate,
    LocalEpochs,
    ModelName,
    Rounds,
    chosen_model,
)
from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    from fedbary.research.boosting import Boost

_FLAGS = "Flags"


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
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("fedbary-boost"),
    json: Json = False,
    fdr: Fdr = 0.1,
    calibration: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="split, or crossfit: more power from a small reference, no proof.",
            rich_help_panel=_FLAGS,
        ),
    ] = "split",
    model: ModelName = "logistic",
    rounds: Rounds = 10,
    local_epochs: LocalEpochs = 1,
    batch_size: BatchSize = 64,
    learning_rate: LearningRate = 0.1,
    clients_per_round: ClientsPerRound = None,
    seed: Annotated[int, typer.Option(help="Makes the result repeatable.", min=0)] = 0,
) -> None:
    """Say whether leaving out or relabelling flagged rows makes a better federated model, by trying it.

    Clients are valued against the reference, FedAvg trains once on all rows and once for each way of acting, and the
    models are tested on rows that neither valued nor trained anything. FILES are as for `fedbary value`.

    All rows must be on this machine: this is for research and for trying out. In a federation each owner cleans its
    own table: `fedbary rows DIR --client NAME --export clean`. Training needs PyTorch, the extra `torch`.
    """
    sources = given_files(files)
    require(label, "No label column was given: name it with --label COL.")
    require(reference, "No clean rows to compare with were given: name their file with --reference FILE.")
    require(test, "No test rows were given: name their file with --test FILE.")
    assert reference is not None
    assert test is not None
    if output.is_file():
        raise SettingsError(f"'{output}' is a file: choose a folder to write to.")
    ways = list(dict.fromkeys(["none", *(name.strip() for name in how.split(",") if name.strip())]))
    from fedbary.cli.commands.value import read_reference
    from fedbary.cli.ui.client_files import client_paths
    from fedbary.cli.ui.written_result import with_sources
    from fedbary.research.boosting import boost as run
    from fedbary.research.boosting import check_folder

    check_folder(output)
    paths = client_paths(sources, apart_from=reference)
    paths = {name: path for name, path in paths.items() if path.resolve() != test.resolve()}
    if not paths:
        raise DataError("there is no client besides the reference and the test rows: give at least one more file")
    from fedbary.research.training import FedAvg

    training = FedAvg(
        rounds=rounds,
        local_epochs=local_epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        clients_per_round=clients_per_round,
        seed=seed,
    )
    chosen: dict[str, Any] = {"how": ways, "fdr": fdr, "calibration": calibration, "seed": seed}
    chosen |= {"model": chosen_model(model), "training": training}
    with spinner() as tell, kept(lambda: _kept(output)):
        tell("reading the files")
        from fedbary.data.files import read_clients

        target, unseen = (read_reference(path, label, row_id) for path in (reference, test))
        clients = read_clients(paths, label, id=row_id, errors="collect")
        result = run(clients, target, unseen, **chosen, folder=output, progress=tell)
        result = replace(result, valuation=with_sources(result.valuation, paths, label, row_id))
        result.save(output)
    if json:
        write_json(_for_programs(result))
    else:
        _show(result, output)
    if result.failed or not all(math.isfinite(done.accuracy) for done in result.outcomes.values()):
        raise typer.Exit(SOME_FAILED)


def _kept(output: Path) -> str:
    """What an interrupted command leaves, and how to go on."""
    from fedbary.cli.ui.session import session
    from fedbary.research.unfinished import kept_pieces

    pieces = kept_pieces(output)
    if not pieces:
        return "interrupted: nothing was finished, nothing was kept"
    return f"interrupted: finished and kept in {output}: {', '.join(pieces)}; go on with\n  {session().again()}"


def _show(result: Boost, output: Path) -> None:
    from fedbary.cli.ui.tables import bulleted, screen, table
    from fedbary.cli.ui.terminal_text import plural

    columns = ("how", "rows", "dropped", "relabelled", "accuracy", "gain")
    rows = [
        (
            row["how"],
            row["rows"],
            row["dropped"],
            row["relabelled"],
            _digits(row["accuracy"], ".3f"),
            "" if row["how"] == "none" else _digits(row["gain"], "+.3f"),
        )
        for row in result.to_frame().to_dict("records")
    ]
    console = screen()
    console.print(table(columns, rows, numeric=columns[1:]))
    known = [done.accuracy for done in result.outcomes.values() if math.isfinite(done.accuracy)]
    count = int(result.settings["test_rows"])
    error = math.sqrt(max(accuracy * (1.0 - accuracy) for accuracy in known) / count)
    console.print(f"\nStandard error of an accuracy on {plural(count, 'test row')}: about {error:.3f}.")
    if result.notes:
        console.print("", bulleted(result.notes), sep="\n")
    console.print(f"\nwritten to {output}: boost.csv, boost.json, valuation/", markup=False)


def _digits(value: float, shape: str) -> str:
    return format(value, shape) if math.isfinite(value) else "–"


def _for_programs(result: Boost) -> dict[str, Any]:
    return {
        "outcomes": result.to_frame(),
        "failed": list(result.failed),
        "settings": dict(result.settings),
        "notes": list(result.notes),
    }
