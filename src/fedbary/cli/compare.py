"""`fedbary compare`: the same clients by several methods, those that train and those that do not."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.options import SOME_FAILED, Config, Files, Json, Label, RowId, given_files, require
from fedbary.cli.progress import spinner
from fedbary.cli.training import (
    BatchSize,
    ClientsPerRound,
    LearningRate,
    LocalEpochs,
    ModelName,
    Rounds,
    chosen_model,
)
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from fedbary.comparison import Comparison, RowComparison

_TRAINING, _BUDGET = "Training", "Budget of each method"


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
            help="Methods to compare; --list names them. Default: sketch, coalition, gtg, cgsv; mr and or for up to 14 "
            "clients, exactfed for up to ten. With --rows: sketch, logistic, knn-shapley, lava-exact.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="Value rows instead of clients.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Say what each method does, and stop.")] = False,
    truth: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="The method to measure the others by. Default: exactfed, if compared."),
    ] = None,
    config: Config = None,  # noqa: ARG001 - its callback acts
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("fedbary-compare"),
    plot: Annotated[
        bool, typer.Option("--plot", help="Also write plot.html, about 5 MB, which works offline.")
    ] = False,
    json: Json = False,
    model: ModelName = "logistic",
    rounds: Rounds = 10,
    local_epochs: LocalEpochs = 1,
    batch_size: BatchSize = 64,
    learning_rate: LearningRate = 0.1,
    clients_per_round: ClientsPerRound = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="A training-log.npz to use instead of training; it must be of these files and this model.",
            metavar="FILE",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    max_evaluations: Annotated[
        int | None, typer.Option(help="Coalitions to train or models to evaluate.", min=1, rich_help_panel=_BUDGET)
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Seconds; the best estimate so far counts.", rich_help_panel=_BUDGET)
    ] = None,
    seed: Annotated[int, typer.Option(help="Makes the comparison repeatable.", min=0)] = 0,
) -> None:
    """Say what several methods think the same clients are worth, how well they agree, and what they cost.

    All rows must be on this machine: this is for research, and for seeing what our protocols say beside the methods
    that train. FILES are as for `fedbary value`. The reference is the test set of every method that evaluates models.
    Methods that train need PyTorch, the extra `torch`. With --rows, methods that value rows are compared instead.

    fedbary compare 'sites/*.parquet' --label ill --reference test.parquet --methods exactfed,gtg,coalition
    """
    if listed:
        _list(rows)
        return
    sources = given_files(files)
    require(label, "No label column was given: name it with --label COL.")
    require(reference, "No test rows were given: name their file with --reference FILE.")
    assert reference is not None
    from fedbary.cli.sources import client_paths
    from fedbary.cli.value import read_reference

    if output.is_file():
        raise SettingsError(f"'{output}' is a file: choose a folder to write to.")
    named = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    with spinner() as tell:
        tell("reading the files")
        from fedbary.comparison import compare as run
        from fedbary.data.files import read_clients

        target = read_reference(reference, label, row_id)
        from fedbary.training import FedAvg, TrainingLog

        clients = read_clients(client_paths(sources, apart_from=reference), label, id=row_id, errors="collect")
        if rows:
            by_row = run(clients, target, methods=named, truth=truth, level="rows", seed=seed, progress=tell)
            by_row.save(output)
            if plot:
                _plot(by_row, output)
    if rows:
        from fedbary.cli.compared_rows import finish

        finish(by_row, output, json=json)
        return
    with spinner() as tell:
        result = run(
            clients,
            target,
            methods=named,
            truth=truth,
            model=chosen_model(model),
            training=FedAvg(
                rounds=rounds,
                local_epochs=local_epochs,
                batch_size=batch_size,
                learning_rate=learning_rate,
                clients_per_round=clients_per_round,
                seed=seed,
            ),
            log=None if log is None else TrainingLog.load(log),
            max_evaluations=max_evaluations,
            max_seconds=max_seconds,
            seed=seed,
            progress=tell,
        )
        result.save(output)
        if plot:
            _plot(result, output)
    if json:
        sys.stdout.write(_as_json(result) + "\n")
    else:
        _show(result, output)
    if result.failed or any(math.isnan(value) for scores in result.scores.values() for value in scores.values):
        raise typer.Exit(SOME_FAILED)


def _plot(result: Comparison | RowComparison, output: Path) -> None:
    (output / "plot.html").write_text(result.plot().to_html(include_plotlyjs=True), encoding="utf-8")


def _list(rows: bool) -> None:
    from fedbary.cli.screen import screen, table

    if rows:
        from fedbary.cli.compared_rows import known_methods

        screen().print(table(("method", "what it does", "needs"), known_methods()))
        return
    from fedbary.baselines.clients import METHODS
    from fedbary.comparison import PROTOCOL_METHODS

    theirs = [(method.name, method.does, "yes" if method.retrains else "no") for method in METHODS.values()]
    ours = [(name, method.does, "no") for name, method in PROTOCOL_METHODS.items()]
    screen().print(table(("method", "what it does", "retrains"), theirs + ours))


def _show(result: Comparison, output: Path) -> None:
    from fedbary.cli.screen import bulleted, screen

    console = screen()
    for shares in _shares(result):
        console.print(shares, "", sep="\n")
    console.print(_costs(result))
    lines = [f"{name}: {why}" for name, why in result.failed.items()]
    lines += [f"{name}: {note}" for name, scores in result.scores.items() for note in scores.notes[:1]]
    lines += list(result.notes)
    if lines:
        console.print("", bulleted(lines), sep="\n")
    files = "scores.csv, summary.csv, comparison.json, scores/"
    plot = ", plot.html" if (output / "plot.html").is_file() else ""
    console.print(f"\nwritten to {output}: {files}{plot}", markup=False)


def _shares(result: Comparison) -> list[Grid]:
    """Clients down, methods across: shares in percent, in as many tables as the width needs."""
    from fedbary.cli.screen import table
    from fedbary.cli.text import visible

    clients = next(iter(result.scores.values())).clients if result.scores else ()
    names = [_short(visible(client)) for client in clients]
    cells = {name: [_percent(share) for share in scores.shares] for name, scores in result.scores.items()}
    tables = []
    for part in _fitting(list(cells), max(map(len, ["share in %", *names]))):
        rows = [(name, *(cells[method][i] for method in part)) for i, name in enumerate(names)]
        tables.append(table(("share in %", *part), rows, numeric=part))
    return tables


def _fitting(methods: list[str], first: int) -> list[list[str]]:
    """Methods in groups whose columns fit beside the clients' names."""
    from fedbary.cli.screen import screen

    groups: list[list[str]] = []
    width, left = screen().width, 0
    for name in methods:
        needed = max(len(name), 5) + 3
        if not groups or needed > left:
            groups.append([])
            left = width - first - 1
        groups[-1].append(name)
        left -= needed
    return groups


def _short(name: str, most: int = 30) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _costs(result: Comparison) -> Grid:
    from fedbary.cli.screen import table

    frame = result.summary()
    rows = [
        (
            row["method"],
            _digits(row["spearman"]),
            _digits(row["kendall"]),
            _digits(row["share_error"], 3),
            row["evaluations"],
            _digits(row["seconds"]),
            "" if row["converged"] else "early",
        )
        for row in frame.to_dict("records")
    ]
    columns = ("method", "spearman", "kendall", "share error", "evaluations", "seconds", "stopped")
    return table(columns, rows, numeric=columns[1:6])


def _percent(share: float) -> str:
    return f"{100 * share:.1f}" if math.isfinite(share) else "–"


def _digits(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def _as_json(result: Comparison) -> str:
    import json

    def plain(frame: Any) -> Any:
        return frame.astype(object).where(frame.notna(), None).to_dict("records")

    content = {
        "scores": plain(result.to_frame()),
        "summary": plain(result.summary()),
        "failed": dict(result.failed),
        "settings": dict(result.settings),
        "notes": list(result.notes),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
