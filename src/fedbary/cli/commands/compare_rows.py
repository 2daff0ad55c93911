"""What `fedbary compare --rows` prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import SOME_FAILED

if TYPE_CHECKING:
    from fedbary.research.comparison import RowComparison


def known_methods() -> list[tuple[str, str, str]]:
    """Name, what it does, and which extra it needs, of every method that values rows."""
    from fedbary.protocols.registry import PROTOCOLS
    from fedbary.research.baselines.row_methods import ROW_METHODS

    theirs = [(method.name, method.does, method.needs) for method in ROW_METHODS.values()]
    return [*theirs, *((name, "row values of this package's protocol", "") for name in PROTOCOLS)]


def finish(result: RowComparison, output: Path, *, json: bool) -> None:
    """Print the comparison, and leave with 3 where a method or a client failed."""
    if json:
        write_json(_for_programs(result))
    else:
        _show(result, output)
    if result.failed:
        raise typer.Exit(SOME_FAILED)


def _show(result: RowComparison, output: Path) -> None:
    from fedbary.cli.ui.tables import bulleted, screen, table

    console = screen()
    summary = result.summary()
    shown = [name for name in ("spearman", "kendall", "seconds") if summary[name].notna().any()]
    rows = [
        (row["method"], row["clients"], *(f"{row[name]:.2f}" for name in shown)) for row in summary.to_dict("records")
    ]
    console.print(table(("method", "clients", *shown), rows, numeric=("clients", *shown)))
    lines = _failures(result)
    if lines:
        console.print("", bulleted(lines), sep="\n")
    plot = ", plot.html" if (output / "plot.html").is_file() else ""
    console.print(f"\nwritten to {output}: rows.csv, summary.csv{plot}", markup=False)


def _failures(result: RowComparison) -> list[str]:
    """Why a client has no values, once for all methods that say the same."""
    methods: dict[tuple[str, str], list[str]] = {}
    for name, all_why in result.failed.items():
        for client, why in all_why.items():
            methods.setdefault((client, why), []).append(name)
    return [f"{client} ({', '.join(names)}): {why}" for (client, why), names in methods.items()]


def _for_programs(result: RowComparison) -> dict[str, Any]:
    return {
        "rows": result.to_frame(),
        "summary": result.summary(),
        "failed": {name: dict(why) for name, why in result.failed.items()},
        "settings": dict(result.settings),
    }
