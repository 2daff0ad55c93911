"""`fedbary compare`: the same clients by several methods, those that train and those that do not."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.completion import methods as known_methods
from fedbary.cli.ui.interrupts import kept
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import SOME_FAILED, Config, Files, Json, Label, RowId, given_files, require
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
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from fedbary.research.comparison import Comparison, RowComparison

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
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("fedbary-compare"),
    plot: Annotated[
        bool, typer.Option("--plot", help="Also write plot.html, about 2 MB, which works offline.")
    ] = False,
    json: Json = False,
    model: ModelName = "logistic",
    rounds: Rounds = 10,
    local_epochs: LocalEpochs = 1,
    batch_size: BatchSize = 64,
    learning_rate: LearningRate = 0.1,
    clients_per_round: ClientsPerRound = None,
    training_log: Annotated[
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
    """
    if listed:
        _list(rows, json=json)
        return
    sources = given_files(files)
    require(label, "No label column was given: name it with --label COL.")
    require(reference, "No test rows were given: name their file with --reference FILE.")
    assert reference is not None
    from fedbary.cli.commands.value import read_reference
    from fedbary.cli.ui.client_files import client_paths

    named = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    check_output(output, rows=rows)
    paths = client_paths(sources, apart_from=reference)
    chosen: dict[str, Any] = {"methods": named, "truth": truth, "seed": seed}
    if rows:
        chosen["level"] = "rows"
    else:
        from fedbary.research.training import FedAvg, TrainingLog

        chosen |= {"model": chosen_model(model), "max_evaluations": max_evaluations, "max_seconds": max_seconds}
        chosen["training"] = FedAvg(
            rounds=rounds,
            local_epochs=local_epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            clients_per_round=clients_per_round,
            seed=seed,
        )
        chosen["log"] = None if training_log is None else TrainingLog.load(training_log)
    with spinner() as tell, kept(lambda: _kept(output)):
        tell("reading the files")
        from fedbary.data.files import read_clients
        from fedbary.research.comparison import compare as run

        target = read_reference(reference, label, row_id)
        clients = read_clients(paths, label, id=row_id, errors="collect")
        result: Any = run(clients, target, **chosen, folder=output, progress=tell)
        result.save(output)
        if plot:
            _plot(result, output)
    if rows:
        from fedbary.cli.commands.compare_rows import finish

        finish(result, output, json=json)
        return
    if json:
        write_json(_for_programs(result))
    else:
        _show(result, output)
    if result.failed or any(math.isnan(value) for scores in result.scores.values() for value in scores.values):
        raise typer.Exit(SOME_FAILED)


def check_output(output: Path, *, rows: bool) -> None:
    """Refuse a folder that could not be written in the end, before any work is done."""
    from fedbary.research.comparison import client_comparison as by_client
    from fedbary.research.comparison import row_comparison as by_row

    if output.is_file():
        raise SettingsError(f"'{output}' is a file: choose a folder to write to.")
    (by_row if rows else by_client).check_folder(output)


def _kept(output: Path) -> str:
    """What an interrupted comparison leaves, and how to go on."""
    from fedbary.cli.ui.session import session
    from fedbary.research.unfinished import kept_pieces

    pieces = kept_pieces(output)
    if not pieces:
        return "interrupted: no method was finished, nothing was kept"
    return f"interrupted: finished and kept in {output}: {', '.join(pieces)}; go on with\n  {session().again()}"


def _plot(result: Comparison | RowComparison, output: Path) -> None:
    result.display().save(output / "plot.html")


def _list(rows: bool, *, json: bool) -> None:
    from fedbary.cli.ui.tables import screen, table

    if rows:
        from fedbary.cli.commands.compare_rows import known_methods as row_methods

        columns, methods = ("method", "what it does", "needs"), row_methods()
    else:
        from fedbary.research.baselines.clients import METHODS
        from fedbary.research.comparison import PROTOCOL_METHODS

        columns = ("method", "what it does", "retrains")
        methods = [(method.name, method.does, "yes" if method.retrains else "no") for method in METHODS.values()]
        methods += [(name, method.does, "no") for name, method in PROTOCOL_METHODS.items()]
    if json:
        write_json({"methods": [{"name": name, "does": does, columns[2]: last} for name, does, last in methods]})
    else:
        screen().print(table(columns, methods))


def _show(result: Comparison, output: Path) -> None:
    from fedbary.cli.ui.tables import bulleted, screen

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
    from fedbary.cli.ui.tables import table
    from fedbary.cli.ui.terminal_text import visible

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
    from fedbary.cli.ui.tables import screen

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
    from fedbary.cli.ui.tables import table

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


def _for_programs(result: Comparison) -> dict[str, Any]:
    return {
        "scores": result.to_frame(),
        "summary": result.summary(),
        "failed": dict(result.failed),
        "settings": dict(result.settings),
        "notes": list(result.notes),
    }
