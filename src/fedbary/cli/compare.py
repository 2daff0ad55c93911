"""`fedbary compare`: the same clients by several methods, those that train and those that do not."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.options import SOME_FAILED, Config, Files, Json, RowId, given_files
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from fedbary.comparison import Comparison

_TRAINING, _BUDGET = "Training", "Budget of each method"


def compare(
    files: Files = None,
    *,
    label: Annotated[
        str, typer.Option(help="The column that holds the label.", metavar="COL", show_default=False)
    ] = "",
    row_id: RowId = None,
    reference: Annotated[
        Path | None, typer.Option(help="The server's test rows.", metavar="FILE", show_default=False)
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Methods to compare; --list names them. Default: sketch, gtg, cgsv; mr and or for up to 14 clients, "
            "exactfed for up to ten.",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Say what each method does, and stop.")] = False,
    truth: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="The method to measure the others by. Default: exactfed, if compared."),
    ] = None,
    config: Config = None,  # noqa: ARG001 - its callback acts
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("fedbary-compare"),
    json: Json = False,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="logistic, mlp or cnn.", rich_help_panel=_TRAINING)
    ] = "logistic",
    rounds: Annotated[int, typer.Option(help="Rounds of FedAvg.", min=1, rich_help_panel=_TRAINING)] = 10,
    local_epochs: Annotated[int, typer.Option(help="Local epochs.", min=1, rich_help_panel=_TRAINING)] = 1,
    batch_size: Annotated[int, typer.Option(help="Rows in a step.", min=1, rich_help_panel=_TRAINING)] = 64,
    learning_rate: Annotated[float, typer.Option(help="Size of a step.", rich_help_panel=_TRAINING)] = 0.1,
    clients_per_round: Annotated[
        int | None, typer.Option(help="Clients drawn in a round. Default: all.", min=1, rich_help_panel=_TRAINING)
    ] = None,
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
    Methods that train need PyTorch, the extra `torch`.
    """
    if listed:
        _list()
        return
    sources = given_files(files)
    _require(label, "No label column was given: name it with --label COL.")
    _require(reference, "No test rows were given: name their file with --reference FILE.")
    assert reference is not None
    from fedbary.cli.sources import client_paths
    from fedbary.cli.value import read_reference

    if output.is_file():
        raise SettingsError(f"'{output}' is a file: choose a folder to write to.")
    named = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    if truth is not None and named is not None and truth not in named:
        raise SettingsError(f"--truth {truth} is not among the methods: add it to --methods.")
    with _progress() as tell:
        tell("reading the files")
        from fedbary.comparison import compare as run
        from fedbary.data.files import read_clients

        target = read_reference(reference, label, row_id)
        from fedbary.training import FedAvg, TrainingLog

        clients = read_clients(client_paths(sources, apart_from=reference), label, id=row_id, errors="collect")
        result = run(
            clients,
            target,
            methods=named,
            model=_model(model),
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
    if json:
        sys.stdout.write(_as_json(result, truth) + "\n")
    else:
        _show(result, truth, output)
    if result.failed or any(math.isnan(value) for scores in result.scores.values() for value in scores.values):
        raise typer.Exit(SOME_FAILED)


def _require(what: object, sentence: str) -> None:
    if not what:
        raise SettingsError(sentence)


def _model(name: str) -> Any:
    from fedbary.training import CNN, MLP, Logistic

    models: dict[str, Callable[[], Any]] = {"logistic": Logistic, "mlp": MLP, "cnn": CNN}
    if name not in models:
        raise SettingsError(f"There is no model {name!r}; there is {', '.join(models)}.")
    return models[name]()


def _list() -> None:
    from fedbary.api import PROTOCOLS
    from fedbary.baselines.clients import METHODS
    from fedbary.cli.screen import screen, table

    rows = [(method.name, method.does, "yes" if method.retrains else "no") for method in METHODS.values()]
    ours = [(name, "1 / distance of this package's protocol; no training at all", "no") for name in PROTOCOLS]
    screen().print(table(("method", "what it does", "retrains"), rows + ours))


def _show(result: Comparison, truth: str | None, output: Path) -> None:
    from fedbary.cli.screen import bulleted, screen

    console = screen()
    for shares in _shares(result):
        console.print(shares, "", sep="\n")
    console.print(_costs(result, truth))
    lines = [f"{name}: {why}" for name, why in result.failed.items()]
    lines += [f"{name}: {note}" for name, scores in result.scores.items() for note in scores.notes[:1]]
    lines += list(result.notes)
    if lines:
        console.print("", bulleted(lines), sep="\n")
    console.print(f"\nwritten to {output}: scores.csv, summary.csv, comparison.json, scores/", markup=False)


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


def _costs(result: Comparison, truth: str | None) -> Grid:
    from fedbary.cli.screen import table

    frame = result.summary(truth)
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


def _as_json(result: Comparison, truth: str | None) -> str:
    import json

    def plain(frame: Any) -> Any:
        return frame.astype(object).where(frame.notna(), None).to_dict("records")

    content = {
        "scores": plain(result.to_frame()),
        "summary": plain(result.summary(truth)),
        "failed": dict(result.failed),
        "settings": dict(result.settings),
        "notes": list(result.notes),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A spinner with what is being done, while somebody is looking."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("starting", total=None)
        yield lambda what: display.update(task, description=what)
