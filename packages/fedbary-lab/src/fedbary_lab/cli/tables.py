"""What `fedbary compare` and `fedbary boost` print: methods, shares, costs and accuracies."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.session import visible
from fedbary.cli.ui.terminal import screen
from fedbary.errors import SettingsError
from fedbary.filling import COMMAND
from fedbary.views.page import Grid, Items, Page, Part
from fedbary.wording import counted

if TYPE_CHECKING:
    from fedbary.satellites import Registry
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


def methods_page(methods: list[dict[str, str]]) -> Page:
    """What each method does."""
    columns = ("method", "what it does", list(methods[0])[-1])
    return Page([Grid(columns, [tuple(method.values()) for method in methods])], {"methods": methods})


def clients_page(result: Comparison, output: Path, *, code: int) -> Page:
    """What each method thinks of each client, how well the methods agree, and what they cost."""
    data = {"scores": result.to_frame(), "summary": result.summary(), "failed": dict(result.failed)}
    data |= {"settings": dict(result.settings), "notes": list(result.notes)}
    parts: list[Part] = [part for shares in _shares(result) for part in (shares, "")]
    lines = [f"{name}: {why.text(COMMAND)}" for name, why in result.failed.items()]
    lines += [f"{name}: {note.text(COMMAND)}" for name, scores in result.scores.items() for note in scores.notes[:1]]
    lines += [note.text(COMMAND) for note in result.notes]
    end = _end(lines, output, "scores.csv, summary.csv, comparison.json, scores/")
    return Page([*parts, _costs(result), *end], data, code)


def rows_page(result: RowComparison, output: Path, *, code: int) -> Page:
    """How well methods that value rows agree, and what they cost."""
    summary = result.summary()
    failed = {name: dict(why) for name, why in result.failed.items()}
    data = {"rows": result.to_frame(), "summary": summary, "failed": failed, "settings": dict(result.settings)}
    known = [name for name in ("spearman", "kendall", "seconds") if summary[name].notna().any()]
    rows = [
        (row["method"], row["clients"], *(f"{row[name]:.2f}" for name in known)) for row in summary.to_dict("records")
    ]
    grid = Grid(("method", "clients", *known), rows, ("clients", *known))
    return Page([grid, *_end(_row_failures(result), output, "rows.csv, summary.csv")], data, code)


def boost_page(result: Boost, output: Path, *, code: int) -> Page:
    """How accurate each way of acting on flags makes the model."""
    data = {"outcomes": result.to_frame(), "failed": list(result.failed)}
    data |= {"settings": dict(result.settings), "notes": list(result.notes)}
    columns = ("how", "rows", "dropped", "relabelled", "accuracy", "gain")
    rows = [
        (
            row["how"],
            row["rows"],
            row["dropped"],
            row["relabelled"],
            _rounded(row["accuracy"], ".3f"),
            "" if row["how"] == "none" else _rounded(row["gain"], "+.3f"),
        )
        for row in result.to_frame().to_dict("records")
    ]
    known = [done.accuracy for done in result.outcomes.values() if math.isfinite(done.accuracy)]
    count = int(result.settings["test_rows"])
    error = math.sqrt(max(accuracy * (1.0 - accuracy) for accuracy in known) / count)
    said = f"Standard error of an accuracy on {counted(count, 'test row')}: about {error:.3f}."
    lines = [note.text(COMMAND) for note in result.notes]
    end = _end(lines, output, "boost.csv, boost.json, valuation/")
    return Page([Grid(columns, rows, columns[1:]), "", said, *end], data, code)


def _end(lines: list[str], output: Path, files: str) -> list[Part]:
    plot = ", plot.html" if (output / "plot.html").is_file() else ""
    notes: list[Part] = ["", Items(lines)] if lines else []
    return [*notes, "", f"written to {output}: {files}{plot}"]


def _rounded(value: float, shape: str = ".2f") -> str:
    """A number of so many decimals, or a dash where it is not known."""
    return format(value, shape) if math.isfinite(value) else "–"


def _row_failures(result: RowComparison) -> list[str]:
    """Why a client has no values, once for all methods that say the same."""
    methods: dict[tuple[str, str], list[str]] = {}
    for name, all_why in result.failed.items():
        for client, why in all_why.items():
            methods.setdefault((client, why.text(COMMAND)), []).append(name)
    return [f"{client} ({', '.join(names)}): {why}" for (client, why), names in methods.items()]


def _shares(result: Comparison) -> list[Grid]:
    """Clients down, methods across: shares in percent, in as many tables as the width needs."""
    clients = next(iter(result.scores.values())).clients if result.scores else ()
    names = [_cut(visible(client)) for client in clients]
    cells = {name: [_rounded(100 * share, ".1f") for share in scores.shares] for name, scores in result.scores.items()}
    tables = []
    for part in _fitting(list(cells), max(map(len, ["share in %", *names]))):
        rows = [(name, *(cells[method][i] for method in part)) for i, name in enumerate(names)]
        tables.append(Grid(("share in %", *part), rows, part))
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


def _costs(result: Comparison) -> Grid:
    rows = [
        (
            row["method"],
            _rounded(row["spearman"]),
            _rounded(row["kendall"]),
            _rounded(row["share_error"], ".3f"),
            row["evaluations"],
            _rounded(row["seconds"]),
            "" if row["converged"] else "early",
        )
        for row in result.summary().to_dict("records")
    ]
    columns = ("method", "spearman", "kendall", "share error", "evaluations", "seconds", "stopped")
    return Grid(columns, rows, columns[1:6])


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
