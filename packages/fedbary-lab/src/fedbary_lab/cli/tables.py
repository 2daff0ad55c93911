"""What `fedbary compare` and `fedbary boost` print: methods, shares, costs and accuracies."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.tables import bulleted, rounded, screen, table
from fedbary.cli.ui.terminal_text import visible
from fedbary.errors import SettingsError
from fedbary.filling import COMMAND
from fedbary.wording import counted

if TYPE_CHECKING:
    from rich.table import Table

    from fedbary.data.registry import Registry
    from fedbary_lab.boosting import Boost
    from fedbary_lab.comparison import Comparison, RowComparison

_LONGEST_NAME = 30


def client_methods() -> list[dict[str, str]]:
    """Every method that values clients: its name, what it does, and whether it trains again for every coalition."""
    from fedbary_lab.baselines.clients import METHODS
    from fedbary_lab.comparison import PROTOCOL_METHODS

    theirs = [
        (name, *_about(METHODS, name, lambda method: "yes" if method.retrains else "no")) for name in METHODS.offered()
    ]
    ours = [(name, method.does, "no") for name, method in PROTOCOL_METHODS.items()]
    return [{"name": name, "does": does, "retrains": retrains} for name, does, retrains in [*theirs, *ours]]


def row_methods() -> list[dict[str, str]]:
    """Every method that values rows: its name, what it does, and which extra it needs."""
    from fedbary_lab.baselines.row_methods import ROW_METHODS
    from fedbary_lab.comparison.protocols import ROW_PROTOCOLS

    theirs = [(name, *_about(ROW_METHODS, name, lambda method: method.needs)) for name in ROW_METHODS.offered()]
    ours = [(name, "row values of fedbary's protocol", "") for name in ROW_PROTOCOLS]
    return [{"name": name, "does": does, "needs": needs} for name, does, needs in [*theirs, *ours]]


def _about(methods: Registry[Any], name: str, last: Callable[[Any], str]) -> tuple[str, str]:
    """What a method does and one thing more; of a broken plug-in why it does nothing."""
    try:
        return methods[name].does, last(methods[name])
    except SettingsError as error:
        return str(error), ""


def show_methods(methods: list[dict[str, str]], *, json: bool) -> None:
    """What each method does."""
    if json:
        write_json({"methods": methods})
        return
    last = list(methods[0])[-1]
    screen().print(table(("method", "what it does", last), [tuple(method.values()) for method in methods]))


def show_clients(result: Comparison, output: Path, *, json: bool) -> None:
    """What each method thinks of each client, how well the methods agree, and what they cost."""
    if json:
        content = {"scores": result.to_frame(), "summary": result.summary(), "failed": dict(result.failed)}
        write_json({**content, "settings": dict(result.settings), "notes": list(result.notes)})
        return
    console = screen()
    for shares in _shares(result):
        console.print(shares, "", sep="\n")
    console.print(_costs(result))
    lines = [f"{name}: {why.text(COMMAND)}" for name, why in result.failed.items()]
    lines += [f"{name}: {note.text(COMMAND)}" for name, scores in result.scores.items() for note in scores.notes[:1]]
    lines += [note.text(COMMAND) for note in result.notes]
    _show_end(lines, output, "scores.csv, summary.csv, comparison.json, scores/")


def show_rows(result: RowComparison, output: Path, *, json: bool) -> None:
    """How well methods that value rows agree, and what they cost."""
    summary = result.summary()
    if json:
        failed = {name: dict(why) for name, why in result.failed.items()}
        write_json({"rows": result.to_frame(), "summary": summary, "failed": failed, "settings": dict(result.settings)})
        return
    known = [name for name in ("spearman", "kendall", "seconds") if summary[name].notna().any()]
    rows = [
        (row["method"], row["clients"], *(f"{row[name]:.2f}" for name in known)) for row in summary.to_dict("records")
    ]
    screen().print(table(("method", "clients", *known), rows, numeric=("clients", *known)))
    _show_end(_row_failures(result), output, "rows.csv, summary.csv")


def show_boost(result: Boost, output: Path, *, json: bool) -> None:
    """How accurate each way of acting on flags makes the model."""
    if json:
        content = {"outcomes": result.to_frame(), "failed": list(result.failed)}
        write_json({**content, "settings": dict(result.settings), "notes": list(result.notes)})
        return
    columns = ("how", "rows", "dropped", "relabelled", "accuracy", "gain")
    rows = [
        (
            row["how"],
            row["rows"],
            row["dropped"],
            row["relabelled"],
            rounded(row["accuracy"], ".3f"),
            "" if row["how"] == "none" else rounded(row["gain"], "+.3f"),
        )
        for row in result.to_frame().to_dict("records")
    ]
    console = screen()
    console.print(table(columns, rows, numeric=columns[1:]))
    known = [done.accuracy for done in result.outcomes.values() if math.isfinite(done.accuracy)]
    count = int(result.settings["test_rows"])
    error = math.sqrt(max(accuracy * (1.0 - accuracy) for accuracy in known) / count)
    console.print(f"\nStandard error of an accuracy on {counted(count, 'test row')}: about {error:.3f}.")
    if result.notes:
        console.print("", bulleted(note.text(COMMAND) for note in result.notes), sep="\n")
    console.print(f"\nwritten to {output}: boost.csv, boost.json, valuation/", markup=False)


def _show_end(lines: list[str], output: Path, files: str) -> None:
    console = screen()
    if lines:
        console.print("", bulleted(lines), sep="\n")
    plot = ", plot.html" if (output / "plot.html").is_file() else ""
    console.print(f"\nwritten to {output}: {files}{plot}", markup=False)


def _row_failures(result: RowComparison) -> list[str]:
    """Why a client has no values, once for all methods that say the same."""
    methods: dict[tuple[str, str], list[str]] = {}
    for name, all_why in result.failed.items():
        for client, why in all_why.items():
            methods.setdefault((client, why.text(COMMAND)), []).append(name)
    return [f"{client} ({', '.join(names)}): {why}" for (client, why), names in methods.items()]


def _shares(result: Comparison) -> list[Table]:
    """Clients down, methods across: shares in percent, in as many tables as the width needs."""
    clients = next(iter(result.scores.values())).clients if result.scores else ()
    names = [_cut(visible(client)) for client in clients]
    cells = {name: [rounded(100 * share, ".1f") for share in scores.shares] for name, scores in result.scores.items()}
    tables = []
    for part in _fitting(list(cells), max(map(len, ["share in %", *names]))):
        rows = [(name, *(cells[method][i] for method in part)) for i, name in enumerate(names)]
        tables.append(table(("share in %", *part), rows, numeric=part))
    return tables


def _fitting(methods: list[str], first: int) -> list[list[str]]:
    """Methods in groups whose columns fit beside the clients' names."""
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


def _costs(result: Comparison) -> Table:
    rows = [
        (
            row["method"],
            rounded(row["spearman"]),
            rounded(row["kendall"]),
            rounded(row["share_error"], ".3f"),
            row["evaluations"],
            rounded(row["seconds"]),
            "" if row["converged"] else "early",
        )
        for row in result.summary().to_dict("records")
    ]
    columns = ("method", "spearman", "kendall", "share error", "evaluations", "seconds", "stopped")
    return table(columns, rows, numeric=columns[1:6])


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
